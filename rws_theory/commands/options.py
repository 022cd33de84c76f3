"""Options of a command, declared once as the fields of a dataclass: parser arguments and parsed values follow from it.

A field's type says how a word is read: str, int, float or Path; `X | None` where nothing may be given; bool for a
switch, `bool | None` for one with a --no- form, `Literal[True] | None` for one without; `tuple[X, ...]` for several
words; Literal for a choice.

A dataclass may inherit options. A field that only gives an inherited option another default keeps its declaration.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

# Where a parsed command line keeps the names of the options that it gave.
_GIVEN = "given by name"

# What the help shows in place of a value, where nothing else is declared.
_METAVARS = {int: "N", float: "X", Path: "PATH"}


@dataclass(frozen=True)
class _Option:
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    least: float | None = None
    most: float | None = None
    positional: bool = False
    flags: tuple[str, ...] = ()
    may_be_empty: bool = False
    instead_of: str = ""
    repeated: bool = False
    writes: Literal["", "file", "directory"] = ""
    each: bool = False


@dataclass(frozen=True)
class _Group:
    kind: type
    title: str
    help: Mapping[str, str]
    one_of: bool
    default: Any


def option(
    default: Any = MISSING,
    help: str = "",
    *,
    metavar: str | None = None,
    choices: tuple[str, ...] | None = None,
    least: float | None = None,
    most: float | None = None,
    positional: bool = False,
    flags: tuple[str, ...] = (),
    may_be_empty: bool = False,
    instead_of: str = "",
    repeated: bool = False,
    writes: Literal["", "file", "directory"] = "",
    each: bool = False,
) -> Any:
    """Declare an option: the field `scale_min` is the option --scale-min, or an argument in place if `positional`.

    Without a default it must be given. The help shows the default. least, most: accepted numbers. flags: what the
    option is called if not after its field. may_be_empty: several words may be none. instead_of: the field of
    an option that cannot be given together with this one. repeated: each use of the option adds one word. writes: what
    the command writes at this path, which is tried before its work begins. each: several words are read as a tuple, and
    the command does its work with each of them; one is read as itself.
    """
    declared = _Option(
        help, metavar, choices, least, most, positional, flags, may_be_empty, instead_of, repeated, writes, each
    )
    return field(default=default, kw_only=True, metadata={"as": declared})


def fixed(value: Any) -> Any:
    """Declare a field that has one value: an inherited option that this command does not offer."""
    return field(default=value, kw_only=True, metadata={"as": None})


def json_option(help: str = "print the result as JSON on standard output") -> Any:
    """Declare the switch --json."""
    return option(False, help)


@dataclass(frozen=True)
class JsonOptions:
    """The options of a command that only prints what there is."""

    json: bool = json_option()


def group(
    kind: type[T],
    title: str = "",
    *,
    help: Mapping[str, str] | None = None,
    one_of: bool = False,
    default: T | None = None,
) -> Any:
    """Declare a field that holds a dataclass of options.

    title: of the group in the help, none if empty. help: for a `kind` whose fields are plain, the fields that become
    options, with their help; the other fields keep their defaults. one_of: exactly one of the options must be given.
    default: an instance that holds the defaults of this command, in place of those of `kind`.
    """
    metadata = {"as": _Group(kind, title, help or {}, one_of, default)}
    return field(default_factory=kind if default is None else lambda: default, kw_only=True, metadata=metadata)


def add_options(parser: argparse._ActionsContainer, kind: type) -> None:
    """Add the options that a dataclass declares to a parser.

    >>> @dataclass(frozen=True)
    ... class Range:
    ...     k: int = option(1, "positions at each scale", least=0)
    ...     scale_min: float = option(help="the least scale")
    >>> parser = argparse.ArgumentParser(prog="p", add_help=False)
    >>> add_options(parser, Range)
    >>> read_options(Range, parser.parse_args(["--scale-min", "0.5"]))
    Range(k=1, scale_min=0.5)
    >>> read_options(Range, parser.parse_args(["--scale-min", "0.5", "--k", "-1"]))
    Traceback (most recent call last):
    ...
    ValueError: --k is -1: at least 0 is needed
    """
    _add_all(parser, kind, {}, None)


def read_options(kind: type[T], args: argparse.Namespace) -> T:
    """Return the dataclass with the values that were parsed.

    ValueError for a number below the least, and for a path where nothing can be written.
    """
    return _read(kind, {}, args)


def check_writable(name: str, path: Path, kind: Literal["file", "directory"]) -> None:
    """Raise ValueError unless a file or a directory can be written at a path; missing directories are no obstacle."""
    there = "directory" if path.is_dir() else "file" if path.is_file() else "device or pipe"
    if path.exists() and there != kind:
        raise ValueError(f"{name} is {path}: a {there}; a {kind} is needed")
    place = path if kind == "directory" else path.parent
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        with TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise ValueError(f"{name} is {path}: nothing can be written there ({error.strerror})") from error


def _declared(kind: type, help: Mapping[str, str]) -> Iterator[tuple[str, Any, _Option | _Group]]:
    """Yield name, default and declaration of every field that becomes an option or a group."""
    for each in fields(kind):
        inherited = [base.__dataclass_fields__.get(each.name) for base in kind.__mro__ if is_dataclass(base)]
        declared = [item.metadata["as"] for item in inherited if item is not None and "as" in item.metadata]
        if declared and declared[0] is not None:
            yield each.name, each.default, declared[0]
        elif not declared and each.name in help:
            yield each.name, each.default, _Option(help[each.name])


def _add_all(parser: argparse._ActionsContainer, kind: type, help: Mapping[str, str], defaults: Any) -> None:
    hints, options = get_type_hints(kind), list(_declared(kind, help))
    rivals = {declared.instead_of for _, _, declared in options if isinstance(declared, _Option)} - {""}
    exclusive = {name: parser.add_mutually_exclusive_group() for name in rivals}
    for name, default, declared in options:
        if isinstance(declared, _Group):
            target = parser.add_argument_group(declared.title) if declared.title else parser
            target = target.add_mutually_exclusive_group(required=True) if declared.one_of else target
            _add_all(target, declared.kind, declared.help, declared.default)
        else:
            target = exclusive.get(declared.instead_of or name, parser)
            _add(target, name, hints[name], default if defaults is None else getattr(defaults, name), declared)


def _read(kind: type[T], help: Mapping[str, str], args: argparse.Namespace) -> T:
    values: dict[str, Any] = {}
    for name, _, declared in _declared(kind, help):
        if isinstance(declared, _Group):
            values[name] = _read(declared.kind, declared.help, args)
            continue
        value = getattr(args, name)
        value = tuple(value) if isinstance(value, list) else value
        value = value[0] if declared.each and isinstance(value, tuple) and len(value) == 1 else value
        least, most = declared.least, declared.most
        for number in value if isinstance(value, tuple) else (value,):
            if least is not None and number is not None and not number >= least:
                raise ValueError(f"{_flag(name, declared)} is {number}: at least {least} is needed")
            if most is not None and number is not None and not number <= most:
                raise ValueError(f"{_flag(name, declared)} is {number}: at most {most} is possible")
            if isinstance(number, str | Path) and "\0" in str(number):
                raise ValueError(f"{_flag(name, declared)} is {str(number)!r}: it holds a null character")
        if declared.writes and isinstance(value, Path):
            check_writable(_flag(name, declared), value, declared.writes)
        values[name] = value
    return kind(**values)


def _flag(name: str, declared: _Option) -> str:
    if declared.flags:
        return declared.flags[-1]
    return name if declared.positional else f"--{name.replace('_', '-')}"


def _add(parser: argparse._ActionsContainer, name: str, hint: Any, default: Any, declared: _Option) -> None:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kind = next(part for part in parts if part is not NoneType)
    several = get_origin(kind) is tuple
    value = get_args(kind)[0] if several else kind
    words: dict[str, Any] = {"help": declared.help + _shown(default), "choices": declared.choices}
    words["metavar"] = declared.metavar or _METAVARS.get(value)
    if kind is bool:
        words["action"] = argparse.BooleanOptionalAction if NoneType in parts else "store_true"
    elif kind == Literal[True]:
        words["action"] = "store_true"
    elif get_origin(value) is Literal:
        words["choices"] = get_args(value)
    else:
        words["type"] = value
    words.setdefault("action", _Store)
    if declared.repeated:
        words["action"] = "append"
    elif several or declared.each:
        words["nargs"] = "*" if declared.positional or declared.may_be_empty else "+"
    if not declared.positional:
        words |= {"required": default is MISSING, "dest": name}
    given = {word: value for word, value in words.items() if value is not None}
    if default is not MISSING:
        given["default"] = default
    parser.add_argument(*(declared.flags or (_flag(name, declared),)), **given)


class _Store(argparse.Action):
    """Stores a value as argparse does, and that it was given."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, values)
        setattr(namespace, _GIVEN, {*given_options(namespace), self.dest})


def given_options(args: argparse.Namespace) -> set[str]:
    """Return the names of the options with a value that the command line gave, also where it is the default.

    >>> parser = argparse.ArgumentParser(prog="p", add_help=False)
    >>> add_options(parser, dataclass(type("Range", (), {"__annotations__": {"k": int}, "k": option(1)})))
    >>> given_options(parser.parse_args(["--k", "1"])), given_options(parser.parse_args([]))
    ({'k'}, set())
    """
    return set(getattr(args, _GIVEN, ()))


def _shown(default: Any) -> str:
    if default is MISSING or default is None or default == () or isinstance(default, bool):
        return ""
    values = default if isinstance(default, tuple) else (default,)
    return f" (default: {' '.join(f'{value:g}' if isinstance(value, float) else str(value) for value in values)})"
