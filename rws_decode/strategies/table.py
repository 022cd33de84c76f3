"""The one table of strategies: for `decode`, the command line, the studies and the figures.

A strategy of your own needs no line here: `decode` takes any object with the members of `protocol.FactorStrategy` or
`protocol.OrderStrategy`. A line gives it a name on the command line and in studies.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rws_decode.strategies.protocol import Strategy
    from rws_decode.trace.trace import Trace

__all__ = ["OFFERED", "STRATEGIES", "Entry", "strategy_from", "strategy_named"]


class Entry(NamedTuple):
    """A strategy's line: its class, the options that it reads, and what it does.

    rule: MODULE.CLASS in this package, "" where it is only ever made from a run; run: MODULE.FUNCTION that makes it
    from an rws run's trace, "" where it is not.
    """

    rule: str
    reads: tuple[str, ...]
    about: str
    run: str = ""


# Strings, not classes: --help must not wait for PyTorch.
STRATEGIES: dict[str, Entry] = {
    "default": Entry("factors.Confidence", (), "the most confident positions first (the paper's Default)"),
    "temperature": Entry("factors.Temperature", ("scale",), "a constant factor --scale of all logits"),
    "rws": Entry("factors.RWS", ("reward_scale", "reward"), "reward-weighted sampling at --reward-scale"),
    "rws-every": Entry(
        "reward_controls.RWSEvery", ("reward_scale", "reward", "every"), "rws that asks at every --every-th step"
    ),
    "rws-flipped": Entry("reward_controls.FlippedReward", ("reward_scale", "reward"), "rws of minus the reward"),
    "rws-random": Entry("reward_controls.RandomReward", ("reward_scale",), "rws of normal noise instead of a reward"),
    "schedule": Entry("given.Schedule", ("run",), "the factors of an rws run (--run) again", "recorded.recorded"),
    "constant": Entry("", ("run",), "the mean factor of an rws run (--run)", "recorded.constant_of"),
    "shuffled": Entry("", ("run",), "the rewards of an rws run (--run) in another order", "recorded.shuffled"),
    "reward-replay": Entry("given.RewardReplay", ("reward_scale", "rewards"), "rws of rewards that are given"),
    "margin": Entry("orders.Margin", (), "the largest gap between the two best tokens first"),
    "entropy": Entry("orders.Entropy", (), "the least entropy first"),
    "random-order": Entry("orders.RandomOrder", (), "a random order within each block"),
    "left-to-right": Entry("orders.LeftToRight", (), "the leftmost position first"),
}

# Those that the command line can make: rewards step by step are for studies.
OFFERED: tuple[str, ...] = tuple(name for name, entry in STRATEGIES.items() if "rewards" not in entry.reads)


def strategy_named(
    name: str, *, run: Trace | None = None, seed: int | tuple[int, ...] = 0, eps: float = 1e-5, **numbers: Any
) -> Strategy:
    """Return the strategy of that name, made from those of the options that it reads.

    numbers: scale, c of "temperature"; reward_scale, s_R, and eps of the rws strategies; every, of "rws-every". run:
    the rws run that "schedule" repeats, "constant" averages and "shuffled" permutes. seed: of "rws-random",
    "random-order" and "shuffled" (the first, if one per row). Options that the strategy does not read do nothing.
    ValueError for an unknown name, an option that is missing, and a value that the strategy refuses.

    >>> strategy_named("rws", reward_scale=8.0)
    RWS(reward_scale=8.0, eps=1e-05)
    >>> strategy_named("temperature")
    Traceback (most recent call last):
    ...
    ValueError: scale is None: strategy temperature needs it
    """
    entry = _entry(name)
    given = {**numbers, "run": run}
    for option in entry.reads:
        if option != "reward" and given.get(option) is None:
            raise ValueError(f"{option} is None: strategy {name} needs it")
    if entry.run:
        import numpy as np

        rng = np.random.default_rng(seed[0] if isinstance(seed, tuple) else seed)
        return _load(entry.run)(run, *([rng] if name == "shuffled" else []))
    rule = _load(entry.rule)
    takes = rule.__dataclass_fields__
    numbers = {option: given[option] for option in entry.reads if option in takes}
    return rule(**numbers, **{option: value for option, value in (("seed", seed), ("eps", eps)) if option in takes})


def strategy_from(description: Mapping[str, Any]) -> Strategy:
    """Return the strategy that `protocol.describe` described: its name and its numbers.

    ValueError for a name without a class in `STRATEGIES`, and for numbers that the strategy refuses.

    >>> strategy_from({"name": "temperature", "scale": 2.0})
    Temperature(scale=2.0)
    """
    numbers = {key: value for key, value in description.items() if key != "name"}
    name = description["name"]
    if name not in STRATEGIES or not STRATEGIES[name].rule:
        described = [name for name, entry in STRATEGIES.items() if entry.rule]
        raise ValueError(f"strategy is {name!r}: one of {', '.join(described)} is needed")
    try:
        return _load(STRATEGIES[name].rule)(**numbers)
    except TypeError as error:
        raise ValueError(f"strategy {name} has numbers {sorted(numbers)}: {error}") from error


def _entry(name: str) -> Entry:
    if name not in OFFERED:
        raise ValueError(f"strategy is {name!r}: it must be one of {', '.join(OFFERED)}")
    return STRATEGIES[name]


def _load(path: str) -> Any:
    module, _, attribute = path.rpartition(".")
    return getattr(import_module(f"{__package__}.{module}"), attribute)
