"""Command line: `python -m rws_theory COMMAND`, one module per command, imported when its command is called."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

from rws_theory import __version__

__all__ = ["COMMANDS", "Command", "main"]


class Command(NamedTuple):
    """A subcommand: its module, with `add_arguments(parser)` and `run(args) -> int`, and a line on what it does."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "claims": Command("rws_theory.commands.claims", "every statement of the paper that can be checked, with a verdict"),
    "crossings": Command(
        "rws_theory.commands.crossings", "scales at which two positions exchange the order of their confidences"
    ),
    "path": Command("rws_theory.commands.path", "the k most confident positions at every scale of a range, with proof"),
    "bench": Command("rws_theory.commands.bench", "speed of certified crossings, and miscounts of other root finders"),
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and one line; argparse would print its usage first."""
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, SystemExit(2) with one line on standard error for bad input.

    130 where it is interrupted, 141 where the reader of standard output goes away, as shells count signals. Only the
    module of the command named first in `argv` is imported, so that --help answers at once.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _Parser(
        prog="python -m rws_theory", description="Mathematics of logit scaling in masked diffusion decoding."
    )
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    try:
        for name, command in COMMANDS.items():
            subparser = subparsers.add_parser(name, help=command.summary, description=command.summary)
            if words[:1] == [name]:
                import_module(command.module).add_arguments(subparser)
        try:
            args = parser.parse_args(words)
            return import_module(COMMANDS[args.command].module).run(args)
        finally:
            # What standard output cannot take is told here, not by a traceback at exit.
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        _give_up_output()
        if isinstance(error, BrokenPipeError):
            return 141
        parser.error(str(error))


def _give_up_output() -> None:
    out = sys.stdout
    if out is None:
        return
    try:
        out.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


if __name__ == "__main__":
    sys.exit(main())
