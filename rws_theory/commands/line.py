"""The command line that all packages share: a table of commands, and a function that runs one of them.

A command is a module with `run(options) -> int`, whose type of `options`, a dataclass, declares what can be given
(`options.option`). One that must see the words themselves has `add_arguments(parser)` and `run(args)` instead. Only the
module of the command that is called is imported, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, get_type_hints

from rws_theory import __version__
from rws_theory.commands.exits import ended, error_line
from rws_theory.commands.options import add_options, read_options
from rws_theory.commands.progress import notes, tell
from rws_theory.extras import required

RESUMES = "; the same command continues where it stopped"


class Command(NamedTuple):
    """A command: the name of its module, and one line on what it does.

    resumes: whether the same command, given again, continues where it was stopped.
    """

    module: str
    summary: str
    resumes: bool = False


class Parser(argparse.ArgumentParser):
    """An argparse parser that reports bad input in one line and names the word that may be meant.

    fill: adds the arguments when they are first needed, so that only the command that is called is imported.
    """

    def __init__(
        self, *args: Any, fill: Callable[[argparse.ArgumentParser], None] | None = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._fill = fill
        if self.prog.split()[-1] in os.environ.get("COMP_LINE", "").split():  # see `run_line`
            self._filled()

    def _filled(self) -> None:
        fill, self._fill = self._fill, None
        if fill is not None:
            fill(self)

    # typeshed declares overloads, which one signature for both cannot match.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Report an unknown option before a missing one: the unknown one is often the missing one misspelt."""
        self._filled()
        options = [option for action in self._actions for option in action.option_strings]
        words = [] if self._subparsers or args is None else list(args)
        for word in words[: words.index("--") if "--" in words else None]:
            name = word.partition("=")[0]
            if name.startswith("--") and " " not in word and not any(option.startswith(name) for option in options):
                close = get_close_matches(name, options, 1)
                self.error(f"unrecognized arguments: {name}{f' (is {close[0]} meant?)' if close else ''}")
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} ({_advice(value, action.choices)})")

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and one line; argparse would print its usage first."""
        self.exit(2, f"{error_line(self.prog, message)}\n")


def run_line(
    prog: str,
    description: str,
    commands: Mapping[str, Command],
    argv: Sequence[str] | None = None,
    *,
    group: str | None = None,
) -> int:
    """Run the command that `argv` names and return its exit status, as `exits.ended` defines it.

    Without words, print the help and return 0. argv: the words of this process if None. Bad options end in
    SystemExit(2), and `--help` and `--version` in SystemExit(0), as in argparse.

    group: a group of entry points. Each of its entry points names a `Command`, which an installed package adds to the
    table. A command of the table cannot be replaced.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    name = words[0] if words else ""

    table = dict(commands)
    if name not in table and group is not None:
        table |= {name: command for name, command in _extensions(group).items() if name not in table}

    def run() -> int:
        parser = Parser(prog=prog, description=description)
        parser.add_argument("--version", action="version", version=__version__)
        subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
        for other, command in table.items():
            sentence = f"{command.summary[:1].upper()}{command.summary[1:]}."
            fill = partial(fill_parser, command.module)
            subparsers.add_parser(other, help=command.summary, description=sentence, fill=fill)
        if "_ARGCOMPLETE" in os.environ:  # a shell asks what can follow the words of COMP_LINE
            required("argcomplete", "completion").autocomplete(parser)
        if not words:
            parser.print_help()
            return 0
        args = parser.parse_args(words)
        with notes():
            module = import_module(table[args.command].module)
            kind = _options_of(module)
            try:
                return module.run(args if kind is None else read_options(kind, args))
            except ValueError as error:
                raise ValueError(with_flags(str(error) or type(error).__name__, vars(args))) from error

    named = table.get(name)
    return ended(prog if named is None else f"{prog} {name}", run, RESUMES if named and named.resumes else "")


def with_flags(message: str, names: Container[str]) -> str:
    """Return a message with the command's option in place of an argument of Python that it sets.

    >>> with_flags("choose chat=False or cfg=0.0", {"chat", "cfg"})
    'choose --no-chat or --cfg 0.0'
    """

    def flag(match: re.Match[str]) -> str:
        name, value = match[1].replace("_", "-"), match[2].strip("'")
        return match[0] if match[1] not in names else f"--no-{name}" if value == "False" else f"--{name} {value}"

    return re.sub(r"(?<![\w./'(-])(\w+)=('[^']*'|[\w.-]*\w)", flag, message)


def closest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that a misspelt or shortened word most likely means, or None.

    >>> closest("crosings", ["claims", "crossings"]), closest("cros", ["claims", "crossings"]), closest("x", ["claims"])
    ('crossings', 'crossings', None)
    """
    names = list(names)
    close = get_close_matches(word.lower(), names, 1) or [name for name in names if word and name.startswith(word)]
    return close[0] if close else None


def fill_parser(module: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a command, by the name of its module, to a parser."""
    command = import_module(module)
    kind = _options_of(command)
    command.add_arguments(parser) if kind is None else add_options(parser, kind)


def _options_of(command: ModuleType) -> type | None:
    """Return the dataclass that a command's `run` takes, None where it takes the parsed words."""
    return get_type_hints(command.run).get("options")


def _extensions(group: str) -> dict[str, Command]:
    """Return the commands that installed packages add to a group; name on standard error what cannot be loaded."""
    from importlib.metadata import entry_points

    table: dict[str, Command] = {}
    for point in entry_points(group=group):
        try:
            command = point.load()
        except (ImportError, AttributeError) as error:
            tell(f"note: command {point.name} ({point.value}) cannot be loaded: {error}")
            continue
        if isinstance(command, Command):
            table[point.name] = command
        else:
            tell(f"note: command {point.name} ({point.value}) is no rws_theory.commands.line.Command")
    return table


def _advice(value: object, choices: Iterable[object]) -> str:
    names = [str(choice) for choice in choices]
    alone, colon, _ = str(value).partition(":")
    if colon and alone in names:
        return f"give {alone} alone here, and its number by the option that --help names"
    meant = closest(str(value), names)
    return f"{f'is {meant} meant? ' if meant else ''}choose from {', '.join(names)}"
