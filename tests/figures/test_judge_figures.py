"""Tables 2, 7, 9, 10: what they hold and say is what was printed or measured."""

from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from paper_figures.exhibits import (
    table2_llm_judge,
    table10_llm_judge_orders,
)
from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.studies.mt_bench import printed_intervals
from rws_decode.common.files import write_json
from rws_theory.printed import printed_in

GUIDES = ("grm", "own")
Row = dict[str, Any]


def row(method: str, measure: str, mean: float, difference: float | None = None, **other: Any) -> Row:
    """Return a row of a summary whose baseline is rws: `difference` is the method minus RWS."""
    ends = [None, None] if difference is None else [difference - 0.1, difference + 0.1]
    fields = {"guide": "grm", "reward_scale": 8.0, "method": method, "measure": measure, "n": 40, "pairs": 40}
    fields |= {"mean": mean, "low": mean - 0.1, "high": mean + 0.1, "difference": difference}
    return fields | {"difference_low": ends[0], "difference_high": ends[1], "p": 0.01, "p_holm": 0.02} | other


def write_run(runs: Path, experiment: str, tables: dict[str, list[Row]], **other: Any) -> Path:
    settings = {"model": "LLaDA-8B", "rewards": list(GUIDES), "length": 64, "steps": 32, "block": 32}
    stored = {name: {"caption": "", "rows": rows, "shown": rows} for name, rows in tables.items()}
    results = {"settings": settings, "prompts": {"source": "mt-bench", "test": 40, "validation": 8}}
    results |= {"selection": {"grm": 8.0, "own": 8.0}, "units": "units-1", "seconds": 3.0, "tables": stored}
    write_json(runs / experiment / "results.json", results | other)
    return runs


def win_rates(net: float = 0.3, constant: float = -0.2) -> dict[str, list[Row]]:
    """Return tables of a made-up run: RWS's net win rate by its own guide, and what the constant has less than RWS."""
    rows = []
    for guide in GUIDES:
        for measure, best in (("net", net), ("others_net", 0.0), ("win", 0.5), ("draw", 0.3), ("loss", 0.2)):
            less = constant if measure == "net" else 0.0
            for method, mean, difference in (
                ("rws", best, None),
                ("constant", best + less, less),
                ("margin", best, 0.0),
                ("default", 0.0, -best if measure == "net" else 0.0),
            ):
                rows.append(row(method, measure, mean, difference, guide=guide))
    return {"win_rates": rows}


def cells(exhibit: Exhibit, stem: str) -> dict[str, Row]:
    """Return the rows of a table by their first column."""
    (table,) = [table for table in exhibit.tables if table.name == stem]
    return {str(next(iter(entry.values()))): dict(entry) for entry in table.rows}


def test_table_2_has_printed_and_measured_numbers_in_the_papers_own_row(tmp_path: Path) -> None:
    exhibit = table2_llm_judge.exhibit(write_run(tmp_path, "mt-bench", win_rates()))
    rows = cells(exhibit, "table2_llm_judge")
    for printed in printed_in("table2_llm_judge")["rows"]:
        assert rows[printed["model"]]["paper: RWS win, %"] == printed["win"]
        assert rows[printed["model"]]["paper: default win, %"] == printed["default_win"]
    assert rows["own"]["paper: RWS win, %"] is None
    for name in ("GRM", "own"):  # half of the draws counted: 50 (1 + net)
        assert rows[name]["here: RWS preferred, by own guide, %"] == pytest.approx(65.0)
        assert rows[name]["here: constant preferred, by own guide, %"] == pytest.approx(55.0)
        assert rows[name]["here: RWS preferred, by other reward models, %"] == pytest.approx(50.0)
    (controls,) = (table for table in exhibit.tables if table.name == "table2_differences")
    (line,) = (row for row in controls.shown if (row["guide"], row["RWS minus"]) == ("GRM", "constant of equal mean"))
    assert line["preferred by own guide, points"] == "+10 [+5, +15], p 0.02 *"


@pytest.mark.parametrize(("net", "words"), [(0.3, "higher for 2 of 2"), (-0.3, "lower for 2"), (0.0, "neither higher")])
def test_the_sign_of_table_2_is_that_of_rws(net: float, words: str, tmp_path: Path) -> None:
    said = table2_llm_judge.exhibit(write_run(tmp_path, "mt-bench", win_rates(net))).conclusions
    assert "No LLM has judged" in said[0] and "by own guide: " in said[1] and words in said[1]


def test_table_10_tests_what_was_printed_with_the_code_of_the_experiment(tmp_path: Path) -> None:
    exhibit = table10_llm_judge_orders.exhibit(write_run(tmp_path, "mt-bench", win_rates()))
    (shown,) = [table for table in exhibit.tables if table.name == "table10_tested"]
    (tested,) = printed_intervals()
    kept = ("won", "of", "share", "p")
    assert [[row[name] for name in kept] for row in shown.rows] == [[row[name] for name in kept] for row in tested.rows]
    assert [row["p_holm"] for row in shown.rows] == [row["p_holm"] for row in tested.rows]
    for row in shown.rows:
        # Clopper and Pearson's ends are quantiles of beta distributions.
        ends = (
            stats.beta.ppf(0.025, row["won"], 81 - row["won"]),
            stats.beta.ppf(0.975, row["won"] + 1, 80 - row["won"]),
        )
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-9)
    above, corrected = sum(row["share"] > 0.5 for row in shown.rows), sum(row["p_holm"] <= 0.05 for row in shown.rows)
    (headline,) = exhibit.conclusions
    assert headline.startswith(f"{above} of 12 printed shares are above 50 %.")
    assert headline.endswith(f"for {corrected or 'none'}.")
