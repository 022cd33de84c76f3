"""Hold the one table of methods: what answers a prompt in a study, by which strategy, and under which name.

`rws_decode.strategies.table` says what each strategy does. A method is a strategy with its numbers. These are numbers
of the study, or of the prompt's own RWS run. A new method is a line here, and a case in `numbers_of` if it needs
numbers.
"""

from __future__ import annotations

from typing import NamedTuple


class Method(NamedTuple):
    """A line of the table of methods.

    - `strategy` is its name in `rws_decode.strategies.table`.
    - `title` is its name in tables, and `phrase` its name in a sentence after "RWS minus".
    - `scaled` says whether there is one for every guide and reward scale.
    - `from_rws` says whether its numbers follow from the prompt's RWS run at that scale.
    """

    strategy: str
    title: str
    phrase: str
    scaled: bool = False
    from_rws: bool = False


# The methods in the order of the tables.
METHODS: dict[str, Method] = {
    "default": Method("default", "confidence (default)", "the default"),
    "rws": Method("rws", "RWS", "RWS", scaled=True),
    "constant": Method(
        "temperature", "constant of equal mean", "a constant factor of equal mean", scaled=True, from_rws=True
    ),
    "shuffled": Method(
        "reward-replay", "rewards shuffled", "its own rewards in shuffled order", scaled=True, from_rws=True
    ),
    "flipped": Method("rws-flipped", "reward's sign turned", "the same with the reward's sign turned", scaled=True),
    "random": Method("rws-random", "random rewards", "the same with random rewards", scaled=True),
    "margin": Method("margin", "margin order", "margin order"),
    "best-of-n": Method("default", "best of N samples", "the best of N samples"),
    "temperature": Method("temperature", "temperature", "temperature at the same scale"),
}
# The methods of a comparison: the scaled ones first, without temperature.
COMPARED: tuple[str, ...] = tuple(
    sorted((name for name in METHODS if name != "temperature"), key=lambda name: not METHODS[name].scaled)
)
FROM_RWS: tuple[str, ...] = tuple(name for name, method in METHODS.items() if method.from_rws)
