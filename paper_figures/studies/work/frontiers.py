"""Do the work of the evidence study's frontiers: search, for all prompts of a batch at once, the best texts.

A row has `points`, pairs of log p and reward, and `lines`, pairs of beta and the largest log p + beta R of all texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.studies.work.evidence import exact_world
from rws_theory.worlds import frontiers


def work(units: Sequence[Unit]) -> list[Rows]:
    """Return the row of each unit of one batch."""
    predictor, guide = exact_world(units[0])
    contexts = [predictor.encode_prompt(unit.prompt) for unit in units]
    curves = frontiers(predictor.world, guide.world_reward, units[0].length, contexts, units[0].strategy["betas"])
    return [
        [{"points": [[p.log_prob, p.reward] for p in curve.points], "lines": [list(line) for line in curve.lines]}]
        for curve in curves
    ]
