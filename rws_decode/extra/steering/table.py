"""The one table of steering methods, by name, and the texts that name one with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from rws_decode.common.arguments import meant
from rws_decode.steering import METHODS
from rws_decode.strategies.numbers import parts_of
from rws_decode.strategies.protocol import Strategy, abilities_of
from rws_decode.strategies.table import SPACING, STRATEGIES, as_strategy, check_text
from rws_theory.show import quoted

if TYPE_CHECKING:
    from rws_decode.extra.steering.protocol import SteeringMethod


def method_text(text: str, argument: str = "method") -> tuple[str, dict[str, float | int | str], str | None]:
    """Return a text's method, its numbers, and the strategy that each copy follows; ValueError, naming the argument.

    The number after the first colon says how many copies, samples, commits or gradients there are.

    >>> method_text("particles:8+beta:2+margin")
    ('particles', {'n': 8, 'beta': 2.0}, 'margin')
    """
    name, first, parts = parts_of(text)
    if name not in METHODS:
        near = meant(name, METHODS)
        raise ValueError(
            f"{argument} is {quoted(text, 40)}: one of {', '.join(METHODS)} is needed{near}, with a number as in "
            "best-of:8"
        )
    if first is None or not first.isdecimal():
        raise ValueError(f"{argument} is {text!r:.80}: a whole number is missing, as in {name}:8")
    (count, _), *others = METHODS[name].numbers.items()
    declared = dict(others)
    numbers: dict[str, float | int | str] = {count: int(first)}
    bases = []
    for option, value in parts:
        if option in declared:
            try:
                numbers[option] = type(declared[option].usual)(value)
            except ValueError:
                raise ValueError(f"{argument} is {text!r:.80}: {option} is {value!r:.40}, a number is needed") from None
        elif option in STRATEGIES or (option == SPACING and bases):
            bases.append(f"{option}:{value}" if value else option)
        else:
            part = f"{option}:{value}" if value else option
            has = f", which has {', '.join(declared)}, as in {next(iter(declared))}:2" if declared else ""
            raise ValueError(f"{argument} is {text!r:.80}: {part!r:.40} is no strategy and no number of {name}{has}")
    base = "+".join(bases) or None
    if base is not None:
        check_text(base, argument)
    return name, numbers, base


def as_method(method: SteeringMethod | str, argument: str = "method", **numbers: Any) -> SteeringMethod:
    """Return a method as it is, or the one that a text and numbers name: "particles:8+beta:2", or beta=2.0 beside it.

    ValueError, naming the argument, for an unknown name and for numbers that the method does not have or refuses.

    >>> as_method("particles:8", beta=2.0)
    Particles(n=8, beta=2.0, ess_threshold=0.5)
    """
    return with_base(method, argument, **numbers)[0]


def with_base(
    method: SteeringMethod | str, argument: str = "method", **numbers: Any
) -> tuple[SteeringMethod, str | None]:
    """Return the method, as `as_method` does, and the strategy that a text gives to each copy, None without."""
    if not isinstance(method, str):
        if numbers:
            name, value = next(iter(numbers.items()))
            raise ValueError(f"{name} is {quoted(value)}: {argument} {quoted(method)} has its numbers, leave it out")
        return method, None
    text, (head, plus, rest) = method, method.partition("+")
    if ":" not in head and head in METHODS and (first := next(iter(METHODS[head].numbers))) in numbers:
        text = f"{head}:{numbers[first]}{plus}{rest}"  # "particles" and n=8
    name, stated, base = method_text(text, argument)
    rule = METHODS[name].kind
    names = [field.name for field in fields(rule)]
    for option, value in numbers.items():
        if option not in names:
            raise ValueError(f"{option} is {quoted(value)}: {name} has {', '.join(names)}")
        if option in stated and stated[option] != value:
            raise ValueError(f"{option} is {value!r}: {argument} {method!r} says {stated[option]!r}, leave one out")
    return rule(**(stated | numbers)), base


def check_method(text: str, argument: str, *, shuffles: bool = False) -> None:
    """Raise ValueError, naming the argument, where a text names no steering method or numbers that it refuses.

    shuffles: also for a method that follows the reward's gradient, as scores that copies exchange have none.
    """
    try:
        method, base = with_base(text, argument)
        if shuffles and getattr(method, "follows_gradient", False):
            raise ValueError(
                "it follows the reward's gradient, which has no reward-blind twin; rws_decode.compare decodes it "
                "beside another strategy"
            )
        if base is not None:
            check_base(as_strategy(base))
    except ValueError as error:
        message = str(error)
        raise ValueError(
            message if message.startswith(argument) else f"{argument} is {text!r:.80}: {message}"
        ) from None


def check_base(strategy: Strategy) -> None:
    """Raise ValueError for a strategy that copies cannot follow in step."""
    if not abilities_of(strategy).plain:
        raise ValueError(
            f"strategy is {strategy!r}: copies stay in step, one that neither counts, masks again nor looks ahead "
            "is needed"
        )


def forwards_of(text: str, steps: int) -> int:
    """Return the most forwards that a method takes for a prompt, by its text. steps: of the decode."""
    return as_method(text).forwards(steps)


def reward_calls_of(text: str, steps: int) -> int:
    """Return the most texts that a method, and its copies' strategy, score for a prompt, gradients too."""
    method, base = with_base(text)
    # A strategy asks once for each step of each copy: the canvases of one step more, without the first.
    asks = base is not None and as_strategy(base).needs_reward
    return method.reward_calls(steps) + (method.forwards(steps + 1) - 1 if asks else 0)


def fitted(
    text: str, budget: float, cost: Callable[[str], float], unit: str = "forwards", argument: str = "method"
) -> str:
    """Return a text with the most copies whose cost stays within a budget, where it has no number: "best-of+rws:8".

    budget: for each prompt; cost: of the text with its number, rising with it, in `unit`. ValueError for a budget that
    the smallest such method exceeds, and for a method whose cost is always the same.

    >>> def cost(text): return forwards_of(text, 32)
    >>> [fitted(text, 128, cost) for text in ("best-of+rws:8", "particle-gibbs+sweeps:2", "best-of:2", "rws:8")]
    ['best-of:4+rws:8', 'particle-gibbs:2+sweeps:2', 'best-of:2', 'rws:8']
    """
    head, plus, rest = text.partition("+")
    if head not in METHODS:
        return text

    def fits(number: int) -> bool:
        return cost(f"{head}:{number}{plus}{rest}") <= budget

    few = 2 if head == "particle-gibbs" else 1
    least = f"{head}:{few}{plus}{rest}"
    method_text(least, argument)  # refuses in terms of the argument
    spent, many = cost(least), few + 1
    if spent == cost(f"{head}:{many}{plus}{rest}"):
        raise ValueError(f"{argument} is {text!r:.80}: no number changes its {unit}, give one yourself, as in {head}:3")
    if spent > budget:
        raise ValueError(f"budget is {budget}: {least} takes {spent:.4g} {unit}")
    while fits(many):
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if fits(middle) else (few, middle)
    return f"{head}:{few}{plus}{rest}"


def within_budget(strategies: Any, budget: float, unit: str, steps: int, seconds: Callable[[str], float]) -> Any:
    """Return strategies, in a list or a mapping, with the copies that a budget allows, as `compare` takes it."""
    if isinstance(strategies, str):
        return strategies  # refused
    if isinstance(strategies, Mapping):
        return dict(zip(strategies, within_budget([*strategies.values()], budget, unit, steps, seconds), strict=True))
    costs = {"forwards": partial(forwards_of, steps=steps), "reward_calls": partial(reward_calls_of, steps=steps)}
    cost = costs.get(unit, seconds)
    return [fitted(each, budget, cost, unit, "strategies") if isinstance(each, str) else each for each in strategies]
