"""The diversity experiment on tiny checkpoints: distinct-n counted by hand from what was decoded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from study_runs import frame_of, save_models

from paper_figures.__main__ import main
from paper_figures.studies.design.methods import COMPARED
from paper_figures.studies.diversity import tables
from paper_figures.studies.summaries.answers import answers_of
from paper_figures.table import Table


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [*save_models(tmp_path_factory.mktemp("models")), "--data", "examples:all", "--prompts", "4"]


@pytest.fixture(scope="module")
def finished(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run the experiment once, for tests that only read it."""
    out = tmp_path_factory.mktemp("finished")
    assert main(["experiment", "diversity", *options, "--out", str(out)]) == 0
    yield out


@pytest.fixture(scope="module")
def answers(finished: Path) -> pd.DataFrame:
    return answers_of(frame_of(finished))


@pytest.fixture(scope="module")
def named_tables(finished: Path) -> dict[str, Table]:
    return {table.name: table for table in tables(frame_of(finished))}


def texts_of(answers: pd.DataFrame, guide: str, method: str) -> list[list[str]]:
    rows = answers[(answers["guide"] == guide) & (answers["method"] == method)].sort_values("example")
    return [text.split() for text in rows["text"]]


def distinct(lines: list[list[str]], n: int) -> float:
    grams = {tuple(line[start : start + n]) for line in lines for start in range(len(line) - n + 1)}
    total = sum(len(line) for line in lines)
    return len(grams) / total if total else 0.0


def test_table_counts_different_words_over_all_words(answers: pd.DataFrame, named_tables: dict[str, Table]) -> None:
    rows = pd.DataFrame(named_tables["distinct"].rows)
    assert len(rows) == 2 * len(COMPARED) and set(rows["answers"]) == {4}
    assert [methods[0] for methods in rows.groupby("guide")["method"].agg(list)] == ["rws", "rws"]
    for _, row in rows.iterrows():
        lines = texts_of(answers, row["guide"], row["method"])
        assert row["distinct_1"] == pytest.approx(distinct(lines, 1))
        assert row["distinct_2"] == pytest.approx(distinct(lines, 2))
        assert row["words"] == sum(map(len, lines)) / 4
        assert row["repeated"] == 1 - len({tuple(line) for line in lines}) / 4


def test_differences_are_of_the_same_prompts_and_at_equal_length(
    answers: pd.DataFrame, named_tables: dict[str, Table]
) -> None:
    rows = pd.DataFrame(named_tables["differences"].rows)
    assert len(rows) == 2 * (len(COMPARED) - 1) * 4 and set(rows["pairs"]) == {4}
    for _, row in rows.iterrows():
        pairs = list(
            zip(texts_of(answers, row["guide"], "rws"), texts_of(answers, row["guide"], row["against"]), strict=True)
        )
        if row["length"] == "equal":
            pairs = [(a[: min(len(a), len(b))], b[: min(len(a), len(b))]) for a, b in pairs]
        first, second = (distinct([pair[side] for pair in pairs], row["n"]) for side in (0, 1))
        assert (row["rws"], row["other"]) == (pytest.approx(first), pytest.approx(second))
        assert row["difference"] == pytest.approx(first - second) and row["low"] <= row["difference"] <= row["high"]
        assert 0 < row["p"] <= row["p_holm"] <= 1


def test_holm_is_over_the_guides(named_tables: dict[str, Table]) -> None:
    rows = pd.DataFrame(named_tables["differences"].rows)
    for _, family in rows.groupby(["against", "n", "length"]):
        least, most = sorted(family["p"])
        assert sorted(family["p_holm"]) == pytest.approx(sorted([min(1, 2 * least), max(min(1, 2 * least), most)]))


def test_paper_stands_beside_and_is_not_written(named_tables: dict[str, Table], finished: Path) -> None:
    printed = {row["model"]: row["distinct_1"] for row in named_tables["printed: table6_diversity"].rows}
    assert printed["Default"] == 0.1885 and printed["LlamaOB"] == 0.199
    assert {path.name for path in (finished / "diversity").glob("*.md")} == {"distinct.md", "differences.md"}
    assert not any("paper" in column for column in named_tables["distinct"].rows[0]), "guides that the paper has not"
