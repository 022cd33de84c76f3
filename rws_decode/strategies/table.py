"""The one table of strategies: for `decode`, the command line, the studies and the figures.

A strategy of your own needs no line here: `decode` takes any object with the members of `protocol.FactorStrategy` or
`protocol.OrderStrategy`. A line gives it a name on the command line and in studies.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rws_decode.strategies.protocol import Strategy
    from rws_decode.trace.trace import Trace

__all__ = ["OFFERED", "STRATEGIES", "Entry", "as_strategy", "check_text", "strategy_from", "strategy_named"]


class Entry(NamedTuple):
    """A strategy's line: its class, the options that it reads, and what it does.

    rule: MODULE.CLASS in this package, "" where it is only ever made from a run; run: MODULE.FUNCTION that makes it
    from an rws run's trace, "" where it is not; scalable: whether the logits that it counts by can be scaled by another
    strategy, temperature or rws.
    """

    rule: str
    reads: tuple[str, ...]
    about: str
    run: str = ""
    scalable: bool = False


# Strings, not classes: --help must not wait for PyTorch.
STRATEGIES: dict[str, Entry] = {
    "default": Entry("factors.Confidence", (), "the most confident positions first (the paper's Default)"),
    "temperature": Entry("factors.Temperature", ("scale",), "a constant factor --scale of all logits"),
    "rws": Entry("factors.RWS", ("reward_scale", "reward"), "reward-weighted sampling at --reward-scale"),
    "rws-every": Entry(
        "reward_controls.RWSEvery",
        ("reward_scale", "reward", "every"),
        "rws that asks the reward at every --every-th step",
    ),
    "rws-flipped": Entry("reward_controls.FlippedReward", ("reward_scale", "reward"), "rws of minus the reward"),
    "rws-random": Entry("reward_controls.RandomReward", ("reward_scale",), "rws of normal noise instead of a reward"),
    "schedule": Entry("given.Schedule", ("run",), "the factors of an rws run (--run) again", "recorded.recorded"),
    "constant": Entry("", ("run",), "the mean factor of an rws run (--run)", "recorded.constant_of"),
    "shuffled": Entry("", ("run",), "the rewards of an rws run (--run) in another order", "recorded.shuffled"),
    "reward-replay": Entry("given.RewardReplay", ("reward_scale", "rewards"), "rws of rewards that are given"),
    "margin": Entry("orders.Margin", (), "the largest gap between the two best tokens first"),
    "entropy": Entry("orders.Entropy", (), "the least entropy first"),
    "threshold": Entry(
        "fast_dllm.Threshold",
        ("threshold",),
        "all positions of probability --threshold or more (Fast-dLLM)",
        scalable=True,
    ),
    "parallel-factor": Entry(
        "fast_dllm.ParallelFactor",
        ("parallel_factor",),
        "as many as (n + 1)(1 - p_n) < --parallel-factor (Fast-dLLM)",
        scalable=True,
    ),
    "entropy-bound": Entry(
        "eb_sampler.EntropyBound",
        ("gamma",),
        "as many as an entropy of --gamma nats allows (EB-Sampler)",
        scalable=True,
    ),
    "klass": Entry(
        "klass.Klass",
        ("threshold",),
        "all of probability --threshold or more, moved < 0.01 nats in 2 steps (KLASS)",
        scalable=True,
    ),
    "certainty-prior": Entry(
        "d2cache.CertaintyPrior",
        ("sigma",),
        "confidence near known words, within --sigma tokens (d2Cache)",
        scalable=True,
    ),
    "remdm": Entry(
        "revising.remdm.ReMDM",
        ("eta",),
        "confidence; masks tokens again with probability --eta or less (ReMDM)",
        scalable=True,
    ),
    "p2": Entry(
        "revising.p2.P2",
        ("eta",),
        "the best of committed and masked stay, log p of the first times --eta (P2)",
        scalable=True,
    ),
    "wino": Entry(
        "revising.wino.Wino",
        ("threshold",),
        "all of probability --threshold or more; doubtful ones go again (WINO)",
        scalable=True,
    ),
    "information-gain": Entry(
        "info_gain.InformationGain",
        ("hypotheses",),
        "what tells most of the rest, of --hypotheses commits looked at (Info-Gain)",
        scalable=True,
    ),
    "lookum": Entry(
        "lookum.LookUM",
        ("hypotheses",),
        "what leaves least uncertain, of --hypotheses commits looked at (LookUM)",
        scalable=True,
    ),
    "calibrated": Entry(
        "pc_sampler.Calibrated", ("frequency",), "confidence calibrated by word frequency (PC-Sampler)"
    ),
    "oracle-order": Entry("oracle.OracleOrder", ("truth",), "the positions whose candidate is the truth first"),
    "random-order": Entry("orders.RandomOrder", (), "a random order within each block"),
    "left-to-right": Entry("orders.LeftToRight", (), "the leftmost position first"),
}

# Those that the command line can make: rewards step by step, frequencies and truths are for Python.
_TABLES = {"rewards", "frequency", "truth"}
OFFERED: tuple[str, ...] = tuple(name for name, entry in STRATEGIES.items() if not _TABLES & set(entry.reads))


def strategy_named(
    name: str, *, run: Trace | None = None, seed: int | tuple[int, ...] = 0, eps: float = 1e-5, **numbers: Any
) -> Strategy:
    """Return the strategy of that name, made from those of the options that it reads.

    numbers: scale, c of "temperature"; reward_scale, s_R, and eps of the rws strategies; every, of "rws-every";
    threshold, parallel_factor, gamma, sigma, eta and hypotheses of the strategies of other papers, which scale or
    reward_scale scales. run: the rws run that "schedule" repeats, "constant" averages and "shuffled" permutes. seed: of
    "rws-random", "random-order", "remdm", those that look ahead, and "shuffled" (the first, if one per row). Options
    that the strategy does not read do nothing. ValueError for an unknown name, an option that is missing, and a value
    that the strategy refuses.

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
    if entry.scalable and (scaled := _scaled(name, given)) is not None:
        options = {"scale": given.get("scale"), "reward_scale": given.get("reward_scale"), "eps": eps}
        given["scaled"] = strategy_named(scaled, **options)
    numbers = {option: given[option] for option in (*entry.reads, "scaled") if option in takes and option in given}
    return rule(**numbers, **{option: value for option, value in (("seed", seed), ("eps", eps)) if option in takes})


def _scaled(name: str, given: Mapping[str, Any]) -> str | None:
    """Return the name of the strategy that scales the logits of a scalable one, None for none."""
    scales = [option for option in ("scale", "reward_scale") if given.get(option) is not None]
    if len(scales) > 1:
        raise ValueError(f"scale is {given['scale']!r} beside reward_scale {given['reward_scale']!r}: {name} takes one")
    return {"scale": "temperature", "reward_scale": "rws"}[scales[0]] if scales else None


def as_strategy(strategy: Strategy | str, *, seed: int | tuple[int, ...] = 0, **numbers: Any) -> Strategy:
    """Return a strategy as it is, or the one that a name and numbers say: "rws" with reward_scale=8.0, or "rws:8".

    A number after the colon is the first that the strategy reads; what scales it may follow a plus sign. ValueError as
    in `strategy_named`, for a number that the strategy does not read, and for numbers beside a strategy that is an
    object.

    >>> as_strategy("rws:8") == as_strategy("rws", reward_scale=8.0)
    True
    >>> as_strategy("threshold:0.9+rws:8") == as_strategy("threshold:0.9", reward_scale=8.0)
    True
    >>> as_strategy("temperature", scal=2.0)
    Traceback (most recent call last):
    ...
    ValueError: scal is 2.0: strategy temperature reads scale, as in temperature:4 or scale=4.0
    """
    if not isinstance(strategy, str):
        if numbers:
            name, value = next(iter(numbers.items()))
            raise ValueError(f"{name} is {value!r}: strategy {strategy!r} has its numbers, leave it out")
        return strategy
    name, number, scaled = _parted(strategy, "strategy")
    entry = _entry(name)
    reads = [option for option in entry.reads if option not in ("reward", "run")]
    for option, value in (({reads[0]: number} if number is not None else {}) | scaled).items():
        if numbers.get(option) is not None:
            raise ValueError(f"{option} is {numbers[option]!r}: strategy {strategy} has its number, leave it out")
        numbers[option] = value
    has_eps = bool(entry.rule) and "eps" in _load(entry.rule).__dataclass_fields__
    known = {*entry.reads, *(["eps"] if has_eps else []), *(("scale", "reward_scale", "eps") if entry.scalable else [])}
    for option, value in numbers.items():
        if value is not None and (option not in known or option == "reward"):
            raise ValueError(f"{option} is {value!r}: strategy {name} reads {_call(name, reads)}")
    if missing := [option for option in reads if numbers.get(option) is None]:
        raise ValueError(f"{missing[0]} is None: strategy {name} needs {_call(name, reads)}")
    return strategy_named(name, seed=seed, **{option: value for option, value in numbers.items() if value is not None})


def check_text(text: str, argument: str) -> tuple[str, ...]:
    """Return what the strategy that a text names reads; ValueError, naming the argument, where it names none.

    >>> check_text("rws:8", "--compare")
    ('reward_scale', 'reward')
    >>> check_text("rws", "--compare")
    Traceback (most recent call last):
    ...
    ValueError: --compare is 'rws': a number is missing, as in rws:4
    """
    name, number, scaled = _parted(text, argument)
    reads = STRATEGIES[name].reads
    if len(set(reads) - {"reward"}) > 1 or "run" in reads:
        raise ValueError(f"{argument} is {text!r}: {name} needs more than a number, use --strategy {name}")
    if number is None and set(reads) - {"reward"}:
        raise ValueError(f"{argument} is {text!r}: a number is missing, as in {_example(name)}")
    return (*reads, *(("reward_scale", "reward") if "reward_scale" in scaled else scaled))


def _parted(text: str, argument: str) -> tuple[str, float | None, dict[str, float]]:
    """Return the name and the number of a text such as "rws:8", and the number of what scales it, by its name."""
    base, plus, scaled = text.partition("+")
    name, colon, number = base.partition(":")
    if name not in OFFERED:
        meant = get_close_matches(name, OFFERED, 1)
        advice = f" (is {meant[0]} meant?)" if meant else ""
        raise ValueError(f"{argument} is {text!r}: it must be one of {', '.join(OFFERED)}{advice}")
    if colon and not set(STRATEGIES[name].reads) & set(_USUAL):
        raise ValueError(f"{argument} is {text!r}: {name} reads no number, leave :{number} out")
    scales: dict[str, float] = {}
    if plus:
        scaling, _, by = scaled.partition(":")
        if not STRATEGIES[name].scalable or scaling not in ("temperature", "rws") or not by:
            raise ValueError(
                f"{argument} is {text!r}: temperature or rws with its number scales a strategy of other papers, as in "
                "threshold:0.9+rws:8"
            )
        scales[STRATEGIES[scaling].reads[0]] = _number(by, text, argument, scaled)
    return name, _number(number, text, argument, name) if colon else None, scales


def _number(number: str, text: str, argument: str, name: str) -> float:
    try:
        return float(number)
    except ValueError:
        example = _example(name.partition(":")[0])
        raise ValueError(f"{argument} is {text!r}: a number is needed after the colon, as in {example}") from None


# What a number of each option may be, for messages.
_USUAL = {"scale": "4", "reward_scale": "4", "threshold": "0.9", "parallel_factor": "1"}
_USUAL |= {"gamma": "0.1", "sigma": "8", "eta": "0.5", "hypotheses": "8"}


def _example(name: str) -> str:
    """Return a text that names a strategy with a number.

    >>> _example("rws"), _example("threshold")
    ('rws:4', 'threshold:0.9')
    """
    return f"{name}:{_USUAL[STRATEGIES[name].reads[0]]}"


def _call(name: str, reads: list[str]) -> str:
    """Return how numbers are given to a strategy.

    >>> _call("temperature", ["scale"]), _call("rws-every", ["reward_scale", "every"])
    ('scale, as in temperature:4 or scale=4.0', 'reward_scale and every, as in rws-every:4 and every=2')
    """
    if not reads:
        return "no numbers"
    first, *others = reads
    if not others:
        return f"{first}, as in {_example(name)} or {first}={float(_USUAL[first])}"
    return f"{' and '.join(reads)}, as in {_example(name)} and {' and '.join(f'{option}=2' for option in others)}"


_MARKS = ("name", "counts", "chooses", "revises")  # of a description, no numbers of the strategy


def strategy_from(description: Mapping[str, Any]) -> Strategy:
    """Return the strategy that `protocol.describe` described: its name and its numbers.

    ValueError for a name without a class in `STRATEGIES`, and for numbers that the strategy refuses.

    >>> strategy_from({"name": "temperature", "scale": 2.0})
    Temperature(scale=2.0)
    """
    numbers = {key: value for key, value in description.items() if key not in _MARKS}
    numbers |= {key: strategy_from(value) for key, value in numbers.items() if isinstance(value, Mapping)}
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
