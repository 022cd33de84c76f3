"""Options of a command that are the fields of a dataclass; cyclopts reads, checks and shows them.

A field's type says how a word is read: str, int, float or Path; `X | None` where nothing may be given; bool for a
switch, `bool | None` for one with a --no- form, `Literal[True] | None` for one without; `tuple[X, ...]` for several
words; Literal for a choice.

A dataclass may inherit options. A field that only gives an inherited option another default keeps its declaration.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

# What the help shows in place of a value, where nothing else is declared.
_METAVARS = {int: "N", float: "X", Path: "PATH", str: "TEXT"}


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

    def flag(self, name: str) -> str:
        """Return what the command line calls the option of a field."""
        if self.positional:
            return self.metavar or name.upper()
        return self.flags[-1] if self.flags else f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class _Group:
    kind: type
    title: str = ""
    help: Mapping[str, str] = field(default_factory=dict)
    one_of: bool = False
    default: Any = None


def option(default: Any = MISSING, help: str = "", **how: Any) -> Any:
    """Declare an option: the field `scale_min` is the option --scale-min, or an argument in place if `positional`.

    Without a default it must be given. The help shows its default. how: `metavar`, what the help shows in place of the
    value; `choices`; `least`, `most`, accepted numbers; `flags`, what the option is called if not after its field;
    `may_be_empty`, several words may be none; `instead_of`, the field of an option that cannot be given together with
    this one; `repeated`, each use of the option adds one word; `writes`, "file" or "directory": what the command writes
    at this path, which is tried before its work begins; `each`, several words are read as a tuple, one as itself.
    """
    return field(default=default, kw_only=True, metadata={"as": _Option(help, **how)})


def fixed(value: Any) -> Any:
    """Declare a field that has one value: an inherited option that this command does not offer."""
    return field(default=value, kw_only=True, metadata={"as": None})


def json_option(help: str = "print the result as JSON on standard output") -> Any:
    """Declare the switch --json."""
    return option(False, help)


def group(kind: type[T], title: str = "", *, default: T | None = None, **how: Any) -> Any:
    """Declare a field that holds a dataclass of options.

    title: of the group in the help, none if empty. default: an instance that holds the defaults of this command, in
    place of those of `kind`. how: `help`, for a `kind` whose fields are plain, the fields that become options, with
    their help, while the others keep their defaults; `one_of`, whether exactly one of the options must be given.
    """
    make = kind if default is None else lambda: default
    return field(default_factory=make, kw_only=True, metadata={"as": _Group(kind, title, default=default, **how)})


def read_options(kind: type[T], given: Mapping[str, Any]) -> T:
    """Return the dataclass with the values that a command line gave, and its defaults for the others.

    ValueError for a path where nothing can be written, as for what the class does not accept.
    """
    return _read(_Group(kind), given)


def as_command(function: Callable[..., Any], kind: Any = None) -> Callable[..., Any]:
    """Return a function as cyclopts calls it: the fields of its argument `options`, if it has one, as arguments.

    kind: the dataclass of the options, that of the argument's type if None.
    Where what is given sets other defaults, the dataclass has a class method `from_given` in place of `read_options`.
    A ValueError of the function names an option in place of the argument of Python that it sets.
    """
    kind = kind or get_type_hints(function).get("options")
    if kind is None:
        return function
    # In place come first, and among these what must be given.
    arguments = sorted(parameters(kind), key=lambda each: (each.kind, bool(each.kind == 0 and each.default == ())))
    signature = inspect.Signature(arguments)

    def call(*words: Any, **named: Any) -> Any:
        given = signature.bind(*words, **named).arguments
        try:
            return function(getattr(kind, "from_given", lambda given: read_options(kind, given))(given))
        except ValueError as error:
            raise ValueError(with_flags(str(error) or type(error).__name__, signature.parameters)) from error

    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in arguments}
    call.__name__, call.__doc__, call.__module__ = function.__name__, function.__doc__, function.__module__
    return call


def parameters(kind: type) -> Iterator[inspect.Parameter]:
    """Yield the options that a dataclass declares, and its groups, as parameters that cyclopts reads."""
    return _parameters(_Group(kind), None)


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


def with_flags(message: str, names: Container[str]) -> str:
    """Return a message with the command's option in place of an argument of Python that it sets."""

    def flag(match: re.Match[str]) -> str:
        name, value = match[1].replace("_", "-"), match[2].strip("'")
        return match[0] if match[1] not in names else f"--no-{name}" if value == "False" else f"--{name} {value}"

    return re.sub(r"(?<![\w./'(-])(\w+)=('[^']*'|[\w.-]*\w)", flag, message)


def _declared(part: _Group) -> Iterator[tuple[str, Any, _Option | _Group]]:
    """Yield name, default and declaration of every field that becomes an option or a group."""
    for each in fields(part.kind):
        inherited = [base.__dataclass_fields__.get(each.name) for base in part.kind.__mro__ if is_dataclass(base)]
        declared = [item.metadata["as"] for item in inherited if item is not None and "as" in item.metadata]
        default = each.default if part.default is None else getattr(part.default, each.name)
        if declared and declared[0] is not None:
            yield each.name, default, declared[0]
        elif not declared and each.name in part.help:
            yield each.name, default, _Option(part.help[each.name])


def _read(part: _Group, given: Mapping[str, Any]) -> Any:
    values: dict[str, Any] = {}
    named = {name: declared for name, _, declared in _declared(part) if isinstance(declared, _Option)}
    chosen = [name for name in named if name in given]
    if part.one_of and len(chosen) != 1:
        others = f", not {' and '.join(named[name].flag(name) for name in chosen)}" if chosen else ""
        raise ValueError(f"one of {', '.join(one.flag(name) for name, one in named.items())} is needed{others}")
    for name, _, declared in _declared(part):
        if isinstance(declared, _Group):
            values[name] = _read(declared, given)
        elif name in given:
            value = given[name]
            values[name] = value[0] if declared.each and isinstance(value, tuple) and len(value) == 1 else value
            kind = declared.instead_of or name
            if rivals := [each for each in chosen if each != name and kind in (each, named[each].instead_of)]:
                raise ValueError(f"{declared.flag(name)} is given beside {named[rivals[0]].flag(rivals[0])}: give one")
            if declared.writes and isinstance(value, Path):
                check_writable(declared.flag(name), value, declared.writes)
    return part.kind(**values) if part.default is None else replace(part.default, **values)


def _parameters(part: _Group, panel: Any) -> Iterator[inspect.Parameter]:
    from cyclopts import Group

    hints = get_type_hints(part.kind)
    for name, default, declared in _declared(part):
        if isinstance(declared, _Option):
            yield _parameter(name, hints[name], default, declared, panel)
        else:
            title = declared.title and f"{declared.title[0].upper()}{declared.title[1:]}"
            yield from _parameters(declared, Group.create_ordered(title) if title else panel)


def _parameter(name: str, hint: Any, default: Any, declared: _Option, panel: Any) -> inspect.Parameter:
    from cyclopts import Parameter, convert, validators

    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kind = next(part for part in parts if part is not NoneType)
    several = get_origin(kind) is tuple or declared.each
    value = get_args(kind)[0] if get_origin(kind) is tuple else kind
    value = Literal[declared.choices] if declared.choices else bool if value == Literal[True] else value
    how: dict[str, Any] = {"help": declared.help, "metavar": declared.metavar or _METAVARS.get(value)}
    if declared.positional or declared.flags:
        how["name"] = declared.flag(name) if declared.positional else declared.flags
    if panel is not None:
        how["group"] = panel
    if (declared.least, declared.most) != (None, None):
        how["validator"] = validators.Number(gte=declared.least, lte=declared.most)
    if several:
        how["consume_multiple"] = not declared.repeated and (declared.may_be_empty or 1)
    if declared.repeated:
        how["converter"] = convert  # every use of the option counts, not the last alone
    if kind is bool and NoneType in parts:
        how["negative"] = f"--no-{name.replace('_', '-')}"
    taken = tuple[value, ...] if several else value
    if declared.each and not isinstance(default, tuple) and default is not MISSING:
        default = (default,)  # where pydantic is loaded, cyclopts has it check defaults, too
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_ONLY if declared.positional else inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[taken | None if default is None else taken, Parameter(**how)],
        default=inspect.Parameter.empty if default is MISSING else default,
    )
