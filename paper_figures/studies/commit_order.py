"""Compare the orders in which positions are committed: left to right, by confidence, and by RWS.

The study decodes a few prompts, by default a held-out one of the model. Its files below OUT/commit-order, besides the
units' parts, are `METHOD-EXAMPLE.parquet`, the traces (left-to-right, default, rws), and `results.json`, with a row per
trace. EXAMPLE is the number of a held-out prompt, or the name of another one.

Left to right is confidence decoding in blocks of length / steps tokens, the number that a step commits. So every step
commits its whole block at once, strictly from left to right. At length 64 and 32 steps the blocks are pairs, which have
no order inside. GOD is 0 in both readings, with as many forwards as the other two methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paper_figures.data.loaders import Prompt
from paper_figures.runner.units import Unit
from paper_figures.studies.options import Drawn, StageOptions
from paper_figures.studies.prompts import begin
from paper_figures.studies.study import base_unit, finish, open_stages
from paper_figures.table import Table, records
from rws_decode.canvas.schedule import block_plan
from rws_decode.cli.options import option
from rws_decode.common.arguments import divisors, nearest
from rws_decode.common.files import write_bytes
from rws_decode.common.later import pd
from rws_theory.checks import finite

NAME = "commit-order"


@dataclass(frozen=True)
class CommitOrderOptions(StageOptions):
    """The options of `experiment commit-order`."""

    data: str | None = None
    examples: tuple[int, ...] | None = (3,)
    prompts: int = Drawn(1)
    reward: str = option("mini", "reward model that guides rws", metavar="NAME")
    reward_scale: float = option(8.0, "s_R of rws", metavar="S")
    batch: int = 1


ORDERS = ("left-to-right", "default", "rws")
_CAPTION = (
    "Generation Order Deviation of each answer, in tokens and in steps. Left to right commits each step's tokens as "
    "one block."
)


def run(options: CommitOrderOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    finite("reward_scale", options.reward_scale, above=0)
    _check_steps(options)
    options, prompts = begin(options, NAME, {"--reward": (options.reward,)}, judged=True)

    base = base_unit(options, NAME)
    units = order_units(base, prompts.test, options.reward, options.reward_scale)
    with open_stages(options, units) as stages:
        frame = stages.run(NAME, units)
    outcome = stages.outcome()
    rows = _rows(frame, outcome.folder)
    results = {"rows": rows}
    return finish(NAME, options, outcome, tables(frame), results) | results


def _check_steps(options: CommitOrderOptions) -> None:
    """Raise ValueError unless each step of the answer from left to right can commit as many tokens."""
    length, steps = options.length, options.steps
    block_plan(length, steps, options.block)
    if length % steps:
        blocks = length // options.block
        near = nearest(steps, [number for number in divisors(length) if number % blocks == 0])
        raise ValueError(
            f"steps is {steps}: it must divide length, {length}, to commit equal groups from left to right, such as "
            f"{near}"
        )


def order_units(base: Unit, prompts: Sequence[Prompt], reward: str, reward_scale: float) -> list[Unit]:
    """Return a unit per prompt and method, with traces kept."""
    base = replace(base, settings={**base.settings, "traces": True})
    units = []
    for prompt in prompts:
        plain = replace(base, prompt=prompt.text, example=prompt.name)
        guided = replace(plain, strategy={"name": "rws", "reward_scale": reward_scale}, reward=reward)
        methods = {"left-to-right": replace(plain, block=base.length // base.steps), "default": plain, "rws": guided}
        units += [replace(unit, labels={"method": method}) for method, unit in methods.items()]
    return units


def _rows(frame: pd.DataFrame, folder: Path) -> list[dict[str, Any]]:
    """Copy the traces beside results.json under names that say what they are, and return a row for each."""
    rows = []
    for row in frame.to_dict("records"):
        source, path = folder / row["trace"], folder.parent / f"{row['method']}-{row['example']}.parquet"
        if not source.is_file():
            raise ValueError(f"{source} is missing: remove {folder} and run again to make it")
        if not path.is_file() or path.read_bytes() != source.read_bytes():
            write_bytes(path, source.read_bytes())
        example = int(row["example"]) if row["example"].isdecimal() else row["example"]  # a held-out prompt's number
        line = {name: row[name] for name in ("method", "prompt", "text", "block", "god_tokens", "god_steps")}
        rows.append(line | {"example": example, "trace": path.name})
    return rows


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's table from its rows; `seed` is not used."""
    columns = ["example", "method", "reward", "scale", "length", "steps", "block", "god_tokens", "god_steps", "text"]
    rows: list[dict[str, Any]] = []
    if len(frame):
        keys = frame["example"].map(lambda name: (len(name), name)), frame["method"].map(ORDERS.index)
        ordered = frame.iloc[sorted(range(len(frame)), key=lambda row: tuple(key.iloc[row] for key in keys))]
        ordered = ordered.reindex(columns=columns)
        rows = records(ordered.astype(object).where(ordered.notna(), None))
    return [Table("summary", rows, rows, _CAPTION)] if rows else []
