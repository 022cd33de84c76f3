"""The diversity experiment on tiny checkpoints: its words, counted by hand."""

from pathlib import Path

import pytest
from command_lines import figures
from study_runs import save_models

from paper_figures.runner import read_results, read_unit_rows
from paper_figures.studies import diversity

METHODS = ("default", "rws", "constant")


def distinct(lines: list[list[str]], n: int) -> float:
    grams = {tuple(line[start : start + n]) for line in lines for start in range(len(line) - n + 1)}
    total = sum(len(line) for line in lines)
    return len(grams) / total if total else 0.0


def test_table_counts_different_words_over_all_words(tmp_path: Path) -> None:
    options = [*save_models(tmp_path), "--data", "examples:all", "--prompts", "4", "--methods", *METHODS]
    assert figures(["experiment", "diversity", *options, "--out", str(tmp_path / "out")]) == 0
    rows = next(table for table in diversity.tables(read_unit_rows(tmp_path / "out")) if table.name == "distinct").rows
    answers = read_results(tmp_path / "out").answers
    assert len(rows) == 2 * len(METHODS) and {row["answers"] for row in rows} == {4}
    for row in rows:
        group = answers[answers["strategy"] == row["method"]]
        texts = group if row["method"] == "default" else group[group["guide"] == row["guide"]]
        lines = [text.split() for text in texts["text"]]
        assert row["distinct_1"] == pytest.approx(distinct(lines, 1))
        assert row["distinct_2"] == pytest.approx(distinct(lines, 2))
        assert row["words"] == sum(map(len, lines)) / 4
        assert row["repeated"] == 1 - len({tuple(line) for line in lines}) / 4
