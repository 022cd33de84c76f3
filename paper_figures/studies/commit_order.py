"""In what order positions are committed: left to right, by confidence, and by RWS, for a few held-out prompts.

Files below OUT/commit-order, besides the units' parts: `METHOD-EXAMPLE.parquet`, the traces (left-to-right, default,
rws), and `results.json`, with a row per trace.

Left to right is confidence decoding in blocks of length / steps tokens, the number that a step commits. So every step
commits its whole block at once, strictly from left to right (at length 64 and 32 steps in pairs, which have no order
inside). GOD is 0 in both readings, with as many forwards as the other two methods.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paper_figures.studies.design import single_stage
from paper_figures.table import records

if TYPE_CHECKING:
    import pandas

    from paper_figures.runner.runner import Report
    from paper_figures.runner.units import Unit
    from paper_figures.table import Table

__all__ = ["METHODS", "add_arguments", "order_units", "run", "tables"]

NAME = "commit-order"
METHODS = ("left-to-right", "default", "rws")
_CAPTION = (
    "Generation Order Deviation of each answer, in tokens and in steps. Left to right commits each step's tokens as "
    "one block."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the study's options to a parser."""
    parser.add_argument("--out", required=True, metavar="DIR", help="traces go to DIR/commit-order")
    parser.add_argument(
        "--examples", type=int, nargs="+", default=[3], metavar="N", help="held-out prompts of the model, from 0 (3)"
    )
    parser.add_argument("--reward", default="mini", metavar="NAME", help="reward model that guides rws (mini)")
    parser.add_argument("--reward-scale", type=float, default=8.0, metavar="S", help="s_R of rws (8)")
    single_stage.add_arguments(parser, ranked=True, batch=1)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    from paper_figures.data.examples import examples_of
    from paper_figures.studies.work.measuring import work
    from rws_decode.strategies.factors import RWS

    single_stage.check_arguments(args)
    RWS(args.reward_scale)  # refuses a scale that is none
    if args.length % args.steps:
        raise ValueError(
            f"steps is {args.steps}: it must divide length, {args.length}, to commit equal groups from left to right"
        )
    stored, examples = examples_of(args.model), list(dict.fromkeys(args.examples))
    for example in examples:
        if not 0 <= example < len(stored):
            raise ValueError(f"examples holds {example}: {args.model} ships {len(stored)} examples, from 0")
    base = single_stage.base_unit(args, NAME)
    prompts = {example: stored[example]["prompt"] for example in examples}
    units = order_units(base, prompts, args.reward, args.reward_scale)
    stage = single_stage.run_stage(args, units, work)
    rows, frame = _rows(stage[0]), stage[0].read()
    settings = {"examples": examples, "reward": args.reward, "reward_scale": args.reward_scale}
    settings |= {"group": args.length // args.steps, "ranking": args.ranking, "precision": args.precision}
    results = {"rows": rows}
    made = tables(frame)
    return single_stage.finish(args, base, [stage], made, frame, settings=settings, results=results) | results


def order_units(base: Unit, prompts: dict[int, str], reward: str, reward_scale: float) -> list[Unit]:
    """Return a unit per example and method; traces are kept."""
    base = replace(base, settings={**base.settings, "traces": True})
    units = []
    for example, prompt in prompts.items():
        plain = replace(base, prompt=prompt, example=str(example))
        guided = replace(plain, strategy={"name": "rws", "reward_scale": reward_scale}, reward=reward)
        methods = {"left-to-right": replace(plain, block=base.length // base.steps), "default": plain, "rws": guided}
        units += [replace(unit, labels={"method": method}) for method, unit in methods.items()]
    return units


def _rows(report: Report) -> list[dict[str, Any]]:
    """Copy the traces beside results.json under names that say what they are, and return a row for each."""
    from rws_decode.common.files import write_bytes
    from rws_decode.mini.stories.answers import judge
    from rws_decode.trace.trace import load

    rows = []
    for row in report.read().to_dict("records"):
        source, path = report.folder / row["trace"], report.folder.parent / f"{row['method']}-{row['example']}.parquet"
        if not source.is_file():
            raise ValueError(f"{source} is missing: remove {report.folder} and run again to make it")
        if not path.is_file() or path.read_bytes() != source.read_bytes():
            write_bytes(path, source.read_bytes())
        trace, story = load(path), judge(row["prompt"], row["text"])
        line = {name: row[name] for name in ("method", "prompt", "text", "block", "god_tokens", "god_steps")}
        line |= {"example": int(row["example"]), "coherent": story.coherent, "trace": path.name}
        line |= {"violations": [violation.kind for violation in story.violations]}
        rows.append(line | {"commit_step": trace.commit_step.tolist(), "factors": trace.factor.tolist()})
    return rows


def tables(frame: pandas.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's table from its rows; nothing in it is drawn by the seed."""
    from paper_figures.table import Table

    columns = ["example", "method", "reward", "scale", "length", "steps", "block", "god_tokens", "god_steps", "text"]
    rows: list[dict[str, Any]] = []
    if len(frame):
        places = frame["example"].astype(int), frame["method"].map(METHODS.index)
        ordered = frame.iloc[sorted(range(len(frame)), key=lambda row: tuple(key.iloc[row] for key in places))]
        ordered = ordered.reindex(columns=columns)
        rows = records(ordered.astype(object).where(ordered.notna(), None))
    return [Table("summary", rows, rows, _CAPTION)] if rows else []
