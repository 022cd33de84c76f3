"""What guidance costs (Tables 11 and 12, and by arithmetic), and what rounding does to the order."""

from pathlib import Path
from typing import Any

import pytest
from handmade_runs import Row, assert_whole, write_run

from paper_figures.exhibits import saturation, table11_overhead, table12_frequency
from paper_figures.exhibits.shared.exhibit import styled
from rws_decode.common.files import write_json
from rws_theory import footrule_mean
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


def test_saturation_draws_the_rows_of_the_results(runs: Path) -> None:
    data = saturation.compute(runs)
    assert saturation.random_god(data["settings"]) == pytest.approx(footrule_mean(64, 32, per_step=2, reading="steps"))
    with styled():
        (axes,) = saturation.draw(data).axes
    for ranking, look in saturation.RANKINGS.items():
        (line,) = (line for line in axes.lines if line.get_label() == look.label)
        assert line.get_ydata().tolist() == [row["god_steps"] for row in saturation.curve_of(data["summary"], ranking)]
    assert [saturation.share_of(data["summary"], row) for row in saturation.curve_of(data["summary"], "bfloat16")] == [
        pytest.approx(ends)
        for ends in ([0, 0, 0], [-40, -50, -30], [-80, -90, -70])  # of an exact GOD of 5 steps
    ]


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


def test_saturation_tells_what_rounding_adds(runs: Path) -> None:
    rows = saturation.table(saturation.compute(runs)).shown
    wanted = {"strategy": "Temperature", "scale": "32", "ranking": "bfloat16"}
    (line,) = (row for row in rows if wanted.items() <= row.items())
    assert line["due to rounding, steps"] == "-4 [-4.5, -3.5], p 0.03 *"
    assert (line["share due"], line["equal to 1, %"], line["other set, %"]) == ("-80 %", "20.0", "40.0")
