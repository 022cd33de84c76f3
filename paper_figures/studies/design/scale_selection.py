"""Choose the reward scale of each guide on validation prompts, over the paper's grid.

The paper (Appendix "Detailed Experimental Setup") selects the "optimal" s_R of each reward model from {0.01, ..., 32}
on a validation set. It does not say by which criterion. Here it is the net win rate (W - L) / N over the default in the
guide's own judgement, which Table 1 of the paper reports. Ties go to the higher mean score, then to the smaller scale.
Test prompts take no part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.runner.units import Unit
from paper_figures.studies.design.arms import answer_unit, measures_of
from paper_figures.studies.design.options import GRID
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.stages import Stages


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
    measures: list[Unit] = []
    for guide in guides if len(answers) else ():
        asked = answers["guide"].isna() | (answers["guide"] == guide)
        measures += measures_of(base, answers[asked & answers["text"].notna()], [guide], None)
    scores = stages.run("selection measures", measures)
    selections = [_selected(guide, answers, scores, grid) for guide in guides]
    about = {"source": prompts.source, "digest": prompts.digest, "validation": len(prompts.validation)}
    return about | {"guides": selections}


def _selected(guide: str, answers: pd.DataFrame, scores: pd.DataFrame, grid: Sequence[float]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    if len(scores):
        own = scores.loc[[judges[0] == guide for judges in scores["judges"]], ["prompt", "answer", "score"]]
        scored = answers.merge(own.rename(columns={"answer": "text"}).drop_duplicates(), on=["prompt", "text"])
        default = scored[scored["method"] == "default"].groupby("prompt")["score"].last()
        rws = scored[(scored["guide"] == guide) & scored["prompt"].isin(default.index)]
        table = rws.pivot_table("score", "prompt", "reward_scale", aggfunc="last")
        # Scales are compared on the same prompts. A scale at which more units failed than at others is left out.
        counts = table.notna().sum()
        table = table[[scale for scale in grid if counts.get(scale, 0) == counts.max()]].dropna()
        for scale in table if len(table) else ():
            nets = np.sign(table[scale] - default[table.index]).astype(int).tolist()
            shares = {name: nets.count(sign) / len(nets) for name, sign in (("win", 1), ("draw", 0), ("loss", -1))}
            mean = math.fsum(table[scale]) / len(nets)
            rows.append({"scale": scale, "n": len(nets)} | shares | {"net": sum(nets) / len(nets), "score": mean})
    if not rows:
        raise ValueError(f"guide {guide} has no result on the validation prompts: see the units that failed")
    chosen = max(rows, key=lambda row: (row["net"], row["score"], -row["scale"]))["scale"]
    return {"guide": guide, "grid": rows, "chosen": chosen}
