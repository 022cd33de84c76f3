"""Hold the one table of methods: what answers a prompt in a study, by which strategy, and under which name.

`rws_decode.strategies.table` says what each strategy does. A method is a strategy with its numbers. These are numbers
of the study, or of the prompt's own RWS run. A new method is a line here, and a case in `numbers_of` if it needs
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rws_decode.common.later import np
from rws_decode.strategies.table import STRATEGIES

if TYPE_CHECKING:
    from paper_figures.runner.units import Unit


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


def numbers_of(
    method: str, scale: float, base: Unit, name: str, run: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the numbers of a method's strategy for one prompt, besides the reward scale.

    `base` gives the seed, and `name` is the prompt's name. `run` is the prompt's row of rws at that scale, which the
    methods of FROM_RWS need.
    """
    if method == "temperature":
        return {"scale": scale}
    if method == "random":
        return {"seed": seed_of(base, name, "noise")}
    if run is not None and method == "constant":
        return {"scale": run["mean_factor"]}
    if run is not None and method == "shuffled":
        rng = np.random.default_rng(seed_of(base, name, f"shuffle {scale!r}"))
        return {"rewards": rng.permutation(list(run["rewards"])).tolist()}
    return {}


def strategy_of(
    method: str, guide: str | None, scale: float | None, numbers: Mapping[str, Any]
) -> tuple[dict[str, Any], str | None]:
    """Return the strategy and the reward model that a unit names.

    If `numbers` has `every`, the strategy is an rws that asks the reward only at every N-th step.

    >>> strategy_of("flipped", "mini", 8.0, {})
    ({'name': 'rws-flipped', 'reward_scale': 8.0}, 'mini')
    >>> strategy_of("constant", "mini", 8.0, {"scale": 2.5})
    ({'name': 'temperature', 'scale': 2.5}, None)
    """
    line = METHODS["best-of-n" if method == "sample" else method] if "every" not in numbers else None
    name = "rws-every" if line is None else line.strategy
    reads = STRATEGIES[name].reads
    scaled = {"reward_scale": scale} if "reward_scale" in reads and scale is not None else {}
    return {"name": name, **scaled, **numbers}, guide if "reward" in reads else None


def seed_of(base: Unit, name: str, purpose: str) -> int:
    """Return a seed for one prompt and purpose, so that it does not depend on what else is run."""
    return int(np.random.default_rng([base.seed, *f"{name} {purpose}".encode()]).integers(2**31))
