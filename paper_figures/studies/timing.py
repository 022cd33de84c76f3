"""Time answers side by side, and make tables of their seconds beside those of confidence decoding.

A timing unit is one prompt and several ways to decode it, all in one process and one answer at a time, whatever
`--batch` says (`seconds.time_units`). The ways are answers that the study has decoded, decoded again with some savings
(`rws_decode.Savings`). Seconds belong to one machine: the hash of a unit names the one that asked, and the row the one
that the worker saw. CPU time of the whole process is given if nothing runs on CUDA; other processes change it
less.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paper_figures.data.loaders import Prompt
from paper_figures.runner.executors import RunOptions, in_process
from paper_figures.runner.units import Unit
from paper_figures.runner.versions import machine_name
from paper_figures.statistics.significance import holm_within
from paper_figures.studies.answers import best_of, comparisons, lines_of, settings_of
from paper_figures.studies.study import Stages
from paper_figures.table import records
from rws_decode.cli.progress import tell
from rws_decode.common.later import np, pd

SPLIT = "timing"
SAVINGS = ("usual", "everything", "nothing")
_DECODED = ("seed", "sampling_temperature")


def way_of(method: str, rows: Sequence[Mapping[str, Any]], savings: str = "usual") -> dict[str, Any]:
    """Return a way to decode, as a timing unit names it.

    `rows` are the study's answers that it is made of: one answer, or the samples of best-of-n, of which the reward then
    picks one. ValueError is raised for savings that are not in `SAVINGS`.
    """
    if savings not in SAVINGS:
        raise ValueError(f"savings is {savings!r}: one of {', '.join(SAVINGS)} is needed")
    runs = [{"strategy": json.loads(row["strategy_json"])} | {name: row[name] for name in _DECODED} for row in rows]
    return {"method": method, "savings": savings, "runs": runs}


def timing_unit(
    base: Unit,
    prompt: Prompt,
    guide: str,
    scale: float,
    ways: Sequence[Mapping[str, Any]],
    *,
    repetitions: int,
    workers: str,
    threads: int | None,
    memory: bool,
) -> Unit:
    """Return the unit that times some ways (`way_of`) on a prompt's first turn.

    If `memory` is true, it also measures what the reward adds; on CUDA the models are loaded again for that. `workers`
    is how many units run at once, for the record. `threads` is the number that was asked for; None leaves it to
    PyTorch.
    """
    strategy = {"name": "timing", "repetitions": repetitions, "threads": threads, "memory": memory, "ways": list(ways)}
    labels = {"method": "timing", "guide": guide, "reward_scale": scale, "split": SPLIT, "turn": 0}
    labels |= {"workers": workers, "machine": machine_name(base.device)}
    shared = {"prompt": prompt.text, "example": prompt.name, "strategy": strategy, "reward": guide}
    return replace(base, **shared, labels={**prompt.labels, **labels})


# These columns say on which machine, and how, a line was measured.
_WHERE = ("measured_on", "torch_threads", "workers", "repetitions")
_WAY = ("guide", "reward_scale", "method", "example")
HOW = (
    "seconds: mean over prompts of the median over repetitions, an answer at a time, the methods in turn within one "
    "process; quartiles: of all runs. increase: 100 (seconds / seconds of the default with the same "
    "savings - 1), with the 95 % interval over prompts, rough where these are few; p: of no difference, "
    "exchanging the two on random prompts (never below 2 / 2^prompts), corrected over the reward models by Holm's "
    "method. CPU: the same of the process's CPU time, which other processes change less; none on CUDA. The paper's "
    "numbers are of other hardware, models and code: seconds cannot be compared, increases only roughly."
)


def note_several_workers(options: RunOptions) -> None:
    """Warn on standard error if several units will be timed at once."""
    if options.scheduler is not None or options.workers > 1:
        workers = "a cluster's workers" if options.scheduler is not None else f"{options.workers} workers"
        note = f"note: {workers} time answers at once and slow each other down: --workers 1 times them alone"
        tell(note)


def run_timing(
    options: RunOptions,
    base: Unit,
    prompts: Sequence[Prompt],
    stages: Stages,
    ways: Callable[[Mapping[str, list[dict[str, Any]]]], list[dict[str, Any]]],
    *,
    repetitions: int,
    memory: bool = False,
) -> None:
    """Time the answers that a study has decoded for these prompts.

    `ways` takes each method's answers to one prompt (for best-of-n all N) and returns the ways to time
    (`timing.way_of`). If `memory` is true, memory is measured too, on the first prompt of every reward.
    """
    frame = stages.outcome().frame
    rows = [row for row in records(frame) if row.get("split") == "test" and row["turn"] == 0]
    pairs = dict.fromkeys((row["guide"], row["reward_scale"]) for row in rows if row["method"] == "rws")
    units = []
    for guide, scale in pairs:
        guided = frame["method"].eq("rws") & frame["guide"].eq(guide) & frame["reward_scale"].eq(scale)
        count = best_of(frame[guided & frame["split"].eq("test")])
        for number, prompt in enumerate(prompts):
            answers: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                free = row["guide"] is None or row["guide"] != row["guide"]
                if row["example"] == prompt.name and (free or (row["guide"], row["reward_scale"]) == (guide, scale)):
                    answers.setdefault(row["method"], []).append(row)
            samples = sorted(answers.pop("sample", []), key=lambda row: row["sample"])
            answers |= {"best-of-n": samples[:count]} if samples else {}
            if {"default", "rws"} <= answers.keys():
                unit_options: dict[str, Any] = {"repetitions": repetitions, "memory": memory and number == 0}
                unit_options |= {"workers": "cluster" if options.scheduler is not None else str(options.workers)}
                unit_options |= {"threads": options.threads}
                units.append(timing_unit(base, prompt, guide, scale, ways(answers), **unit_options))
    # A shared pool would time several at once, in each other's way.
    stages.run("timing", units, in_process() if options.shared is not None else None)


def untimed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a frame that are not of timing units."""
    return frame[frame["strategy"] != "timing"].dropna(axis="columns", how="all")


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per timing unit and way, with the unit's columns; the frame is empty without timing units."""
    if "timed_seconds" not in frame:
        return frame.iloc[:0]
    rows = frame[frame["split"] == SPLIT].to_dict("records")
    entries = [row | dict(way) | {"repetitions": len(way["seconds"])} for row in rows for way in row["timed_seconds"]]
    timed = pd.DataFrame(entries).astype({"median_cpu_seconds": float, "torch_threads": int})
    # An earlier run in the same folder may have timed some of these ways in other units.
    return timed.drop_duplicates([*settings_of(timed), *_WAY, "savings", *_WHERE], ignore_index=True)


def with_increase(
    lines: Sequence[tuple[dict[str, Any], pd.DataFrame]], seed: int, prefix: str = ""
) -> list[dict[str, Any]]:
    """Return one row per line: seconds, quartiles, and the increase over the line of confidence with the same settings.

    `lines` are those of `paired_answers.lines_of`, by `method` among others. `prefix` is "" for seconds and "cpu_" for
    CPU time. The increase is in percent.
    """
    column = f"median_{prefix}seconds"
    increases = []
    # Two runs that gave one text were timed separately: their seconds are no copies.
    apart = [(line, rows.drop(columns="text", errors="ignore")) for line, rows in lines]
    for (_, rows), comparison in zip(lines, comparisons(apart, column, seed, column), strict=True):
        names = [f"{prefix}{name}" for name in ("seconds", "quartile_1", "quartile_3")]
        names += [f"{prefix}{name}" for name in ("increase", "increase_low", "increase_high", "p")]
        row: dict[str, Any] = dict.fromkeys(names)
        timed = rows.dropna(subset=[column])
        if len(timed):
            row[names[0]] = float(timed[column].mean())
            if f"{prefix}seconds" in timed:
                runs = np.concatenate([np.asarray(first, dtype=float) for first in timed[f"{prefix}seconds"]])
                row |= dict(zip(names[1:3], np.quantile(runs, [0.25, 0.75]).tolist(), strict=True))
        if comparison is not None:
            row[names[6]] = comparison.p
            if comparison.ratio is not None:
                row |= dict(zip(names[3:6], (100 * (number - 1) for number in comparison.ratio), strict=True))
        increases.append(row)
    return increases


def timed_rows(timed: pd.DataFrame, seed: int, by: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """Return one row per line of what was timed, and a sentence that says how it was measured.

    `by` names the columns of a line, `method` among them. The rows have these columns:

    - those of `by`, and the place of the measurement if there are several places;
    - `prompts`, `runs`; those of `with_increase`; `p_holm`;
    - the means of `forwards`, `reward_calls` and `reward_calls_saved`;
    - `same_text`, the share of prompts whose text is that of the usual savings.
    """
    machines = timed[list(_WHERE)].drop_duplicates()
    where = list(_WHERE) if len(machines) > 1 else []
    keys = list(timed[[*settings_of(timed), *_WAY, *_WHERE]].itertuples(index=False, name=None))
    usual = {
        key: text
        for key, text, savings in zip(keys, timed["text"], timed["savings"], strict=True)
        if savings == "usual"
    }
    timed = timed.assign(same_text=[usual.get(key) == text for key, text in zip(keys, timed["text"], strict=True)])
    lines = list(lines_of(timed, [*by, *where]))
    walls, cpus = with_increase(lines, seed), with_increase(lines, seed, "cpu_")
    timed_lines = []
    for (line, rows), wall, cpu in zip(lines, walls, cpus, strict=True):
        row = line | {"prompts": len(rows), "runs": sum(len(item) for item in rows["seconds"])} | wall
        row |= {name: cpu[name] for name in ("cpu_seconds", "cpu_increase", "cpu_increase_low", "cpu_increase_high")}
        names = ("forwards", "reward_calls", "reward_calls_saved", "same_text")
        row |= {name: float(rows[name].mean()) for name in names}
        timed_lines.append(row)
    fixed_columns = [name for name in (lines[0][0] if lines else ()) if name not in ("guide", "reward_scale")]
    loads = timed["load"].dropna()
    machine_text = "; ".join(
        f"{item.measured_on}, PyTorch threads: {item.torch_threads}, workers at once: {item.workers}, "
        f"repetitions: {item.repetitions}"
        for item in machines.itertuples()
    )
    if len(loads):
        machine_text += f"; processes that wanted to run in the minute before: {loads.min():.1f} to {loads.max():.1f}"
    holm_within(timed_lines, fixed_columns)
    return timed_lines, f"Measured on {machine_text}."


def percent(row: Mapping[str, Any], name: str) -> str | None:
    """Format a row's percentage with its interval for reading; None if there is no percentage."""
    if row[name] is None:
        return None
    return f"{row[name]:+.1f} [{row[f'{name}_low']:+.1f}, {row[f'{name}_high']:+.1f}]"
