"""The commands of `python -m paper_figures`: each a module with `run`, as `rws_theory.commands.line` has it."""

from __future__ import annotations

from rws_theory.commands.line import Command

__all__ = ["BENCH", "CALIBRATE", "SCORE", "TRAIN"]

# Entry points in pyproject.toml add these to `python -m rws_decode`, where users look for them.
BENCH = Command("paper_figures.commands.bench", "compare seconds and reward calls with the loops in use")
CALIBRATE = Command("paper_figures.commands.calibrate", "measure mean and deviation of a reward model's scores")
SCORE = Command("paper_figures.commands.score", "say with which probability strategies write given texts")
TRAIN = Command("paper_figures.commands.train", "train, measure and write the shipped models", True)
