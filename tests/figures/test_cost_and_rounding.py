"""What guidance costs (Tables 11 and 12, and by arithmetic), and what rounding does to the order."""

from pathlib import Path
from typing import Any

import pytest
from handmade_runs import Row, assert_whole, write_run

from paper_figures.exhibits import saturation, table11_overhead
from rws_decode.common.files import write_json
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
    names = ("RWS, GRM", "RWS, GRM, no savings", "RWS, GRM, all savings", "constant, GRM")
    assert [rows[name]["here: increase, %"] for name in names] == [30.0, 40.0, 10.0, 2.0]
    assert_whole(exhibit)


SCALES = (1.0, 16.0, 32.0)
SHAPE = {"model": "tiny", "length": 64, "steps": 32, "block": 32}


def _precision() -> dict[str, Any]:
    """Return made-up results in which bfloat16 alone lowers GOD, at 16 and 32, by 2 and 4 steps of 5."""
    rows = []
    for strategy in ("temperature", "rws", "constant", "shuffled"):
        for index, scale in enumerate(SCALES):
            for ranking in ("exact", "float32", "bfloat16"):
                due = -2.0 * index if ranking == "bfloat16" else 0.0
                width = 0.5 if due else 0.0
                row: dict[str, Any] = {"strategy": strategy, "scale": scale, "ranking": ranking, "n": 12}
                row |= {"god_steps": 5.0 + due, "god_tokens": 10.0 + 2 * due}
                row |= {"god_steps_due": due, "god_steps_due_low": due - width, "god_steps_due_high": due + width}
                row |= {"god_steps_due_p": 0.01, "god_steps_due_p_holm": 0.03 if due == -4.0 else 0.2}
                row |= {"saturated": 0.1 * index, "inexact": 0.2 * index, "tied": 0.0, "near_tied": 0.0}
                rows.append(row | {"same_tokens": 1.0})
    return {"settings": SHAPE | {"prompts": 12, "reward": "guide"}, "seconds": 3.5, "summary": rows}


def _write(folder: Path, precision: dict[str, Any]) -> Path:
    write_json(folder / "precision" / "results.json", precision)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("runs"), _precision())


@pytest.mark.parametrize(("sign", "word"), [(1, "lowers"), (-1, "raises")])
def test_saturation_says_what_the_intervals_say(sign: int, word: str, tmp_path: Path) -> None:
    results = _precision()
    for row in results["summary"]:
        due, *ends = (sign * row[f"god_steps_due{end}"] for end in ("", "_low", "_high"))
        row |= {"god_steps": 5.0 + due, "god_steps_due": due}
        row |= {"god_steps_due_low": min(ends), "god_steps_due_high": max(ends)}
    claim, more = saturation.exhibit(_write(tmp_path, results)).conclusions
    assert claim.startswith(f"At scale 32, rounding to bfloat16 {word} GOD by 80 %")
    # At 16 the interval excludes zero, and p says no.
    assert "70 to 90 % with 95 % confidence; an effect is shown at 1 of 3 scales" in more
