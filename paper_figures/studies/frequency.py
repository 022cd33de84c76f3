"""Measure RWS that asks the reward only at every 1st, 2nd or 4th step: GOD, calls and seconds (Table 12).

Between calls the factor is 1 (`rws-every`). For every reward, prompts are decoded at the scale that validation prompts
chose for RWS at every step. Then some prompts are decoded again, one answer at a time, to measure seconds (`timing`).
These files go below OUT/frequency, besides the units' parts and `selection.json|csv`:

- `trade_off`: means over the rewards, as Table 12 has them, and GOD and seconds relative to confidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paper_figures.runner.units import Unit
from paper_figures.studies.answers import LINE, answers_of, comparisons, lines_of, over_guides, printed_tables
from paper_figures.studies.comparison import Arms, run_arms, run_comparison, scales_from
from paper_figures.studies.options import ComparisonOptions, Drawn, Usual
from paper_figures.studies.prompts import Prompts
from paper_figures.studies.study import Stages
from paper_figures.studies.timing import (
    HOW,
    measured,
    note_several_workers,
    percent,
    run_timing,
    timed_rows,
    untimed,
    way_of,
    with_increase,
)
from paper_figures.table import Table
from rws_decode.cli.options import option
from rws_decode.common.later import pd

NAME = "frequency"


@dataclass(frozen=True)
class FrequencyOptions(ComparisonOptions):
    """The options of `experiment frequency`."""

    data: str = Usual("stories:keywords")
    prompts: int = Drawn(24)
    validation: int = 12
    every: tuple[int, ...] = option(
        (1, 2, 4), "steps from one call of the reward model to the next; 1, which is rws, always runs"
    )
    timing_prompts: int = option(4, "prompts that are timed", least=1)
    repetitions: int = option(3, "runs of every method on every timed prompt", least=1)


def run(options: FrequencyOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    if min(options.every) < 1 or len(set(options.every)) < len(options.every):
        raise ValueError(f"--every is {list(options.every)}: different whole numbers, at least 1, are needed")
    note_several_workers(options)
    return run_comparison(options, NAME, tables, _run_stages)


def _run_stages(options: FrequencyOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
    scales, every = scales_from(options, base, prompts, stages), tuple(n for n in sorted(options.every) if n > 1)
    run_arms(Arms(options, base, prompts.test, scales, every), stages)
    run_timing(options, base, prompts.test[: options.timing_prompts], stages, _ways, repetitions=options.repetitions)


def _ways(answers: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    # The fixed factor costs as much as confidence, so a difference in their seconds is the machine's noise.
    chosen = ["default", "rws", *(name for name in answers if name.startswith("rws every ")), "constant"]
    return [way_of(method, answers[method]) for method in chosen if method in answers]


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the tables of the study from its rows."""
    answers, timed = answers_of(untimed(frame)), measured(frame)
    if not len(answers) or not (answers["method"] == "rws").any():
        return []
    timing = timed_rows(timed, seed, LINE)[1] if len(timed) else "Nothing was timed."
    return [_trade_off(answers, timed, timing, seed), *printed_tables("table12_frequency")]


def _trade_off(answers: pd.DataFrame, timed: pd.DataFrame, how: str, seed: int) -> Table:
    """Return Table 12: means over the rewards, prompt by prompt, beside confidence decoding.

    `how` says how the seconds were measured.
    """
    clock = {}
    if len(timed):
        numbers = ["median_seconds", "median_cpu_seconds"]
        lines = list(lines_of(over_guides(timed, numbers)))
        clock = {
            str(line): wall | cpu
            for (line, _), wall, cpu in zip(
                lines, with_increase(lines, seed), with_increase(lines, seed, "cpu_"), strict=True
            )
        }
    lines = list(lines_of(over_guides(answers, ["god_tokens", "god_steps", "reward_calls"])))
    ratios = {name: list(comparisons(lines, name, seed, name)) for name in ("god_tokens", "god_steps")}
    trade_off = []
    for index, (line, answered) in enumerate(lines):
        row = line | {"prompts": len(answered), "reward_calls": float(answered["reward_calls"].mean())}
        for name, compared in ratios.items():
            ratio = compared[index] and compared[index].ratio  # type: ignore[union-attr]
            ends = (f"{name}_ratio", f"{name}_low", f"{name}_high")
            row |= {name: float(answered[name].mean())} | dict(zip(ends, ratio or (None,) * 3, strict=True))
        times = clock.get(str(line), {})
        names = ("seconds", "increase", "increase_low", "increase_high")
        row |= {name: times.get(name) for names in (names, [f"cpu_{name}" for name in names]) for name in names}
        trade_off.append(row)
    caption = (
        "Means over the guides, prompt by prompt (Table 12). god_: tokens, or steps; in brackets over the default's, "
        "with the 95 % interval over prompts. prompts: answered, of which fewer are timed; seconds and their "
        f"increase over the default's, of wall and CPU time, on this machine and not on the paper's. {HOW} {how}"
    )
    return Table("trade_off", trade_off, _shown(trade_off), caption)


def _shown(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    shown_rows = []
    for row in rows:
        out = {name: row[name] for name in list(row)[: list(row).index("god_tokens")] if row[name] is not None}
        for name in ("god_tokens", "god_steps"):
            out[name] = f"{row[name]:.3g}"
            if row[f"{name}_ratio"] is not None:
                out[name] += f" ({row[f'{name}_ratio']:.3g} [{row[f'{name}_low']:.3g}, {row[f'{name}_high']:.3g}])"
        out |= {"seconds": row["seconds"], "increase, %": percent(row, "increase")}
        out |= {"CPU increase, %": percent(row, "cpu_increase")}
        shown_rows.append(out)
    return shown_rows
