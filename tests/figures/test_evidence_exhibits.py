"""The exhibits of the evidence study's comparisons: what is drawn, told and tabled of a small record."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from evidence_records import PROMPTS, evidence_record

from paper_figures.exhibits.exhibit import Exhibit, save
from paper_figures.recorded import Recorded
from paper_figures.studies.summaries.evidence_comparisons import comparisons_of, main_measures
from paper_figures.tables import evidence


@pytest.fixture(scope="module")
def record() -> Recorded:
    return evidence_record()


@pytest.fixture
def tabled(record: Recorded, monkeypatch: pytest.MonkeyPatch) -> Exhibit:
    monkeypatch.setattr(evidence, "evidence_of", lambda runs: record)
    return evidence.exhibit(Path("runs"))


def test_the_headline_is_told(tabled: Exhibit) -> None:
    assert "RWS beats all three" in tabled.conclusions[0] and "equivalent to all three" in tabled.conclusions[0]


def test_the_table_of_comparisons_counts_every_verdict_and_its_csv_has_every_row(
    record: Recorded, tabled: Exhibit, tmp_path: Path
) -> None:
    rows = comparisons_of(record)
    (table,) = (table for table in tabled.tables if table.name == "evidence_comparisons")
    verdicts = ("RWS more", "RWS less", "equivalent", "undecided")
    assert sum(row[verdict] for row in table.shown for verdict in verdicts) == len(rows) == len(table.rows)
    save("evidence", tabled, tmp_path)
    with (tmp_path / "tables" / "evidence_comparisons.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)


def test_every_arm_has_a_row_with_its_cost(tabled: Exhibit) -> None:
    (table,) = (table for table in tabled.tables if table.name == "evidence_english")
    by_method = {row["method"]: row for row in table.rows}
    assert by_method["better of two scales"]["forwards"] == 32 and by_method["RWS 8"]["reward_calls"] == 16
    assert by_method["confidence (default)"]["net win rate by the guide"] is None
    assert all(row["prompts"] == PROMPTS for row in table.rows)


def test_each_world_has_the_measures_that_its_figure_draws(record: Recorded) -> None:
    rows = comparisons_of(record)
    for world in ("english:era", "mini:mini"):
        assert set(main_measures(world)) <= {row.measure for row in rows if row.world == world}
