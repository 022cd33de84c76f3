"""The evidence study's figures: numbers are those of its answers, and what is missing is left out."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from evidence_records import answer_of, evidence_record
from json_files import write_json

from paper_figures.exhibits import Exhibit, evidence, save
from paper_figures.exhibits.shared import evidence as reader
from paper_figures.exhibits.shared.evidence import arms_of, evidence_of, interval_of, source_line
from paper_figures.recorded import Recorded, comparisons_of
from paper_figures.recorded.comparisons import VERDICTS
from paper_figures.recorded.completed import completed
from paper_figures.runner import write_manifest, write_part
from paper_figures.studies.evidence_arms import WORLDS, Arm, from_run, independent, unit_of
from paper_figures.studies.prompts import Prompt
from rws_decode import load_reward

ENGLISH, MINI = "english:era", "mini:mini"
PROMPTS = [f"p{index:02}" for index in range(12)]
Made = Callable[[Recorded], None]


@pytest.fixture(scope="module")
def made() -> Recorded:
    """Return a record of 12 prompts with seeded numbers: every arm in both worlds, and frontiers of three texts."""
    draw = np.random.default_rng(5)
    rows = [
        answer_of(world, arm, prompt, draw.normal(-5, 2), draw)
        | ({"god_tokens": None, "god_steps": None} if arm.method == "tilt-sample" else {})
        for world in (ENGLISH, MINI)
        for arm in (*independent(WORLDS[world], [1.0, 2.0, 8.0], 4.0, 8.0), *from_run([1.0, 2.0, 8.0], 8.0))
        for prompt in range(len(PROMPTS))
    ]
    fronts = []
    for prompt in PROMPTS:
        points = np.column_stack([[-20.0, -24.0, -30.0], [-2.0, 3.0, 6.0]]) + draw.normal(0, 0.3, (3, 2))
        lines = [[beta, float((points @ [1.0, beta]).max())] for beta in (0.0, 0.3, 1.0, 4.0)]
        fronts.append({"world": ENGLISH, "prompt": prompt, "points": points.tolist(), "lines": lines, "complete": True})
    about = {"command": "the command", "date": "2026-01-02", "chosen": {ENGLISH: {"rws": 2.0, "temperature": 4.0}}}
    answers, frontiers = pd.DataFrame(rows), pd.DataFrame(fronts)
    return Recorded(completed(answers, frontiers), frontiers, about)


@pytest.fixture
def ship(monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """Give a function that makes a record the one that ships."""

    def shipped(record: Recorded) -> None:
        monkeypatch.setattr(reader, "recorded", lambda: record)

    yield shipped


def test_measures_of_an_arm_are_those_of_its_answers(made: Recorded) -> None:
    guide = load_reward("era")
    frame = arms_of(made, ENGLISH)[Arm("rws", 8.0)]
    answers = made.answers
    rows = answers[(answers["world"] == ENGLISH) & (answers["method"] == "rws") & (answers["number"] == 8.0)]
    rows = rows[~rows["drawn"]].sort_values("prompt")
    assert np.allclose(frame["reward_sd"], (rows["reward"].astype(float) - guide.mean) / guide.std)
    assert np.allclose(frame["log_p_word"], rows["log_prob"].astype(float) / 32)
    interval = interval_of(frame, "log_p_word")
    assert interval is not None and interval.mean == pytest.approx(rows["log_prob"].astype(float).mean() / 32)
    assert interval.low < interval.mean < interval.high
    assert interval_of(frame, "coherent") is None
    stories = arms_of(made, MINI)[Arm("default")]
    share = interval_of(stories, "coherent")
    assert share is not None and share.mean == (stories["rules_broken"].astype(int) == 0).mean()


def test_a_run_of_ones_own_comes_before_the_record(made: Recorded, ship: Made, tmp_path: Path) -> None:
    ship(made)
    prompts = [Prompt("own-1", "the house"), Prompt("own-2", "the senate")]
    units = [unit_of(WORLDS[ENGLISH], Arm("rws", 2.0), prompt, "test") for prompt in prompts]
    row = {"text": "a", "final_reward": -3.0, "log_prob": -40.0, "forwards": 16, "reward_calls": 16}
    folder = tmp_path / "evidence" / "units-abc"
    folder.mkdir(parents=True)
    hashes = ["1" * 64, "2" * 64]
    write_part(folder, units, hashes, [[row], [row]])
    write_manifest(folder, 0, hashes)
    write_json(tmp_path / "evidence" / "about.json", {"command": "evidence --prompts 2", "date": "2026-01-01"})
    own = evidence_of(tmp_path)
    assert "this page's own run" in source_line(own) and "--prompts 2" in source_line(own)
    frame = arms_of(own, ENGLISH)[Arm("rws", 2.0)]
    assert list(frame.index) == ["own-1", "own-2"] and (frame["reward"] == -3.0).all()
    assert evidence_of(tmp_path / "elsewhere") is made


@pytest.fixture(scope="module")
def record() -> Recorded:
    return evidence_record()


@pytest.fixture
def tabled(record: Recorded, monkeypatch: pytest.MonkeyPatch) -> Exhibit:
    monkeypatch.setattr(evidence, "evidence_of", lambda runs: record)
    return evidence.exhibit(Path("runs"))


def test_the_table_has_all_verdicts_and_its_csv_all_rows(record: Recorded, tabled: Exhibit, tmp_path: Path) -> None:
    assert "better than all three" in tabled.conclusions[0] and "equivalent to all three" in tabled.conclusions[0]
    rows = comparisons_of(record)
    (table,) = (table for table in tabled.tables if table.name == "evidence_comparisons")
    assert sum(row[verdict] for row in table.shown for verdict in VERDICTS) == len(rows) == len(table.rows)
    save("evidence", tabled, tmp_path)
    with (tmp_path / "tables" / "evidence_comparisons.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)
