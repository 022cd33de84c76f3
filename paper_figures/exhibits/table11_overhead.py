"""Table 11: what guidance costs in seconds and memory, by reward, as printed and here.

Shows: seconds, their increase over confidence and memory, as printed beside ours, by reward, with no savings, with the
usual ones and with all; and the same for a control that asks no reward, which shows the machine's noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import Results, Row, beside, method_name, read_run
from paper_figures.table import Column, Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("overhead",)
_STEM = "table11_overhead"
# What a row is called, by its reward; its method; its savings.
_SHOWN = (
    ("RWS, {}", "rws", "usual"),
    ("RWS, {}, no savings", "rws", "nothing"),
    ("RWS, {}, all savings", "rws", "everything"),
    ("fixed factor, {}", "constant", "usual"),
)
INCREASE = Column("increase, %", "increase", "+.1f", ("increase_low", "increase_high"))
CPU = Column("increase of CPU time, %", "cpu_increase", "+.1f", ("cpu_increase_low", "cpu_increase_high"))


def _told(run: Results, rows: Sequence[Row]) -> str:
    """Return in words what was timed."""
    count, device = max((row["prompts"] for row in rows), default=0), run.settings.get("device", "cpu")
    return (
        f"model {run.settings['model']} on {'a CPU' if device == 'cpu' else device}, {count} prompts, "
        f"{run.settings['repetitions']} runs each, an answer at a time, the methods in turn"
    )


def _of(rows: Sequence[Row], method: str, savings: str = "usual") -> dict[str, Row]:
    """Return a reward's name -> the row of a method with some savings."""
    return {row["name"]: row for row in rows if (row["method"], row["savings"]) == (method, savings)}


def _increase(seconds: float) -> float:
    """Return the increase over confidence decoding, in percent, that printed seconds amount to."""
    return 100 * (seconds / printed_in(_STEM)["default_seconds"] - 1)


def table(run: Results, rows: Sequence[Row]) -> Table:
    """Return Table 11 beside ours, with the usual savings, without and with all of them, and with a fixed factor."""
    table = printed_in(_STEM)
    printed: dict[str, dict[str, Any]] = {method_name("default"): {"seconds": table["default_seconds"]}}
    for row in table["rows"]:
        numbers = {"seconds": row["seconds"], "increase, %, computed": round(_increase(row["seconds"]), 2)}
        printed[f"RWS, {row['model']}"] = numbers | {"memory, MiB": row["memory_mib"]}
    memory = {row["guide"]: row for row in run.rows.get("memory", ())}
    here = {
        label.format(name): {**row, "base": base.get(name), **(memory.get(row["guide"], {}) if method == "rws" else {})}
        for label, method, savings in _SHOWN
        for base in ({name: row["seconds"] for name, row in _of(rows, "default", savings).items()},)
        for name, row in _of(rows, method, savings).items()
    }
    columns = [Column("seconds"), Column("default's seconds", "base"), INCREASE, CPU]
    columns += [Column("reward calls", "reward_calls"), Column("calls saved", "reward_calls_saved")]
    columns += [Column("reward's weights, MiB", "reward_mib"), Column("memory added, MiB", "added_mib")]
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, here: {_told(run, rows)}, with the usual savings unless said "
        "otherwise. Brackets: 95 % intervals over prompts, rough where these are few. The fixed factor of equal mean "
        "asks no reward, so its slowdown is the machine's noise. Memory added is measured on CUDA alone. Seconds and "
        "memory are of other hardware, models and code and cannot be compared. Increases can be compared roughly: they "
        "depend on how large the reward model is beside the model."
    )
    return beside(_STEM, "method", printed, here, caption, columns)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 11 from the results below `runs`."""
    run = read_run(runs, NEEDS[0])
    rows, increases = run.named("overhead"), [_increase(row["seconds"]) for row in printed_in(_STEM)["rows"]]
    timed = "; ".join(f"{name} {INCREASE.text(row)}" for name, row in _of(rows, "rws").items() if row["increase"])
    summary = (
        f"Time of RWS over the default's, usual savings, in percent: {timed or 'not measured'}. The paper's seconds "
        f"amount to {min(increases):+.1f} to {max(increases):+.1f}."
    )
    return Exhibit(
        "Table 11: what guidance costs", tables=(table(run, rows),), conclusions=(summary,), inputs=run.inputs
    )
