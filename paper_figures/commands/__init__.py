"""The commands of `python -m paper_figures`: each a module with `add_arguments(parser)` and `run(args) -> int`."""

from __future__ import annotations

from rws_theory.commands.line import Command

__all__ = ["BENCH"]

# `python -m rws_decode bench`: an entry point in pyproject.toml adds it there, where users look for it.
BENCH = Command("paper_figures.commands.bench", "compare seconds and reward calls with the loops in use")
