"""The numbers of strategies and steering methods: each is declared once, in its field, and read from texts.

A text such as "rws:8", "rws-every:8+every:2" or "particles:8+beta:2" gives the first number after a colon, and others
by name after plus signs.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

Value = float | int | str


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
        """The range, and the default if there is one, as the help shows them.

        >>> Number("", "B", 1.0, False, "at least 0").limits
        ' (at least 0; default: 1)'
        """
        default = "" if self.needed else f"default: {shown(self.usual)}"
        words = "; ".join(word for word in (self.range, default) if word)
        return f" ({words})" if words else ""


def number(
    help: str, *, metavar: str = "X", usual: Value | None = None, default: Any = MISSING, range: str = ""
) -> Any:
    """Declare a number of a strategy: its option, its help, its place in texts and its messages follow from this.

    usual: a value for examples, `default` if not given; its type is that of the number. Without a default the number
    must be given. range: what the class accepts, for the help.

    >>> @dataclass(frozen=True)
    ... class Biased:
    ...     bias: float = number("added to every logit", metavar="NATS", default=0.5)
    >>> numbers_of(Biased)
    {'bias': Number(help='added to every logit', metavar='NATS', usual=0.5, needed=False, range='')}
    """
    example = default if usual is None else usual
    if example is MISSING:
        raise ValueError("usual is None: a number without a default needs one for examples, such as usual=4.0")
    declared = Number(help, metavar, example, default is MISSING, range)
    return field(default=default, metadata={"number": declared})


def numbers_of(rule: type) -> dict[str, Number]:
    """Return the numbers that a class declares, by name, in the order of its fields."""
    return {part.name: part.metadata["number"] for part in fields(rule) if "number" in part.metadata}


def example_of(name: str, numbers: dict[str, Number]) -> str:
    """Return a text that names a strategy with the numbers that it needs, or with its first.

    >>> every = {"scale": Number("", "S", 4.0, True), "every": Number("", "N", 2, True)}
    >>> example_of("rws-every", every)
    'rws-every:4+every:2'
    """
    (_, first), *others = numbers.items()
    more = [f"+{option}:{shown(one.usual)}" for option, one in others if one.needed]
    return "".join([f"{name}:{shown(first.usual)}", *more])


def shown(value: Value) -> str:
    """Return a value as texts give it.

    >>> shown(4.0), shown(0.9), shown("hard")
    ('4', '0.9', 'hard')
    """
    return value if isinstance(value, str) else f"{value:g}"


def parts_of(text: str) -> tuple[str, str | None, list[tuple[str, str]]]:
    """Return the name of a text, what stands after its colon (None without one), and its other parts.

    >>> parts_of("rws-every:8+every:2"), parts_of("margin")
    (('rws-every', '8', [('every', '2')]), ('margin', None, []))
    """
    head, *parts = text.split("+")
    name, colon, first = head.partition(":")
    others = [(option, value) for option, _, value in (part.partition(":") for part in parts)]
    return name, first if colon else None, others


def read_number(word: str, declared: Number) -> Value:
    """Return a word as the number that is declared; ValueError for another."""
    return type(declared.usual)(word)
