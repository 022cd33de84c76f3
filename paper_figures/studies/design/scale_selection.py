"""Choose the reward scale of each guide on validation prompts, over the paper's grid and over the whole axis.

The paper (Appendix "Detailed Experimental Setup") selects the "optimal" s_R of each reward model from {0.01, ..., 32}
on a validation set. It does not say by which criterion. Here it is the net win rate (W - L) / N over the default in the
guide's own judgement, which Table 1 of the paper reports. Ties go to the higher mean score, then to the smaller scale.
Over the axis the criterion is a step function of s_R, which complete scale paths give exactly (`rws_decode.scales`). It
shows what a grid misses. Test prompts take no part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from paper_figures.runner.units import Unit
from paper_figures.studies.design.arms import answer_unit, measures_of
from paper_figures.studies.design.options import GRID
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.stages import Stages
from paper_figures.table import records
from rws_theory.checks import one_of

_EXACT = ("log-odds", "float64")  # what paths rank by


def select_scales(
    base: Unit,
    prompts: Prompts,
    guides: Sequence[str],
    stages: Stages,
    *,
    grid: Sequence[float] = GRID,
    paths: int = 0,
    budget: int | None = None,
    by: str = "grid",
) -> dict[str, Any]:
    """Choose a reward scale for each guide on the validation prompts; of a dialogue, the first turn counts.

    The result, JSON-ready, has `by`, `source` and `digest` of the prompts, `validation`, how many there were, and
    `guides`, with these keys:

    - `guide`; `grid`, a row per scale: scale, n, win, draw, loss (shares of the validation prompts), net, and score
      (mean, raw); scales at which more units failed than at others have no row;
    - `best`, the best scale of the grid;
    - `path`, about the whole axis, on the prompts whose paths were followed (`best_interval`); None if there are none;
    - `chosen`, the scale that the study uses.

    `paths` is the number of these prompts whose complete scale paths are followed. Paths run from the least to the
    greatest scale of the grid, with at most `budget` forwards each. `by` is "grid", or "path" for the geometric middle
    of the best stretch. Paths need the exact ranking (log-odds in float64). If `base` has another ranking, none is
    followed. ValueError is raised if every unit of a guide failed, and with "path" if every path failed;
    `check_selection` raises it before anything is decoded.
    """
    paths = paths if (base.ranking, base.precision) == _EXACT else 0
    labels = {"split": "validation"}
    answer_units = [answer_unit(base, prompt, "default", labels=labels) for prompt in prompts.validation]
    answer_units += [
        answer_unit(base, prompt, "rws", guide, scale, labels=labels)
        for guide in guides
        for scale in grid
        for prompt in prompts.validation
    ]
    answers = stages.run("selection", answer_units)
    low, high = min(grid), max(grid)
    path_strategy = {"name": "scale-path", "low": low, "high": high, "budget": budget}
    path_units = [
        replace(
            answer_unit(base, prompt, "rws", guide, labels=labels | {"method": "scale-path"}), strategy=path_strategy
        )
        for guide in guides
        for prompt in prompts.validation[:paths]
    ]
    pieces = stages.run("paths", path_units) if high > low else stages.run("paths", [])
    scores: dict[tuple[str, str, str], float] = {}
    measures: list[Unit] = []
    for guide in guides:
        texts = [rows[_asks(rows, guide)] for rows in (answers, pieces) if len(rows)]
        for rows in texts:
            measures += measures_of(base, rows[rows["text"].notna()], [guide], None)
    for row in records(stages.run("selection measures", measures)):
        scores[row["judges"][0], row["prompt"], row["answer"]] = row["score"]
    selections = [_selected(guide, records(answers), records(pieces), scores, grid, by) for guide in guides]
    about = {"by": by, "source": prompts.source, "digest": prompts.digest, "validation": len(prompts.validation)}
    return about | {"guides": selections}


def check_selection(
    by: str, validation: int, paths: int, grid: Sequence[float], ranking: tuple[str, str] = _EXACT
) -> None:
    """Raise ValueError for a choice of scales that cannot be made, before anything is decoded.

    `ranking` is how positions are ranked, and in which precision.
    """
    one_of("select", by, ("grid", "path"))
    if not validation:
        raise ValueError("validation is 0: prompts to choose the reward scale on are needed, or a --reward-scale")
    if by == "path" and not paths:
        raise ValueError("path-prompts is 0: --select path needs at least 1")
    if by == "path" and ranking != _EXACT:
        raise ValueError(f"select is path: paths rank by log-odds in float64, not {' '.join(ranking)}")
    if by == "path" and min(grid) == max(grid):
        raise ValueError(f"grid is {list(grid)}: --select path needs two scales, the ends of the axis")


def _asks(rows: Any, guide: str) -> Any:
    return rows["guide"].isna() | (rows["guide"] == guide)


def _selected(
    guide: str,
    answers: Sequence[Mapping[str, Any]],
    pieces: Sequence[Mapping[str, Any]],
    scores: Mapping[tuple[str, str, str], float],
    grid: Sequence[float],
    by: str,
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
    best = max(rows, key=lambda row: (row["net"], row["score"], -row["scale"]))["scale"]
    parts: dict[str, list[tuple[float, float, int | None]]] = {}
    for row in pieces:
        if row["guide"] == guide:
            net = None if row["text"] is None else outcome(row)
            parts.setdefault(row["prompt"], []).append((row["lower"], row["upper"], net))
    path = best_interval(list(parts.values()), grid) if parts else None
    if by == "path" and path is None:
        raise ValueError(f"guide {guide} has no path that is known at any scale: see the units that failed")
    chosen = path["middle"] if by == "path" and path is not None else best
    return {"guide": guide, "grid": rows, "best": best, "path": path, "chosen": chosen}


def best_interval(
    parts: Sequence[Sequence[tuple[float, float, int | None]]], grid: Sequence[float] = ()
) -> dict[str, Any] | None:
    """Return the widest stretch of scales with the highest mean outcome over prompts; None if none is known.

    `parts` holds for each prompt (lower, upper, outcome) in rising order; an outcome that is not known is None. Widths
    are ln of upper / lower. The mean is constant between neighbouring ends of parts. Scales at which a prompt's outcome
    is not known are left out. The result has `n`, prompts; `lower` and `upper`; `middle`, their geometric mean; `net`,
    there; `grid_net`, the best mean at the scales of `grid`; `explored`, the share of ln s_R on which every prompt's
    outcome is known.

    >>> best_interval([[(1.0, 2.0, 0), (2.0, 8.0, 1)], [(1.0, 4.0, 1), (4.0, 8.0, -1)]], [1.0, 8.0])["upper"]
    4.0
    """
    ends = sorted({end for part in parts for lower, upper, _ in part for end in (lower, upper)})

    def mean(at: float) -> float | None:
        nets = [_at(part, at) for part in parts]
        return None if any(net is None for net in nets) else sum(net or 0 for net in nets) / len(nets)

    stretches: list[list[float]] = []  # lower, upper, mean
    for lower, upper in pairwise(ends):
        value = mean(math.sqrt(lower * upper))
        if value is None:
            continue
        # Enclosures of breakpoints are narrower than 1e-12. They hold no answer and do not end a stretch.
        if stretches and stretches[-1][2] == value and lower / stretches[-1][1] < 1 + 1e-9:
            stretches[-1][1] = upper
        else:
            stretches.append([lower, upper, value])
    if not stretches:
        return None
    top = max(value for _, _, value in stretches)
    lower, upper, net = max(
        (stretch for stretch in stretches if stretch[2] == top), key=lambda stretch: stretch[1] / stretch[0]
    )
    explored = math.fsum(math.log(stretch[1] / stretch[0]) for stretch in stretches) / math.log(ends[-1] / ends[0])
    points = [value for scale in grid if (value := mean(min(max(scale, ends[0]), ends[-1]))) is not None]
    best = {"n": len(parts), "lower": lower, "upper": upper, "middle": math.sqrt(lower * upper), "net": net}
    return best | {"grid_net": max(points, default=None), "explored": min(1.0, explored)}


def _at(part: Sequence[tuple[float, float, int | None]], scale: float) -> int | None:
    return next((net for lower, upper, net in part if lower <= scale <= upper), None)
