"""Choose the reward scale of each guide on validation prompts, over the paper's grid.

The paper (Appendix "Detailed Experimental Setup") selects the "optimal" s_R of each reward model from {0.01, ..., 32}
on a validation set. It does not say by which criterion. Here it is the net win rate (W - L) / N over the default in the
guide's own judgement, which Table 1 of the paper reports. Ties go to the higher mean score, then to the smaller scale.
Test prompts take no part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.runner.units import Unit
from paper_figures.studies.design.arms import answer_unit, measures_of
from paper_figures.studies.design.options import GRID
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.stages import Stages
from paper_figures.table import records


def select_scales(
    base: Unit,
    prompts: Prompts,
    guides: Sequence[str],
    stages: Stages,
    *,
    grid: Sequence[float] = GRID,
) -> dict[str, Any]:
    """Choose a reward scale for each guide on the validation prompts; of a dialogue, the first turn counts.

    The result, JSON-ready, has `source` and `digest` of the prompts, `validation`, how many there were, and `guides`,
    with these keys:

    - `guide`; `grid`, a row per scale: scale, n, win, draw, loss (shares of the validation prompts), net, and score
      (mean, raw); scales at which more units failed than at others have no row;
    - `chosen`, the best scale of the grid, which the study uses.

    ValueError is raised if every unit of a guide failed.
    """
    labels = {"split": "validation"}
    answer_units = [answer_unit(base, prompt, "default", labels=labels) for prompt in prompts.validation]
    answer_units += [
        answer_unit(base, prompt, "rws", guide, scale, labels=labels)
        for guide in guides
        for scale in grid
        for prompt in prompts.validation
    ]
    answers = stages.run("selection", answer_units)
    scores: dict[tuple[str, str, str], float] = {}
    measures: list[Unit] = []
    for guide in guides:
        if len(answers):
            asked = answers["guide"].isna() | (answers["guide"] == guide)
            measures += measures_of(base, answers[asked & answers["text"].notna()], [guide], None)
    for row in records(stages.run("selection measures", measures)):
        scores[row["judges"][0], row["prompt"], row["answer"]] = row["score"]
    selections = [_selected(guide, records(answers), scores, grid) for guide in guides]
    about = {"source": prompts.source, "digest": prompts.digest, "validation": len(prompts.validation)}
    return about | {"guides": selections}


def _selected(
    guide: str,
    answers: Sequence[Mapping[str, Any]],
    scores: Mapping[tuple[str, str, str], float],
    grid: Sequence[float],
) -> dict[str, Any]:
    def score(row: Mapping[str, Any]) -> float | None:
        return scores.get((guide, row["prompt"], row["text"]))

    default = {row["prompt"]: score(row) for row in answers if row["method"] == "default"}

    def outcome(row: Mapping[str, Any]) -> int | None:
        guided_score, default_score = score(row), default.get(row["prompt"])
        return (
            None
            if guided_score is None or default_score is None
            else (guided_score > default_score) - (guided_score < default_score)
        )

    by_scale: dict[float, dict[str, Mapping[str, Any]]] = {}
    for scale in grid:
        scale_rows = [row for row in answers if (row["guide"], row["reward_scale"]) == (guide, scale)]
        by_scale[scale] = {row["prompt"]: row for row in scale_rows if outcome(row) is not None}
    # Scales are compared on the same prompts. A scale at which more units failed than at others is left out.
    count = max(map(len, by_scale.values()))
    by_scale = {scale: scale_rows for scale, scale_rows in by_scale.items() if len(scale_rows) == count}
    common = set.intersection(*map(set, by_scale.values()))
    rows = []
    for scale, scale_rows in by_scale.items():
        nets = [outcome(row) or 0 for prompt, row in scale_rows.items() if prompt in common]
        if nets:
            shares = {name: nets.count(sign) / len(nets) for name, sign in (("win", 1), ("draw", 0), ("loss", -1))}
            mean = math.fsum(score(row) or 0.0 for prompt, row in scale_rows.items() if prompt in common) / len(nets)
            rows.append({"scale": scale, "n": len(nets)} | shares | {"net": sum(nets) / len(nets), "score": mean})
    if not rows:
        raise ValueError(f"guide {guide} has no result on the validation prompts: see the units that failed")
    chosen = max(rows, key=lambda row: (row["net"], row["score"], -row["scale"]))["scale"]
    return {"guide": guide, "grid": rows, "chosen": chosen}
