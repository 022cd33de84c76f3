"""JSON from elsewhere as a dataclass: every value is of the type that its field declares, or is refused."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def read_value(kind: type[T], value: Any, name: str) -> T:
    """Return a value of JSON as `kind`: a dataclass, tuple, dict, number, text, or a union of these.

    ValueError, with the name of the field, for a field that is missing or unknown, for another type, a number that is
    not finite or beyond 64 bits, and a text that UTF-8 cannot hold.

    >>> read_value(tuple[int, ...], [1, 2], "ids")
    (1, 2)
    >>> read_value(tuple[int, ...], [1, "2"], "ids")
    Traceback (most recent call last):
        ...
    ValueError: ids is '2': int is needed
    """
    return _read(kind, value, name)


def _read(kind: Any, value: Any, name: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _read_first(get_args(kind), value, name)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        hints = get_type_hints(kind)
        names = [each.name for each in fields(kind)]
        for key in names:
            if key not in value:
                raise ValueError(f"{name} has no {key}")
        for key in value:
            if key not in names:
                raise ValueError(f"{name} has {str(key)[:40]!r}, which is unknown")
        return kind(**{key: _read(hints[key], value[key], key) for key in names})
    if origin is tuple and isinstance(value, list):
        return tuple(_read(get_args(kind)[0], each, name) for each in value)
    if origin is dict and isinstance(value, dict):
        return {_read(str, key, name): _read(get_args(kind)[1], each, name) for key, each in value.items()}
    if kind is float and type(value) in (int, float) and math.isfinite(float(value)):
        return float(value)
    if kind is int and type(value) is int and -(2**63) <= value < 2**63:
        return value
    if kind is str and type(value) is str and value.encode("utf-8") is not None:  # refuses surrogates
        return value
    if (kind is bool and type(value) is bool) or (kind is NoneType and value is None):
        return value
    raise ValueError(f"{name} is {str(value)[:40]!r}: {_called(kind)} is needed")


def _read_first(kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    # A number without a point is an int where the union has one, so that what is written is what is read.
    for kind in sorted(kinds, key=lambda each: each is float):
        plain = get_origin(kind) or kind
        fits = {tuple: list}.get(plain, dict if is_dataclass(kind) else plain)
        if type(value) is fits:
            return _read(kind, value, name)
    raise ValueError(f"{name} is {str(value)[:40]!r}: {' or '.join(map(_called, kinds))} is needed")


def _called(kind: Any) -> str:
    plain = get_origin(kind) or kind
    names = {tuple: "list", NoneType: "null", dict: "object"}
    return "object" if is_dataclass(kind) else names.get(plain, str(getattr(plain, "__name__", plain)))
