"""The one table of strategies: for `decode`, the command line, the studies and the figures.

A strategy of your own needs no line here: `decode` takes any object with the members of `protocol.FactorStrategy` or
`protocol.OrderStrategy`. A line gives it a name on the command line and in studies.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rws_decode.common import plugins
from rws_decode.common.arguments import meant
from rws_decode.strategies.numbers import Number, example_of, numbers_of, parts_of
from rws_decode.strategies.protocol import MARKS, Strategy
from rws_theory.checks import one_of
from rws_theory.show import Note, quoted, shortened

if TYPE_CHECKING:
    from rws_decode.trace.trace import Trace


@dataclass(frozen=True)
class Entry:
    """A strategy's line: its class, what it does in words, and how it is made from a run. The class says the rest.

    rule: MODULE.CLASS of `rws_decode.strategies`, "" where it is only ever made from a run; run: MODULE.FUNCTION that
    makes it from an rws run's trace, "" where it is not. plugged: the class itself, of one that a package offers.
    """

    rule: str
    about: str
    run: str = ""
    plugged: Any = None

    @cached_property
    def kind(self) -> Any:
        """The class of a line that has one, imported when it is asked for: it may need PyTorch."""
        return self.load(self.rule) if self.plugged is None else self.plugged

    def load(self, path: str) -> Any:
        """Return what stands at MODULE.NAME of `rws_decode.strategies`."""
        module, _, attribute = path.rpartition(".")
        return getattr(import_module(f"rws_decode.strategies.{module}"), attribute)

    @cached_property
    def numbers(self) -> dict[str, Number]:
        """The numbers that the class declares, none of one that is made from a run."""
        return {} if self.run else numbers_of(self.kind)

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """What can be given: numbers, tables of them, a run, a reward."""
        asks = not self.run and getattr(self.kind, "needs_reward", False) is True
        return tuple(dict.fromkeys([*self.numbers, *self.needs, *(["reward"] if asks else [])]))

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """What must be given besides a reward: the fields without a default, or a run."""
        if self.run:
            return ("run",)
        return tuple(part.name for part in fields(self.kind) if part.default is part.default_factory is MISSING)

    @property
    def offered(self) -> bool:
        """Whether a text can name it: tables of rewards, frequencies and truths are for Python."""
        return set(self.reads) <= {*self.numbers, "run", "reward"}

    @property
    def scalable(self) -> bool:
        """Whether the logits that it counts by can be scaled by another strategy, temperature or rws."""
        return not self.run and self.offered and "scaled" in self.kind.__dataclass_fields__


class Table(Mapping[str, Entry]):
    """Lines by name: the core's own, then those that packages offer in a group of entry points, loaded when named.

    The core's own line wins over a package's of the same name. ValueError where a package's cannot be used; `listed`
    leaves such a one out.
    """

    def __init__(self, group: str, own: Mapping[str, Entry]) -> None:
        self._group, self._own = group, dict(own)

    def __getitem__(self, name: str) -> Entry:
        if name in self._own:
            return self._own[name]
        kind = plugins.find(self._group, name)
        if kind is None:
            raise KeyError(name)
        if not isinstance(kind, type) or not is_dataclass(kind) or getattr(kind, "name", None) != name:
            raise plugins.refused(self._group, name, f"is no dataclass whose name is {name!r}")
        about = getattr(kind, "about", None) or (kind.__doc__ or "").strip().partition("\n")[0]
        return Entry(f"{kind.__module__}.{kind.__qualname__}", about, plugged=kind)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._own, *plugins.names(self._group)]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in list(iter(self))

    def listed(self) -> dict[str, Entry]:
        """Return all lines, loaded; a package's that cannot be used is told in a note."""
        lines = {}
        for name in self:
            try:
                lines[name] = self[name]
            except ValueError as error:
                warnings.warn(Note(str(error)), stacklevel=2)
        return lines


STRATEGIES = Table(
    "rws.strategies",
    {
        "default": Entry("factors.Confidence", "the most confident positions first (the paper's Default)"),
        "temperature": Entry("factors.Temperature", "a fixed factor --scale of all logits"),
        "rws": Entry("factors.RWS", "reward-weighted sampling at --reward-scale"),
        "schedule": Entry("given.Schedule", "the factors of an rws run (--run) again", "recorded.recorded"),
        "constant": Entry("", "the mean factor of an rws run (--run)", "recorded.constant_of"),
        "shuffled": Entry("", "the rewards of an rws run (--run) in another order", "recorded.shuffled"),
        "reward-replay": Entry("given.RewardReplay", "rws of rewards that are given"),
        "margin": Entry("orders.Margin", "the largest gap between the two best tokens first"),
        "entropy": Entry("orders.Entropy", "the least entropy first"),
        "threshold": Entry("counted.Threshold", "all positions of probability --threshold or more (Fast-dLLM)"),
        "random-order": Entry("orders.RandomOrder", "a random order within each block"),
        "left-to-right": Entry("orders.LeftToRight", "the leftmost position first"),
    },
)
FROM_RUN = ("schedule", "constant", "shuffled")


def offered() -> dict[str, Entry]:
    """Return the strategies that a text can name, those of installed packages too."""
    return {name: entry for name, entry in STRATEGIES.listed().items() if entry.offered}


def strategy_named(
    name: str, *, run: Trace | None = None, seed: int | tuple[int, ...] = 0, eps: float = 1e-5, **numbers: Any
) -> Strategy:
    """Return the strategy of that name, made from those of the options that it reads; others do nothing.

    run: what "schedule" repeats, "constant" averages and "shuffled" permutes. ValueError for an unknown name, an option
    that is missing, and a value that the strategy refuses.
    """
    entry = _line(name)
    if entry is None:
        one_of("strategy", name, _names())
    assert entry is not None  # else refused
    given = {option: value for option, value in {**numbers, "run": run}.items() if value is not None}
    if missing := [option for option in entry.needs if option not in given]:
        raise ValueError(f"{missing[0]} is None: strategy {name} needs it")
    if entry.run:
        import numpy as np

        rng = np.random.default_rng(seed[0] if isinstance(seed, tuple) else seed)
        return entry.load(entry.run)(run, *([rng] if name == "shuffled" else []))
    if entry.scalable:
        if {"scale", "reward_scale"} <= given.keys():
            scales = f"scale is {given['scale']!r} beside reward_scale {given['reward_scale']!r}"
            raise ValueError(f"{scales}: {name} takes one")
        for scaled, option in (("temperature", "scale"), ("rws", "reward_scale")):
            if option in given:
                given["scaled"] = strategy_named(scaled, eps=eps, **{option: given[option]})
    takes = {part.name for part in fields(entry.kind)}
    given |= {"seed": seed, "eps": eps}
    known = takes & {*entry.reads, "scaled", "seed", "eps"}
    return entry.kind(**{option: value for option, value in given.items() if option in known})


def as_strategy(strategy: Strategy | str, *, seed: int | tuple[int, ...] = 0, **numbers: Any) -> Strategy:
    """Return a strategy as it is, or the one that a name and numbers say: "rws" with reward_scale=8.0, or "rws:8".

    A number after the colon is the first that the strategy reads; what scales it may follow a plus sign, and so may
    spacing, the least of a step's commits (`spaced`). ValueError as in `strategy_named`, for a number that the
    strategy does not read, and for numbers beside a strategy that is an object.

    >>> as_strategy("rws:8") == as_strategy("rws", reward_scale=8.0)
    True
    >>> as_strategy("threshold:0.9+rws:8") == as_strategy("threshold:0.9", reward_scale=8.0)
    True
    >>> as_strategy("random-order+spacing:3")
    Spacing(of=RandomOrder(seed=0, window=None), spacing=3)
    >>> as_strategy("temperature", scal=2.0)
    Traceback (most recent call last):
    ...
    ValueError: scal is 2.0: no such argument; strategy temperature reads scale, as in temperature:4 or scale=4.0
    """
    if not isinstance(strategy, str):
        if numbers:
            name, value = next(iter(numbers.items()))
            raise ValueError(f"{name} is {quoted(value)}: strategy {quoted(strategy)} has its numbers, leave it out")
        return strategy
    name, number = parted(strategy, "strategy")
    entry = STRATEGIES[name]
    for option, value in number.items():
        if numbers.get(option) is not None:
            raise ValueError(
                f"{option} is {quoted(numbers[option])}: strategy {strategy:.80} has its number, leave it out"
            )
        numbers[option] = value
    numbers = {option: value for option, value in numbers.items() if value is not None}
    positions = numbers.pop(SPACING, 1)
    known = {*entry.numbers, "run"} & {*entry.reads}
    known |= {"scale", "reward_scale", "eps"} if entry.scalable else set()
    known |= {"eps"} if entry.rule and "eps" in entry.kind.__dataclass_fields__ else set()
    for option, value in numbers.items():
        if option not in known:
            read = option == "run" or any(option in other.numbers for other in STRATEGIES.listed().values())
            unknown = "" if read else "no such argument; "
            raise ValueError(f"{option} is {quoted(value)}: {unknown}strategy {name} reads {_call(name)}")
    if missing := [option for option in entry.needs if option in entry.numbers and option not in numbers]:
        raise ValueError(f"{missing[0]} is None: strategy {name} needs {_call(name)}")
    return spaced(strategy_named(name, seed=seed, **numbers), positions)


def spaced(strategy: Strategy, positions: int) -> Strategy:
    """Return the strategy with that minimum spacing of a step's commits, as an extra does it; itself for 1."""
    return strategy if positions == 1 else plugins.hook("spacing", f"spacing is {positions}")(strategy, positions)


def check_text(text: str, argument: str) -> tuple[str, ...]:
    """Return what the strategy that a text names reads; ValueError, naming the argument, where it names none."""
    name, numbers = parted(text, argument)
    entry = STRATEGIES[name]
    if "run" in entry.reads:
        raise ValueError(
            f"{argument} is {text!r:.80}: {name} follows a run, give it to generate: --strategy {name} --run FILE"
        )
    if missing := [option for option in entry.needs if option not in numbers]:
        lacking = "a number" if len(missing) == len(entry.needs) else missing[0]
        raise ValueError(f"{argument} is {text!r:.80}: {lacking} is missing, as in {example_of(name, entry.numbers)}")
    if SPACING in numbers:
        as_strategy(text)  # refuses one that keeps no distance
    more = [option for option in ("scale", "reward_scale") if option in numbers and option not in entry.reads]
    return (*entry.reads, *more, *(["reward"] if "reward_scale" in more else []))


def parted(text: str, argument: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a text such as "rws:8", and its numbers by name, those of what scales it too.

    ValueError, naming the argument, for a text that names no strategy, and for numbers that it does not read.

    >>> parted("threshold:0.9+rws:8", "--strategy")
    ('threshold', {'threshold': 0.9, 'reward_scale': 8.0})
    """
    name, first, parts = parts_of(text)
    if _line(name) is None:
        known = f"{shortened(_names(), 8)}{meant(name, _names())}; `rws strategies` lists all"
        raise ValueError(f"{argument} is {quoted(text)}: it must be one of {known}")
    declared, numbers = STRATEGIES[name].numbers, {}
    if first is not None:
        if not declared:
            raise ValueError(f"{argument} is {text!r:.80}: {name} reads no number, leave :{first:.40} out")
        option = next(iter(declared))
        numbers[option] = _read(first, declared[option], text, argument, name)
    for option, value in parts:
        if option in declared and option not in numbers:
            numbers[option] = _read(value, declared[option], text, argument, name)
        elif option == SPACING and option not in numbers:
            if not value.isdecimal():
                raise ValueError(
                    f"{argument} is {text!r:.80}: a whole number is needed after {SPACING}:, as in {SPACING}:3"
                )
            numbers[option] = int(value)
        elif STRATEGIES[name].scalable and option in _SCALES and value:
            ((scale, number),) = STRATEGIES[option].numbers.items()
            numbers[scale] = _read(value, number, text, argument, option)
        elif option in numbers:
            raise ValueError(f"{argument} is {text!r:.80}: {option:.40} is given twice, leave one out")
        elif _line(option) is None:
            owned = f", whose numbers are {', '.join(declared)}" if declared else ", which reads no number"
            raise ValueError(f"{argument} is {text!r:.80}: {option:.40} is no number of {name}{owned}")
        else:
            raise ValueError(
                f"{argument} is {text!r:.80}: temperature or rws with its number scales a strategy of other papers, as "
                "in threshold:0.9+rws:8"
            )
    return name, numbers


def _line(name: str) -> Entry | None:
    """Return the line of a name that a text can have, None for another."""
    entry = STRATEGIES.get(name) if isinstance(name, str) else None
    return entry if entry is not None and entry.offered else None


def _names() -> tuple[str, ...]:
    """Return the names that a text can have; none of a package is loaded for it."""
    unloaded = plugins.names("rws.strategies")
    return tuple(name for name in STRATEGIES if name in unloaded or STRATEGIES[name].offered)


_SCALES = ("temperature", "rws")  # what may scale the logits that another counts by
SPACING = "spacing"  # of every strategy: the minimum spacing of the positions that a step commits


def _read(word: str, number: Number, text: str, argument: str, name: str) -> Any:
    try:
        return type(number.usual)(word)
    except ValueError:
        example = example_of(name, STRATEGIES[name].numbers)
        whole = "whole " if isinstance(number.usual, int) else ""
        raise ValueError(
            f"{argument} is {text!r:.80}: a {whole}number is needed after the colon, as in {example}"
        ) from None


def _call(name: str) -> str:
    """Return how numbers are given to a strategy, as in temperature:4 or scale=4.0."""
    numbers = STRATEGIES[name].numbers
    if not numbers:
        return "no numbers"
    (first, number), *others = numbers.items()
    call = "" if others else f" or {first}={number.usual!r}"
    return f"{' and '.join(numbers)}, as in {example_of(name, numbers)}{call}"


def strategy_from(description: Mapping[str, Any]) -> Strategy:
    """Return the strategy that `protocol.describe` described: its name and its numbers.

    ValueError for a name without a class in `STRATEGIES`, and for numbers that the strategy refuses.

    >>> strategy_from({"name": "temperature", "scale": 2.0})
    Temperature(scale=2.0)
    """
    numbers = {key: value for key, value in description.items() if key not in {"name", *MARKS}}
    numbers |= {key: strategy_from(value) for key, value in numbers.items() if isinstance(value, Mapping)}
    name = description["name"]
    if name == SPACING:
        return spaced(numbers["of"], numbers[SPACING])
    if name not in STRATEGIES or not STRATEGIES[name].rule:
        described = [name for name, entry in STRATEGIES.listed().items() if entry.rule]
        raise ValueError(f"strategy is {name!r}: one of {', '.join(described)} is needed")
    try:
        return STRATEGIES[name].kind(**numbers)
    except TypeError as error:
        raise ValueError(f"strategy {name} has numbers {sorted(numbers)}: {error}") from error
