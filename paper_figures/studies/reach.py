"""Compare what any temperature can reach with what any reward scale can reach, prompt by prompt and completely.

Each prompt gets two complete scale paths (`rws_decode.scales.path`), over the constant factor c and over s_R of
Reward-Weighted Sampling. Both go over the one range that is given and nothing beyond it, and their distinct answers are
compared. The factors of RWS at s_R lie in [s_R sqrt(eps), s_R sqrt(1 + eps)], eps = 1e-5, and vary from step to step.

The files below OUT/reach, besides the units' parts, which hold both paths, are `results.json` with the summary and
every prompt's outputs, and `summary.csv|md`.

The summary has these columns, per prompt and added up ("all"):

- `temperature`, `reward_scale`: the distinct answers that any factor, or any reward scale, in the range gives;
- `shared`: those that both give;
- `only_temperature`, `only_reward_scale`: those that the other axis is proved not to give;
- `open`: those for which that is not known, as a budget left parts unexplored;
- `temperature_unexplored`, `reward_scale_unexplored`: these parts, ln of upper / lower;
- `..._width`: how much of the axis, ln of upper / lower, leads to what only it gives;
- `certified`: how many of the paths are whole and certified;
- `forwards`: canvases evaluated for both paths;
- `grid_forwards`: what decoding at a grid of as many points as the paths have pieces would take;
- `reward_calls`: texts scored; `near_tokens`: candidates that rounding may change.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd

from paper_figures.studies.design.asked import begin, check_range
from paper_figures.studies.design.results_json import finish
from paper_figures.studies.design.stages import base_unit, open_stages
from paper_figures.studies.options import ReachOptions
from paper_figures.studies.work.scale_paths import reach_work
from paper_figures.table import Table

NAME = "reach"
COLUMNS = (
    *("temperature", "reward_scale", "shared", "only_temperature", "only_reward_scale", "open"),
    *("only_temperature_width", "only_reward_scale_width", "temperature_unexplored", "reward_scale_unexplored"),
    *("certified", "forwards", "grid_forwards", "reward_calls", "near_tokens"),
)
_CAPTION = (
    "Distinct answers, by tokens, that any constant factor c and any reward scale s_R gives; c and s_R in [{low:g}, "
    "{high:g}], nothing beyond it; an RWS factor lies in [s_R sqrt(eps), s_R sqrt(1 + eps)], eps = 1e-5. Only: the "
    "other axis is proved not to give it (with the ln of upper / lower of the scales that do). Open: not known, as a "
    "budget left parts unexplored. Forwards: canvases evaluated for both paths; grid: forwards of decoding at as many "
    "scales as the paths have pieces."
)


def run(options: ReachOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    check_range(options.scale_min, options.scale_max, options.budget, options.steps)
    options, prompts = begin(options, NAME, {"--reward": (options.reward,)})

    ends = {"low": options.scale_min, "high": options.scale_max, "budget": options.budget}
    strategy = {"name": "scale-paths"} | {name: value for name, value in ends.items() if value is not None}
    base = replace(base_unit(options, NAME), strategy=strategy, reward=options.reward)
    units = [replace(base, prompt=prompt.text, example=prompt.name) for prompt in prompts.test]
    with open_stages(options, units, reach_work) as stages:
        frame = stages.run(NAME, units)
    study_tables = tables(frame)
    results: dict[str, Any] = {table.name: list(table.rows) for table in study_tables}
    if study_tables:
        outputs = frame[["example", "prompt", "outputs"]].rename(columns={"example": "index"})
        results["prompts"] = outputs.to_dict("records")
    return finish(NAME, options, stages.outcome(), study_tables, results, options.seed)


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's table from its rows; the seed draws nothing in it.

    Runs that share a folder have separate totals if their models, shapes or ranges differ.
    """
    if not len(frame):
        return []
    by = ["predictor", "reward", "length", "steps", "block", "device", "strategy_json"]
    varied = [name for name in by if frame[name].nunique(dropna=False) > 1]
    summary: list[dict[str, Any]] = []
    for _, rows in frame.groupby(by, dropna=False):
        at = {name: rows[name].iloc[0] for name in varied}
        lines = rows[["example", *COLUMNS]].rename(columns={"example": "prompt"}).to_dict("records")
        lines.sort(key=lambda row: (len(row["prompt"]), row["prompt"]))
        total = {name: sum(row[name] for row in lines) for name in COLUMNS}
        summary += [at | row for row in [*lines, {"prompt": "all"} | total]]
    numbers = [json.loads(text) for text in frame["strategy_json"]]
    ends = {"low": min(strategy["low"] for strategy in numbers), "high": max(strategy["high"] for strategy in numbers)}
    return [Table("summary", summary, summary, _CAPTION.format(**ends))]
