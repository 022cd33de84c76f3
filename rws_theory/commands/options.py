"""Options of a command, declared once as the fields of a dataclass: parser arguments and parsed values follow from it.

A field's type says how a word is read: str, int, float or Path; `X | None` where nothing may be given; bool for a
switch, `bool | None` for one with a --no- form; `tuple[X, ...]` for several words; Literal for a choice.
"""

from __future__ import annotations

import argparse
from dataclasses import MISSING, Field, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["add_options", "group", "option", "read_options"]

T = TypeVar("T")

# What the help shows in place of a value, where nothing else is declared.
_METAVARS = {int: "N", float: "X", Path: "PATH"}


def option(
    default: Any = MISSING,
    help: str = "",
    *,
    metavar: str | None = None,
    choices: tuple[str, ...] | None = None,
    least: float | None = None,
    positional: bool = False,
) -> Any:
    """Declare an option: the field `scale_min` is the option --scale-min, or an argument in place if `positional`.

    Without a default it must be given. The default is added to `help`. least: the least number that is accepted.
    """
    words = {"help": help, "metavar": metavar, "choices": choices}
    return field(default=default, metadata={"words": words, "least": least, "positional": positional})


def group(kind: type[T], title: str = "", *, one_of: bool = False, default: T | None = None) -> Any:
    """Declare a field that holds a dataclass of options.

    title: of the group in the help, none if empty. one_of: exactly one of the options must be given. default: an
    instance whose values are the defaults here, in place of the defaults of `kind`.
    """
    metadata = {"group": kind, "title": title, "one_of": one_of, "default": default}
    return field(default_factory=kind if default is None else lambda: default, metadata=metadata)


def add_options(parser: argparse._ActionsContainer, kind: type, default: Any = None) -> None:
    """Add the options that a dataclass declares to a parser.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shape:
    ...     length: int = option(64, "answer tokens", least=1)
    >>> parser = argparse.ArgumentParser(prog="p", add_help=False)
    >>> add_options(parser, Shape)
    >>> read_options(Shape, parser.parse_args(["--length", "8"]))
    Shape(length=8)
    >>> read_options(Shape, parser.parse_args(["--length", "0"]))
    Traceback (most recent call last):
    ...
    ValueError: --length is 0: at least 1 is needed
    """
    hints = get_type_hints(kind)
    for each in fields(kind):
        if "group" in each.metadata:
            target = parser.add_argument_group(each.metadata["title"]) if each.metadata["title"] else parser
            if each.metadata["one_of"]:
                target = target.add_mutually_exclusive_group(required=True)
            add_options(target, each.metadata["group"], each.metadata["default"])
        else:
            _add(parser, each, hints[each.name], each.default if default is None else getattr(default, each.name))


def read_options(kind: type[T], args: argparse.Namespace) -> T:
    """Return the dataclass with the values that were parsed; ValueError for a number below the least."""
    values: dict[str, Any] = {}
    for each in fields(kind):  # pyright: ignore[reportArgumentType]
        if "group" in each.metadata:
            values[each.name] = read_options(each.metadata["group"], args)
            continue
        value = getattr(args, each.name)
        least = each.metadata["least"]
        for number in value if isinstance(value, list) else [value]:
            if least is not None and number is not None and not number >= least:
                raise ValueError(f"{_flag(each)} is {number}: at least {least} is needed")
        values[each.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def _flag(each: Field[Any]) -> str:
    return each.name if each.metadata["positional"] else f"--{each.name.replace('_', '-')}"


def _add(parser: argparse._ActionsContainer, each: Field[Any], hint: Any, default: Any) -> None:
    optional = get_origin(hint) in (Union, UnionType)
    (kind,) = [part for part in get_args(hint) if part is not NoneType] if optional else [hint]
    words: dict[str, Any] = dict(each.metadata["words"])
    words["help"] += _shown(default)
    words["metavar"] = words["metavar"] or _METAVARS.get(get_args(kind)[0] if get_origin(kind) is tuple else kind)
    if default is not MISSING:
        words["default"] = default
    if kind is bool:
        words["action"] = argparse.BooleanOptionalAction if optional else "store_true"
    elif get_origin(kind) is tuple:
        words |= {"nargs": "*" if each.metadata["positional"] else "+", "type": get_args(kind)[0]}
    elif get_origin(kind) is Literal:
        words["choices"] = get_args(kind)
    else:
        words["type"] = kind
    if not each.metadata["positional"]:
        words["required"] = default is MISSING
    parser.add_argument(_flag(each), **{name: word for name, word in words.items() if word is not None})


def _shown(default: Any) -> str:
    if default is MISSING or default is None or default == () or isinstance(default, bool):
        return ""
    values = default if isinstance(default, tuple) else (default,)
    return f" (default: {' '.join(f'{value:g}' if isinstance(value, float) else str(value) for value in values)})"
