"""Profile the complete scale path of a prompt: every answer on the axis, and what it is worth.

Each prompt gets its two complete scale paths (`rws_decode.scales.path`), over the constant factor c and over s_R of
Reward-Weighted Sampling. Both go over the one range that is given, and every distinct answer is scored once. Prompts
are the first of the source.

The files below OUT/scale-path, besides the units' parts, are `summary.csv|md`, `reach.csv|md`, and `results.json` with
both, the grid, and every prompt's outputs and paths (pieces and unexplored parts).

The summary has these columns, per prompt and axis, and added up ("all"):

- `pieces`: maximal intervals of one answer and one commit order; `outputs`: distinct answers by tokens;
- `grid_outputs`: the answers that a point of the paper's grid within the range gives; `missed`: those that none gives;
- `unexplored`: ln of upper / lower; `certified`: paths that are whole and proved; `forwards`.

`reach` counts, per prompt and added up, the distinct answers that some c gives (`temperature`), some s_R
(`reward_scale`), both (`shared`), or one alone, which the other axis is proved not to give (`only_temperature`,
`only_reward_scale`); `open`: not known, as a budget left parts unexplored.

An output, in the order of the scales, those of c first, has its widths on both axes; `coherent` and `violations`,
by the language's own checker, None for other prompts; `reward` and `judge`, normalised scores; and `perplexity`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from paper_figures.studies.design.asked import begin, check_range
from paper_figures.studies.design.options import GRID
from paper_figures.studies.design.stages import base_unit, finish, open_stages
from paper_figures.studies.options import ScalePathOptions
from paper_figures.studies.work.scale_paths import profile_work
from paper_figures.table import Table, records

NAME = "scale-path"
_SETTINGS = ("predictor", "reward", "causal", "length", "steps", "block", "device", "strategy_json")
_CAPTION = (
    "Answers on the axes of the constant factor c and of the reward scale s_R, complete in the range followed. Missed: "
    "answers that no point of the paper's grid gives."
)
_REACH = (
    "Distinct answers, by tokens, that any constant factor c and any reward scale s_R of the range gives. Only: the "
    "other axis is proved not to give it. Open: not known, as a budget left parts unexplored."
)


def run(options: ScalePathOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    check_range(options.scale_min, options.scale_max, options.budget, options.steps)
    causal = None if options.causal == "none" else options.causal
    readers = {"--reward": (options.reward,), "--judge": (options.judge,), "--causal": (causal,)}
    options, prompts = begin(options, NAME, readers, judged=True)

    strategy: dict[str, Any] = {"name": "path-profile", "low": options.scale_min, "high": options.scale_max}
    strategy |= {} if options.budget is None else {"budget": options.budget}
    models = {"reward": options.reward, "judges": (options.judge,), "causal": causal}
    base = replace(base_unit(options, NAME), strategy=strategy, **models)
    units = [replace(base, prompt=prompt.text, example=prompt.name) for prompt in prompts.test]
    with open_stages(options, units, profile_work) as stages:
        frame = stages.run(NAME, units)
    study_tables = tables(frame)
    results: dict[str, Any] = {}
    if study_tables:
        results |= {table.name: list(table.rows) for table in study_tables}
        results["grid"] = [point for point in GRID if options.scale_min <= point <= options.scale_max]
        profiles = frame[["example", "prompt", "outputs", "paths"]].rename(columns={"example": "index"})
        results["profiles"] = profiles.to_dict("records")
    return finish(NAME, options, stages.outcome(), study_tables, results)


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's tables from its rows; the seed draws nothing in them.

    Runs that share a folder have separate totals if their models, shapes or ranges differ.
    """
    if not len(frame):
        return []
    varied = [name for name in _SETTINGS if frame[name].nunique(dropna=False) > 1]
    summary: list[dict[str, Any]] = []
    reach: list[dict[str, Any]] = []
    for _, group in frame.groupby(list(_SETTINGS), dropna=False):
        at = {name: group[name].iloc[0] for name in varied}
        rows = sorted(records(group), key=lambda row: (len(row["example"]), row["example"]))
        lines = [{"prompt": row["example"]} | summary_row(path) for row in rows for path in row["paths"]]
        by_axis = ([line for line in lines if line["over"] == over] for over in dict.fromkeys(x["over"] for x in lines))
        summary += [at | line for line in [*lines, *map(_added, by_axis)]]
        reached = [reach_row(row) for row in rows]
        reach += [at | line for line in [*reached, _added(reached)]]
    return [Table("summary", summary, summary, _CAPTION), Table("reach", reach, reach, _REACH)]


def _added(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the numbers of rows added up; what names them is the first's."""
    same = {name: value for name, value in rows[0].items() if isinstance(value, str)} | {"prompt": "all"}
    return same | {name: sum(row[name] for row in rows) for name in rows[0] if name not in same}


def reach_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many answers of a prompt's row each axis reaches, both, and one alone, as the module describes."""
    by = [(output["by_temperature"], output["by_reward_scale"]) for output in row["outputs"]]
    return {
        "prompt": row["example"],
        "temperature": sum(first is True for first, _ in by),
        "reward_scale": sum(second is True for _, second in by),
        "shared": by.count((True, True)),
        "only_temperature": by.count((True, False)),
        "only_reward_scale": by.count((False, True)),
        "open": sum(None in pair for pair in by),
    }


def summary_row(path: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of one path of a prompt, as the module describes them.

    The grid is the part of the paper's grid within the path.
    """
    pieces = path["pieces"]
    hit = [piece for piece in pieces if any(piece["lower"] <= point <= piece["upper"] for point in GRID)]
    reached, on_grid = ({piece["output"] for piece in part} for part in (pieces, hit))
    return {
        "over": path["over"],
        "pieces": len(pieces),
        "outputs": len(reached),
        "grid_outputs": len(on_grid),
        "missed": len(reached - on_grid),
        "unexplored": math.fsum(math.log(part["upper"] / part["lower"]) for part in path["unexplored"]),
        "certified": int(path["certified"]),
        "forwards": path["forwards"],
    }
