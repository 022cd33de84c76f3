"""Compare the orders in which positions are committed: left to right, by confidence, and by RWS.

The study decodes a few held-out prompts. Its files below OUT/commit-order, besides the units' parts, are
`METHOD-EXAMPLE.parquet`, the traces (left-to-right, default, rws), and `results.json`, with a row per trace.

Left to right is confidence decoding in blocks of length / steps tokens, the number that a step commits. So every step
commits its whole block at once, strictly from left to right. At length 64 and 32 steps the blocks are pairs, which have
no order inside. GOD is 0 in both readings, with as many forwards as the other two methods.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paper_figures.studies.design import single_stage
from paper_figures.table import records
from rws_theory.commands.options import option

if TYPE_CHECKING:
    import pandas

    from paper_figures.runner.runner import Report
    from paper_figures.runner.units import Unit
    from paper_figures.table import Table

__all__ = ["METHODS", "Options", "order_units", "run", "tables"]

NAME = "commit-order"
METHODS = ("left-to-right", "default", "rws")
_CAPTION = (
    "Generation Order Deviation of each answer, in tokens and in steps. Left to right commits each step's tokens as "
    "one block."
)


@dataclass(frozen=True)
class Options(single_stage.StageOptions):
    """The study's options."""

    examples: tuple[int, ...] = option((3,), "held-out prompts of the model, from 0")
    reward: str = option("mini", "reward model that guides rws", metavar="NAME")
    reward_scale: float = option(8.0, "s_R of rws", metavar="S")
    batch: int = 1


def run(options: Options) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    from paper_figures.data.examples import examples_of
    from paper_figures.studies.work.measuring import work
    from rws_decode.strategies.factors import RWS

    single_stage.check_options(options)
    RWS(options.reward_scale)  # raises ValueError for a bad scale
    if options.length % options.steps:
        raise ValueError(
            f"steps is {options.steps}: it must divide length, {options.length}, to commit equal groups from left to "
            "right"
        )
    stored, examples = examples_of(options.model), list(dict.fromkeys(options.examples))
    for example in examples:
        if not 0 <= example < len(stored):
            raise ValueError(f"examples holds {example}: {options.model} ships {len(stored)} examples, from 0")
    base = single_stage.base_unit(options, NAME)
    prompts = {example: stored[example]["prompt"] for example in examples}
    units = order_units(base, prompts, options.reward, options.reward_scale)
    stage = single_stage.run_stage(options, units, work)
    rows, frame = _rows(stage[0]), stage[0].read()
    settings = {"examples": examples, "reward": options.reward, "reward_scale": options.reward_scale}
    settings |= {"group": options.length // options.steps, "ranking": options.ranking, "precision": options.precision}
    results = {"rows": rows}
    study_tables = tables(frame)
    return (
        single_stage.finish(options, base, [stage], study_tables, frame, settings=settings, results=results) | results
    )


def order_units(base: Unit, prompts: dict[int, str], reward: str, reward_scale: float) -> list[Unit]:
    """Return a unit per example and method, with traces kept."""
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
    """Return the study's table from its rows; the seed draws nothing in it."""
    from paper_figures.table import Table

    columns = ["example", "method", "reward", "scale", "length", "steps", "block", "god_tokens", "god_steps", "text"]
    rows: list[dict[str, Any]] = []
    if len(frame):
        keys = frame["example"].astype(int), frame["method"].map(METHODS.index)
        ordered = frame.iloc[sorted(range(len(frame)), key=lambda row: tuple(key.iloc[row] for key in keys))]
        ordered = ordered.reindex(columns=columns)
        rows = records(ordered.astype(object).where(ordered.notna(), None))
    return [Table("summary", rows, rows, _CAPTION)] if rows else []
