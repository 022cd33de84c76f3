"""Checks of arguments: a whole number, a finite number, one of several names. Each returns the value that it accepts.

The message of the ValueError is one line: the argument, its value, what would be right. No library is imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, TypeVar

from rws_theory.show import quoted, shortened

T = TypeVar("T")


def whole(name: str, value: Any, least: int = 1, most: int | None = None, *, example: str = "") -> int:
    """Return a whole number from least to most, without end if None; True and False are none.

    >>> whole("step", 12, 0, 11)
    Traceback (most recent call last):
    ...
    ValueError: step is 12: a whole number from 0 to 11 is needed
    """
    number: Any = value
    right = isinstance(value, Integral) and not isinstance(value, bool)
    if not right or number < least or (most is not None and number > most):
        span = f", at least {least}," if most is None else f" from {least} to {most}"
        raise ValueError(_message(name, value, f"a whole number{span}", example))
    return int(number)


def finite(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    example: str = "",
) -> float:
    """Return a finite number within the bounds that are given; least and most belong to its range.

    >>> finite("eps", -1.0, above=0)
    Traceback (most recent call last):
    ...
    ValueError: eps is -1.0: a finite number above 0 is needed
    """
    number: Any = value
    right = isinstance(value, Real) and not isinstance(value, bool) and abs(number) <= sys.float_info.max
    right = right and (least is None or number >= least) and (most is None or number <= most)
    if not (right and (above is None or number > above) and (below is None or number < below)):
        bounds = {"at least": least, "above": above, "at most": most, "below": below}
        span = " and ".join(f"{words} {_shown(bound)}" for words, bound in bounds.items() if bound is not None)
        raise ValueError(_message(name, value, f"a finite number {span}".rstrip(), example))
    return number


def one_of(name: str, value: T, choices: Iterable[Any]) -> T:
    """Return a value that is among the choices.

    >>> one_of("padding", "top", ("left", "right"))
    Traceback (most recent call last):
    ...
    ValueError: padding is 'top': one of left, right is needed
    """
    known = list(choices)
    if value not in known:
        raise ValueError(_message(name, value, f"one of {shortened((str(each) or repr(each) for each in known), 12)}"))
    return value


def _shown(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def _message(name: str, value: object, right: str, example: str = "") -> str:
    return f"{name} is {quoted(value)}: {right} is needed" + (f", such as {example}" if example else "")
