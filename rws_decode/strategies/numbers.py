"""The numbers of strategies and steering methods: each is declared once, in its field, and read from texts.

A text such as "rws:8", "rws-every:8+every:2" or "particles:8+beta:2" gives the first number after a colon, and others
by name after plus signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any

from rws_decode.common.arguments import use_plain_numbers
from rws_theory.checks import finite, whole

Value = float | int | str

_BOUNDS = {"least": "at least {}", "above": "above {}", "most": "at most {}", "below": "below {}"}
_BOTH: dict[tuple[str, ...], str] = {("least", "most"): "{} to {}", ("above", "below"): "between {} and {}"}


@dataclass(frozen=True)
class Number:
    """What a field declares of its number.

    help: what the number is; metavar: what the help shows in its place; usual: one for examples, of the number's type;
    needed: whether it has no default; range: the values that its class accepts, in words for the help.
    """

    help: str
    metavar: str
    usual: Value
    needed: bool
    range: str = ""

    @property
    def limits(self) -> str:
        """The range, and the default value if there is one, as the help shows them."""
        default = "" if self.needed else f"default: {shown(self.usual)}"
        words = "; ".join(word for word in (self.range, default) if word)
        return f" ({words})" if words else ""


def number(
    help: str,
    *,
    metavar: str = "X",
    usual: Value | None = None,
    default: Any = MISSING,
    check: Callable[..., Any] | None = None,
    **bounds: Any,
) -> Any:
    """Declare a number of a strategy: its option, its help, its place in texts and its messages follow from this.

    usual: a value for examples, `default` if not given; its type is that of the number. Without a default the number
    must be given. check, bounds: what `check_numbers` accepts, as for `checked`.

    >>> @dataclass(frozen=True)
    ... class Biased:
    ...     bias: float = number("added to every logit", metavar="NATS", default=0.5)
    >>> numbers_of(Biased)
    {'bias': Number(help='added to every logit', metavar='NATS', usual=0.5, needed=False, range='')}
    >>> number("share that stays", default=0.5, least=0, below=1).metadata["number"].limits
    ' (at least 0 and below 1; default: 0.5)'
    """
    example = default if usual is None else usual
    if example is MISSING:
        raise ValueError("usual is None: a number without a default needs one for examples, such as usual=4.0")
    ends = {name: bound for name, bound in bounds.items() if isinstance(bound, int | float)}
    words = _BOTH.get((*ends,), " and ".join(_BOUNDS[name] for name in ends)).format(*ends.values())
    declared = Number(help, metavar, example, default is MISSING, words)
    return field(default=default, metadata={"number": declared, "check": _check(example, check, bounds)})


def checked(default: Any, check: Callable[..., Any] | None = None, **bounds: Any) -> Any:
    """Declare a field that is no option, with what `check_numbers` accepts.

    check: of name and value, and the bounds; if None, `checks.whole` or `checks.finite` by the type of `default`.
    """
    return field(default=default, metadata={"check": _check(default, check, bounds)})


def _check(example: Any, check: Callable[..., Any] | None, bounds: dict[str, Any]) -> Callable[..., Any]:
    return partial(check or (whole if isinstance(example, int) else finite), **bounds)


def finite_or_infinite(name: str, value: float) -> None:
    """Raise ValueError unless the value is finite, or inf."""
    if value != math.inf:
        finite(name, value, example="1.0, or inf")


def check_numbers(rule: Any) -> None:
    """Raise ValueError for a number of a strategy or method that its field does not accept.

    >>> @dataclass(frozen=True)
    ... class Biased:
    ...     bias: float = number("added to every logit", metavar="NATS", default=0.5, least=0)
    ...     __post_init__ = check_numbers
    >>> Biased(-1.0)
    Traceback (most recent call last):
    ...
    ValueError: bias is -1.0: a finite number at least 0 is needed
    """
    for part in fields(rule):
        if "check" in part.metadata:
            use_plain_numbers(rule, part.name)
            part.metadata["check"](part.name, getattr(rule, part.name))


def numbers_of(rule: type) -> dict[str, Number]:
    """Return the numbers that a class declares, by name, in the order of its fields."""
    return {part.name: part.metadata["number"] for part in fields(rule) if "number" in part.metadata}


def example_of(name: str, numbers: dict[str, Number]) -> str:
    """Return a text that names a strategy with the numbers that it needs, or with its first: rws-every:4+every:2."""
    (_, first), *others = numbers.items()
    more = [f"+{option}:{shown(one.usual)}" for option, one in others if one.needed]
    return "".join([f"{name}:{shown(first.usual)}", *more])


def shown(value: Value) -> str:
    """Return a value as texts give it."""
    return value if isinstance(value, str) else f"{value:g}"


def parts_of(text: str) -> tuple[str, str | None, list[tuple[str, str]]]:
    """Return the name of a text, what stands after its colon (None without one), and its other parts."""
    head, *parts = text.split("+")
    name, colon, first = head.partition(":")
    others = [(option, value) for option, _, value in (part.partition(":") for part in parts)]
    return name, first if colon else None, others
