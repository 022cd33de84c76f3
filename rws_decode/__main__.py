"""Command line: `python -m rws_decode COMMAND`, one module per command, imported when its command is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from rws_decode.common.exits import ended

__all__ = ["COMMANDS", "Command", "main"]


class Command(NamedTuple):
    """A subcommand: its module, with `add_arguments(parser)` and `run(args) -> int`, and a line on what it does.

    resumes: whether the same command, given again, goes on where it was stopped.
    """

    module: str
    summary: str
    resumes: bool = False


COMMANDS: dict[str, Command] = {
    "generate": Command("rws_decode.commands.generate", "decode the answer to one prompt"),
    "scale-path": Command(
        "rws_decode.commands.scale_path", "every output of any constant factor, or any reward scale, for one prompt"
    ),
    "replay": Command("rws_decode.commands.replay", "repeat a run from its trace, and say where it parts from it"),
    "diff": Command("rws_decode.commands.diff", "say where two runs part and why, from their traces"),
    "devices": Command(
        "rws_decode.commands.devices", "how far the same decodes part on other devices, dtypes, batches and threads"
    ),
    "convert": Command("rws_decode.commands.convert", "write a LLaDA or Dream checkpoint under transformers' names"),
    "calibrate": Command("rws_decode.commands.calibrate", "measure the mean and deviation of a reward model's scores"),
    "train": Command("rws_decode.commands.train", "train, measure and write the shipped models", True),
}


class _Parser(argparse.ArgumentParser):
    # typeshed declares overloads, which one signature for both cannot match.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Name an option that there is not before one that is missing: the one is often the other misspelt."""
        known = [option for action in self._actions for option in action.option_strings]
        words = [] if self._subparsers or args is None else list(args)
        for word in words[: words.index("--") if "--" in words else None]:
            name = word.partition("=")[0]
            if name.startswith("--") and " " not in word and not any(option.startswith(name) for option in known):
                close = get_close_matches(name, known, 1)
                self.error(f"unrecognized arguments: {name}{f' (is {close[0]} meant?)' if close else ''}")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and one line, without the usage that argparse would print first."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, or 2 with one line on standard error for bad input.

    130, 143 and 141 where it was interrupted, terminated, or nobody read on (`exits.ended`).
    """
    return run_line("python -m rws_decode", "Decode text with masked diffusion language models.", COMMANDS, argv)


def run_line(prog: str, description: str, commands: dict[str, Command], argv: Sequence[str] | None) -> int:
    """Run one of the commands. Only the module of the command named first is imported: --help answers at once."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _Parser(prog=prog, description=description)
    named = commands.get(words[0]) if words else None

    def run() -> int:
        subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
        for name, command in commands.items():
            subparser = subparsers.add_parser(name, help=command.summary, description=command.summary)
            if command is named:
                import_module(command.module).add_arguments(subparser)
        args = parser.parse_args(words)
        return import_module(commands[args.command].module).run(args)

    note = "; the same command goes on where it was" if named is not None and named.resumes else ""
    return ended(parser.prog if named is None else f"{parser.prog} {words[0]}", run, note)


if __name__ == "__main__":
    sys.exit(main())
