"""Tables 11 and 12: counts and times are those of the results, beside the printed ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from handmade_runs import Row, assert_whole, write_run

from paper_figures.tables import table11_overhead, table12_frequency
from rws_theory.printed import printed_in


def _timed(guide: str, method: str, savings: str, calls: float, saved: float, increase: float | None) -> Row:
    row: Row = {"guide": guide, "reward_scale": 8.0, "method": method, "savings": savings, "prompts": 2, "runs": 4}
    row |= {"seconds": 2.0, "quartile_1": 1.5, "quartile_3": 2.5, "p": None, "p_holm": None, "cpu_seconds": 1.0}
    for field in ("increase", "cpu_increase"):
        ends = (None, None, None) if increase is None else (increase, increase - 5.0, increase + 5.0)
        row |= dict(zip((field, f"{field}_low", f"{field}_high"), ends, strict=True))
    row |= {"forwards": 8.0, "reward_calls": calls, "reward_calls_saved": saved, "same_text": 1.0}
    return row


def _overhead(runs: Path, **changed: Any) -> Path:
    rows = []
    for guide in ("second", "grm"):
        rows += [_timed(guide, "default", savings, 0.0, 0.0, None) for savings in ("usual", "everything", "nothing")]
        rows += [
            _timed(guide, "rws", "everything", 2.0, 5.0, 10.0) | changed,
            _timed(guide, "rws", "nothing", 8.0, 0.0, 40.0),
            _timed(guide, "rws", "usual", 6.0, 2.0, 30.0),
            _timed(guide, "constant", "usual", 0.0, 0.0, 2.0),
        ]
    memory = [{"guide": guide, "measured_on": "here", "reward_mib": 8.0, "added_mib": None} for guide in ("grm",)]
    return write_run(runs, "overhead", {"overhead": rows, "memory": memory})


def test_table_11_sets_seconds_and_memory_beside_the_printed_ones(tmp_path: Path) -> None:
    exhibit = table11_overhead.exhibit(_overhead(tmp_path))
    rows = {row["method"]: row for row in exhibit.tables[0].rows}
    table = printed_in("table11_overhead")
    assert rows["confidence (default)"]["paper: seconds"] == table["default_seconds"]
    for row in table["rows"]:
        line = rows[f"RWS, {row['model']}"]
        assert (line["paper: seconds"], line["paper: memory, MiB"]) == (row["seconds"], row["memory_mib"])
        increase = 100 * (row["seconds"] / table["default_seconds"] - 1)
        assert line["paper: increase, %, computed"] == pytest.approx(increase, abs=0.006)
    assert rows["RWS, GRM"]["here: increase, %"] == 30.0 and rows["RWS, GRM"]["here: guide's weights, MiB"] == 8.0
    shown = {row["method"]: row for row in exhibit.tables[0].shown}
    assert shown["RWS, second"]["here: increase, %"] == "+30.0 [+25.0, +35.0]"
    assert (
        "second +30.0 [+25.0, +35.0]; GRM +30.0 [+25.0, +35.0]. The paper's seconds amount to +21.8 to +33.4."
        in (exhibit.conclusions[0])
    )
    assert_whole(exhibit)


def test_table_11_has_each_savings_and_the_control(tmp_path: Path) -> None:
    rows = {row["method"]: row for row in table11_overhead.exhibit(_overhead(tmp_path)).tables[0].rows}
    names = ("RWS, GRM", "RWS, GRM, no savings", "RWS, GRM, all savings", "constant, GRM")
    assert [rows[name]["here: increase, %"] for name in names] == [30.0, 40.0, 10.0, 2.0]


def _mean(method: str, ratio: float | None, increase: float | None, width: float = 0.25) -> Row:
    row: Row = {"guide": "all", "reward_scale": None, "method": method, "prompts": 4, "reward_calls": 2.0}
    for name in ("god_tokens", "god_steps"):
        ends = (None, None) if ratio is None else (ratio - width, ratio + width)
        row |= {name: 2.0, f"{name}_ratio": ratio, f"{name}_low": ends[0], f"{name}_high": ends[1]}
    row |= {"seconds": 1.0, "cpu_seconds": None, "cpu_increase": None, "cpu_increase_low": None}
    row |= {"cpu_increase_high": None, "increase": increase}
    ends = (None, None) if increase is None else (increase - 5, increase + 5)
    return row | {"increase_low": ends[0], "increase_high": ends[1]}


def _frequency(runs: Path, ratio: float = 2.0, width: float = 0.25) -> Path:
    rows = [_mean("default", None, None), _mean("rws", ratio, 30.0, width), _mean("rws every 3", 1.0, 3.0, width)]
    rows.append(_mean("constant", 1.75, -8.0, width))
    return write_run(runs, "frequency", {"trade_off": rows})


def test_table_12_holds_the_printed_and_the_measured_numbers(tmp_path: Path) -> None:
    exhibit = table12_frequency.exhibit(_frequency(tmp_path))
    rows = {row["method"]: row for row in exhibit.tables[0].rows}
    table = printed_in("table12_frequency")
    for row in table["rows"]:
        line = rows["RWS, every step" if row["every"] == 1 else f"RWS, every {row['every']} steps"]
        assert (line["paper: GOD"], line["paper: seconds"]) == (row["god"], row["seconds"])
        assert line["paper: increase, %"] == row["increase"]
    assert rows["RWS, every step"]["here: GOD in steps over default's"] == 2.0
    assert rows["RWS, every step"]["here: GOD in steps over default's, low"] == 1.75
    assert rows["constant of equal mean"]["here: GOD in steps over default's"] == 1.75
    assert rows["RWS, every 3 steps"]["paper: GOD"] is None and rows["RWS, every 3 steps"]["here: increase, %"] == 3.0
    assert_whole(exhibit)
