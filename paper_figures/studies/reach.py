"""What can any temperature reach, what can any reward scale reach, what only one of them: prompt by prompt, complete.

Each prompt gets two complete scale paths (`rws_decode.scales.path`), over the constant factor c and over s_R of
Reward-Weighted Sampling, both over the one range that is given and nothing beyond it, and their distinct answers are
compared. The factors of RWS at s_R lie in [s_R sqrt(eps), s_R sqrt(1 + eps)], eps = 1e-5, and vary from step to step.

Files below OUT/reach, besides the units' parts, which hold both paths: `results.json` with the summary and every
prompt's outputs; `summary.csv|md`.

Columns of the summary, per prompt and added up ("all"): `temperature`, `reward_scale`, the distinct answers that any
factor, any reward scale in the range gives; `shared`, those that both give; `only_temperature`, `only_reward_scale`,
those that the other axis is proved not to give; `open`, those of which that is not known, as a budget left parts
unexplored (`temperature_unexplored`, `reward_scale_unexplored`, ln of upper / lower); `..._width`, how much of the
axis, ln of upper / lower, leads to what only it gives; `certified`, how many of the paths are whole and certified;
`forwards`, canvases evaluated for both paths; `grid_forwards`, what decoding at a grid of as many points as the paths
have pieces would take; `reward_calls`, texts scored; `near_tokens`, candidates that rounding may change.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paper_figures.studies.design import single_stage
from paper_figures.studies.design.prompts import SOURCES

if TYPE_CHECKING:
    import pandas

    from paper_figures.table import Table

__all__ = ["add_arguments", "run", "tables"]

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the study's options to a parser."""
    parser.add_argument("--out", required=True, metavar="DIR", help="results go to DIR/reach")
    sources = "; ".join(SOURCES.values())
    parser.add_argument("--data", default="examples", metavar="SOURCE", help=f"prompts (examples): {sources}")
    parser.add_argument("--prompts", type=int, default=16, metavar="N", help="how many (16)")
    parser.add_argument("--reward", default="mini", help="reward model: shipped name, directory or hub id (mini)")
    parser.add_argument("--scale-min", type=float, default=0.01, metavar="X", help="least c and s_R (0.01)")
    parser.add_argument("--scale-max", type=float, default=32.0, metavar="Y", help="greatest c and s_R (32)")
    parser.add_argument("--budget", type=int, metavar="N", help="canvases that each path may evaluate (no limit)")
    parser.add_argument("--seed", type=int, default=0, help="of drawn prompts (0)")
    single_stage.add_arguments(parser, length=32, steps=16, batch=1)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    from paper_figures.studies.design.prompts import prompts_of
    from paper_figures.studies.work.reach import work

    single_stage.check_arguments(args)
    prompts = prompts_of(args.data, args.prompts, seed=args.seed, model=args.model).test
    ends = {"low": args.scale_min, "high": args.scale_max, "budget": args.budget}
    strategy = {"name": "scale-paths"} | {name: value for name, value in ends.items() if value is not None}
    base = replace(single_stage.base_unit(args, NAME), strategy=strategy, reward=args.reward)
    units = [replace(base, prompt=each.text, example=each.name) for each in prompts]
    stage = single_stage.run_stage(args, units, work)
    frame = stage[0].read()
    made = tables(frame)
    results: dict[str, Any] = {table.name: list(table.rows) for table in made}
    if made:
        outputs = frame[["example", "prompt", "outputs"]].rename(columns={"example": "index"})
        results["prompts"] = outputs.to_dict("records")
    names = ("data", "prompts", "seed", "reward", "scale_min", "scale_max", "budget")
    settings = {name: getattr(args, name) for name in names}
    return single_stage.finish(args, base, [stage], made, frame, settings=settings, results=results)


def tables(frame: pandas.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's table from its rows; nothing in it is drawn by the seed.

    Of runs that share a folder, those of other models, shapes or ranges have a total of their own.
    """
    from paper_figures.table import Table

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
    return [Table("summary", summary, _shown(summary), _CAPTION.format(**ends))]


def _shown(summary: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: row[name] for name in list(row)[: list(row).index("prompt")]}
        | {
            "prompt": row["prompt"],
            "temperature": row["temperature"],
            "reward scale": row["reward_scale"],
            "shared": row["shared"],
            "only temperature": f"{row['only_temperature']} ({row['only_temperature_width']:.2f})",
            "only reward scale": f"{row['only_reward_scale']} ({row['only_reward_scale_width']:.2f})",
            "open": row["open"],
            "certified paths": row["certified"],
            "forwards": row["forwards"],
            "grid": row["grid_forwards"],
            "reward calls": row["reward_calls"],
        }
        for row in summary
    ]
