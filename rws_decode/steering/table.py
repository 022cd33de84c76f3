"""The one table of steering methods, by name, and the texts that name one with its numbers."""

from __future__ import annotations

from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from rws_decode.strategies.numbers import Number, numbers_of, parts_of, read_number
from rws_decode.strategies.table import APART, STRATEGIES, as_strategy, check_text

if TYPE_CHECKING:
    from rws_decode.steering.protocol import SteeringMethod
    from rws_decode.strategies.protocol import Strategy


class Entry(NamedTuple):
    """A method's line: MODULE.CLASS in this package, and what it does. The class says the rest."""

    rule: str
    about: str

    @property
    def kind(self) -> Any:
        """The class, imported when it is asked for: the methods need PyTorch."""
        module, _, attribute = self.rule.rpartition(".")
        return getattr(import_module(f"{__package__}.{module}"), attribute)

    @property
    def numbers(self) -> dict[str, Number]:
        """The numbers that the class declares; the first stands after the colon."""
        return numbers_of(self.kind)


METHODS: dict[str, Entry] = {
    "best-of": Entry("best_of.BestOf", "the answer of most reward among N draws"),
    "best-order": Entry("best_of.BestOrder", "the answer of most reward among N random orders, with the best words"),
    "soft-best-of": Entry("best_of.SoftBestOf", "one of N draws, each with a probability proportional to exp(beta R)"),
    "particles": Entry("particles.Particles", "N copies, weighed and resampled on the way (FK steering)"),
    "particle-gibbs": Entry("particles.ParticleGibbs", "particles again and again; one copy repeats the last answer"),
    "svdd": Entry("best_of.SVDD", "each step drawn N times, one draw taken by its value (SVDD)"),
    "reward-lookahead": Entry(
        "reward_lookahead.RewardLookahead", "of N commits the one after which the text scores best"
    ),
    "gradient-guidance": Entry("entrgi.GradientGuidance", "logits moved by N gradients of the reward (EntRGi)"),
}


class MethodText(NamedTuple):
    """What a text such as "particles:8+beta:2+rws:8" names: method, its numbers, and the strategy of each copy."""

    name: str
    numbers: dict[str, float | int | str]
    base: str | None


def is_method(text: str) -> bool:
    """Return whether a text names a steering method.

    >>> is_method("best-of:8"), is_method("rws:8")
    (True, False)
    """
    return text.partition(":")[0].partition("+")[0] in METHODS


def method_text(text: str, argument: str = "method") -> MethodText:
    """Return what a text names; ValueError, naming the argument, where it names no method.

    The number after the first colon says how many copies, draws, commits or gradients there are. After a plus sign
    there stands another number of the method by its name, or the strategy that each copy follows.

    >>> method_text("particles:8+beta:2+margin")
    MethodText(name='particles', numbers={'n': 8, 'beta': 2.0}, base='margin')
    >>> method_text("particles")
    Traceback (most recent call last):
    ...
    ValueError: method is 'particles': a whole number is missing, as in particles:8
    """
    name, first, parts = parts_of(text)
    if name not in METHODS:
        meant = get_close_matches(name, METHODS, 1)
        advice = f" (is {meant[0]} meant?)" if meant else ""
        raise ValueError(
            f"{argument} is {text!r}: one of {', '.join(METHODS)} is needed{advice}, with a number as in best-of:8"
        )
    if first is None or not first.isdecimal():
        raise ValueError(f"{argument} is {text!r}: a whole number is missing, as in {name}:8")
    (count, _), *others = METHODS[name].numbers.items()
    declared = dict(others)
    numbers: dict[str, float | int | str] = {count: int(first)}
    bases = []
    for option, value in parts:
        if option in declared:
            try:
                numbers[option] = read_number(value, declared[option])
            except ValueError:
                raise ValueError(f"{argument} is {text!r}: {option} is {value!r}, a number is needed") from None
        elif option in STRATEGIES or (option == APART and bases):
            bases.append(f"{option}:{value}" if value else option)
        else:
            part = f"{option}:{value}" if value else option
            has = f", which has {', '.join(declared)}, as in {next(iter(declared))}:2" if declared else ""
            raise ValueError(f"{argument} is {text!r}: {part!r} is no strategy and no number of {name}{has}")
    base = "+".join(bases) or None
    if base is not None:
        check_text(base, argument)
    return MethodText(name, numbers, base)


def as_method(method: SteeringMethod | str, argument: str = "method", **numbers: Any) -> SteeringMethod:
    """Return a method as it is, or the one that a text and numbers name: "particles:8+beta:2", or beta=2.0 beside it.

    ValueError, naming the argument, for an unknown name and for numbers that the method does not have or refuses.

    >>> as_method("particles:8", beta=2.0)
    Particles(n=8, beta=2.0, ess_threshold=0.5)
    """
    if not isinstance(method, str):
        if numbers:
            name, value = next(iter(numbers.items()))
            raise ValueError(f"{name} is {value!r}: {argument} {method!r} has its numbers, leave it out")
        return method
    name, given, _ = method_text(_with_first(method, numbers), argument)
    rule = METHODS[name].kind
    known = [field.name for field in fields(rule)]
    for option, value in numbers.items():
        if option not in known:
            raise ValueError(f"{option} is {value!r}: {name} has {', '.join(known)}")
        if option in given and given[option] != value:
            raise ValueError(f"{option} is {value!r}: {argument} {method!r} says {given[option]!r}, leave one out")
    return rule(**(given | numbers))


def _with_first(text: str, numbers: dict[str, Any]) -> str:
    """Return a text with its first number, where it stands among the numbers: "particles" and n=8."""
    head, plus, rest = text.partition("+")
    if ":" in head or head not in METHODS:
        return text
    first = next(iter(METHODS[head].numbers))
    return f"{head}:{numbers[first]}{plus}{rest}" if first in numbers else text


def check_method(text: str, argument: str) -> None:
    """Raise ValueError, naming the argument, where a text names no steering method or numbers that it refuses."""
    try:
        as_method(text, argument)
        base = method_text(text, argument).base
        if base is not None:
            check_base(as_strategy(base))
    except ValueError as error:
        message = str(error)
        raise ValueError(message if message.startswith(argument) else f"{argument} is {text!r}: {message}") from None


def check_base(strategy: Strategy) -> None:
    """Raise ValueError for a strategy that copies cannot follow in step."""
    from rws_decode.strategies.protocol import LookingStrategy, OwnCount, Remembering, RevisingStrategy

    if isinstance(strategy, OwnCount | RevisingStrategy | Remembering | LookingStrategy):
        raise ValueError(
            f"strategy is {strategy!r}: copies stay in step, one that neither counts, masks again nor looks ahead "
            "is needed"
        )


def within(method: str, budget: int, steps: int, **numbers: Any) -> SteeringMethod:
    """Return the method with the most copies whose forwards stay within a budget for each prompt.

    method: its name; budget: forwards; steps: of the decode. The default strategy and rws take `steps` forwards.
    ValueError for a budget that the smallest such method exceeds, and for a method whose forwards are always the same.

    >>> within("best-of", 128, 32), within("particle-gibbs", 128, 32, sweeps=2)
    (BestOf(n=4), ParticleGibbs(n=2, sweeps=2, beta=1.0, ess_threshold=0.5))
    """
    least = 2 if method == "particle-gibbs" else 1
    fits = as_method(f"{method}:{least}", **numbers)
    if fits.forwards(2) == as_method(f"{method}:{least + 1}", **numbers).forwards(2):
        raise ValueError(f"method is {method!r}: no number changes its forwards, give one yourself, as in {method}:3")
    if fits.forwards(steps) > budget:
        raise ValueError(f"budget is {budget}: {method}:{least} takes {fits.forwards(steps)} forwards in {steps} steps")
    while steps > 1 and (more := as_method(f"{method}:{fits.copies + 1}", **numbers)).forwards(steps) <= budget:
        fits = more
    return fits


def fitted(text: str, budget: int, steps: int, argument: str = "method") -> str:
    """Return a text with the number that a budget of forwards allows, where it has none: "best-of+rws:8".

    ValueError as in `within`.

    >>> fitted("best-of+rws:8", 128, 32), fitted("best-of:2", 128, 32), fitted("rws:8", 128, 32)
    ('best-of:4+rws:8', 'best-of:2', 'rws:8')
    """
    head, plus, rest = text.partition("+")
    if head not in METHODS:
        return text
    named = method_text(f"{head}:2{plus}{rest}", argument)
    _, *others = named.numbers.items()
    return f"{head}:{within(head, budget, steps, **dict(others)).copies}{plus}{rest}"


def base_of(method: SteeringMethod | str, **numbers: Any) -> str | None:
    """Return the strategy that a text gives to each copy, None where it gives none. numbers: as in `as_method`."""
    return method_text(_with_first(method, numbers)).base if isinstance(method, str) else None
