"""Command line: `python -m rws_decode COMMAND` and `rws COMMAND`, every command of the installed packages."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rws_decode.cli.app import run_line


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status (`rws_decode.cli.exits.ended`)."""
    return run_line("python -m rws_decode", argv)


def rws(argv: Sequence[str] | None = None) -> int:
    """Run the console command `rws` and return its exit status."""
    return run_line("rws", argv)


if __name__ == "__main__":
    sys.exit(main())
