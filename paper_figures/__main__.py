"""Command line: `python -m paper_figures`, which draws all figures, and has every command of `rws` too."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from paper_figures.exhibits import NAMES
from rws_decode.__main__ import rws
from rws_decode.cli.app import closest, entry_points, run_line

__all__ = ["main", "rws"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run `python -m paper_figures` and return its exit status; words that name no command are those of `figures`."""
    return run_line("python -m paper_figures", argv, _figures_unless_a_command)


def _figures_unless_a_command(words: list[str]) -> list[str]:
    first, commands = words[0] if words else "", entry_points()
    begins = bool(first) and any(name.startswith(first) for name in NAMES)
    named = first in ("--version", *commands) or (not begins and closest(first, [*NAMES, *commands]) in commands)
    return words if named else ["figures", *words]


if __name__ == "__main__":
    sys.exit(main())
