"""Find a command by its entry point, and run it: cyclopts reads its words, `exits` says how it ends.

A command is a function with types and a docstring; what it returns is the exit status, None is 0. Only the command that
is called is imported. `rws --help` reads the group and the first line of each from its source.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rws_decode.cli.exits import ended
from rws_decode.cli.options import as_command
from rws_decode.cli.progress import notes, tell
from rws_theory import __version__

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

    from cyclopts import App

T = TypeVar("T")

ENTRY_POINTS = "rws.commands"
GROUPS = ("Decode", "Inspect", "Study", "Theory", "Maintain")  # in the help, before those of other packages
RESUMES = "; the same command continues where it stopped"
_ABOUT = "Reward-Weighted Sampling: decode, prove, reproduce."
_COMPLETE = "--install-completion"


class About(NamedTuple):
    """What a module says of its command: a line of help, its GROUP, and whether it RESUMES where it was stopped."""

    help: str
    group: str
    resumes: bool


def run_line(prog: str, argv: Sequence[str] | None = None, usual: Callable[[list[str]], list[str]] = list) -> int:
    """Run the command that `argv` names, by default the words of this process, and return its exit status.

    prog: what messages begin with. usual: makes of the words those that name a command.
    """
    words = usual(list(sys.argv[1:] if argv is None else argv))
    name, *rest = words or ["--help"]
    commands = entry_points()

    def run() -> int:
        if name in ("--help", "-h"):
            print(_overview(prog, commands.values()))
        elif name == "--version":
            print(__version__)
        elif name == _COMPLETE:
            return _called(complete_app(prog), words) or 0
        elif name not in commands:
            meant = closest(name, commands)
            advice = f" (is {meant} meant?)" if meant else f"; {prog} --help lists the commands"
            raise ValueError(f"no command {name!r}{advice}")
        else:
            app = _app(prog)
            if _add(app, commands[name]) and not rest:
                raise ValueError(f"a name is missing; {prog} {name} --help lists them")
            return _called(app, [name, *_texts(rest)]) or 0
        return 0

    if name not in commands:
        return ended(prog, run)
    description = about(commands[name])
    return ended(f"{prog} {name}", run, RESUMES if description is not None and description.resumes else "")


def entry_points() -> dict[str, EntryPoint]:
    """Return the commands of installed packages by name; none replaces one of ours."""
    from importlib import metadata

    found: dict[str, EntryPoint] = {}
    for point in sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda each: not _is_ours(each.dist)):
        found.setdefault(point.name, point)
    return found


@cache
def about(point: EntryPoint) -> About | None:
    """Read what a command's module says of it, without importing the module; None where there is none."""
    try:
        spec = find_spec(point.module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        return None
    fields: dict[str, Any] = {}
    for part in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(part, ast.FunctionDef) and part.name == point.attr:
            fields["help"] = (ast.get_docstring(part) or "").partition("\n")[0]
        elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            if isinstance(part.value, ast.Constant):
                fields[part.targets[0].id] = part.value.value
            elif part.targets[0].id == point.attr and isinstance(part.value, ast.Call):  # an App
                given = {each.arg: each.value for each in part.value.keywords}
                fields["help"] = ast.literal_eval(given["help"]) if "help" in given else ""
    package = point.module.partition(".")[0]
    return About(fields.get("help", ""), fields.get("GROUP", package), fields.get("RESUMES", False))


def complete_app(prog: str) -> App:
    """Return the application with every command that can be imported, as a shell completes it."""
    app = _app(prog)
    app.register_install_completion_command(_COMPLETE)
    for point in entry_points().values():
        try:
            _add(app, point)
        except (ImportError, AttributeError) as error:
            tell(f"note: command {point.name} ({point.value}) cannot be loaded: {error}")
    return app


def read_words(kind: type[T], words: Sequence[str]) -> T:
    """Return a dataclass of options as a command reads them; ValueError for words that it does not take."""
    app = _app(kind.__name__)
    app.default(as_command(lambda options: options, kind))
    return _called(app, words)


def closest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that a misspelt or shortened word most likely means, or None."""
    names = list(names)
    close = get_close_matches(word.lower(), names, 1) or [name for name in names if word and name.startswith(word)]
    return close[0] if close else None


@cache
def _is_ours(distribution: Distribution | None) -> bool:
    return distribution is not None and distribution.name == "rws-toolkit"


def _add(app: App, point: EntryPoint) -> bool:
    """Register a command, and return whether it has commands of its own."""
    from cyclopts import App

    target = point.load()
    if isinstance(target, App):
        app.command(target, name=point.name)
        return True
    summary = (inspect.getdoc(target) or "").partition("\nParameters\n")[0].strip()
    paragraphs = [" ".join(each.split()) for each in summary.split("\n\n")]
    app.command(as_command(target), name=point.name, help="\n\n".join(paragraphs))
    return False


def _app(prog: str) -> App:
    from cyclopts import App, Parameter

    usual = Parameter(negative=(), consume_multiple=1, allow_repeating=True, converter=_converted, show_default=_shown)
    return App(
        prog,
        default_parameter=usual,
        help_format="plaintext",
        suppress_keyboard_interrupt=False,
        version=__version__,
    )


def _called(app: App, words: Sequence[str]) -> Any:
    """Call the command that the words name; ValueError in one line for words that it does not take."""
    from cyclopts import CycloptsError

    with notes():
        try:
            return app(words, exit_on_error=False, print_error=False, result_action="return_value")
        except CycloptsError as error:
            raise ValueError(str(error)) from error
        except SystemExit as end:  # rich ends so where nobody reads the help
            raise end.__context__ or end from None


def _converted(kind: Any, tokens: Any) -> Any:
    """Convert as cyclopts does, but refuse 1.5 for a whole number; of a list that is given twice the last counts."""
    from cyclopts import CoercionError, convert

    if tokens and tokens[0].keyword is not None:  # the words of each use are numbered from 0
        tokens = tokens[max(place for place, token in enumerate(tokens) if token.index == 0) :]
    if int in (kind, *getattr(kind, "__args__", ())):
        for token in tokens:
            try:
                int(token.value)
            except ValueError:
                raise CoercionError(token=token, target_type=int) from None
    return convert(kind, tokens)


def _shown(default: Any) -> str | None:
    """Return a default as the help has it, None for one that is left out."""
    if default is None or default is False or default is True or default == ():
        return None
    values = default if isinstance(default, tuple) else (default,)
    return " ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _texts(words: list[str]) -> list[str]:
    """Join what looks like an option and has a space, such as a prompt, to the option before it."""
    joined: list[str] = []
    for word in words:
        if (
            word.startswith("-")
            and " " in word
            and "=" not in word.split()[0]
            and joined[-1:]
            and joined[-1][:2] == "--"
        ):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _overview(prog: str, points: Iterable[EntryPoint]) -> str:
    """Return the help of all commands, in groups, at most 80 columns wide."""
    rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
    for point in points:
        description = about(point)
        if description is None:
            tell(f"note: command {point.name} ({point.value}) cannot be loaded: there is no module {point.module}")
        else:
            rows.setdefault(description.group, []).append((point.name, description.help))
    lines = [f"usage: {prog} COMMAND ...", "", _ABOUT]
    width = max(len(name) for listed in rows.values() for name, _ in listed) + 4
    for group, listed in rows.items():
        lines += ["", group] if listed else []
        for name, help in sorted(listed):
            lines += textwrap.wrap(help, 80, initial_indent=f"  {name}".ljust(width), subsequent_indent=" " * width)
    more = f"{prog} COMMAND --help: its options. {prog} {_COMPLETE}: a shell completes the commands."
    return "\n".join([*lines, "", *textwrap.wrap(more, 80)])
