"""Results as they are read: a run's rows as two tables, and claims that are kept as they are checked."""

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from paper_figures.runner import ResultsWarning, Unit, read_failures, read_results, read_unit_rows
from paper_figures.runner.parts import part_name, write_part

BASE = Unit(experiment="study", prompt="why?", strategy={"name": "default"})


def stored(folder: Path, *units: tuple[Unit, list[dict[str, Any]]]) -> Path:
    """Write rows of units as a run leaves them, one part each, and return the run's folder."""
    for number, (unit, rows) in enumerate(units):
        write_part(folder / unit.experiment / "units-abc", [unit], [f"{unit.experiment}{number}"], [rows])
    return folder


def unit(strategy: dict[str, Any], **labels: Any) -> Unit:
    return replace(BASE, strategy=strategy, labels=labels)


@pytest.mark.parametrize("name", ["a.parquet", "a.failed.json"])
def test_a_file_that_may_never_end_is_named_and_not_read(tmp_path: Path, name: str) -> None:
    folder = stored(tmp_path, (BASE, [{"text": "so"}])) / "study" / "units-abc"
    os.symlink("/dev/null", folder / name)  # as a pipe would be, but that ends where it is read
    with pytest.raises((ResultsWarning, ValueError), match=f"{name}.* no regular file"), warnings.catch_warnings():
        warnings.simplefilter("error")
        read_unit_rows(tmp_path)
        read_failures(tmp_path)


ABSENT = [(column, None) for column in ("strategy", "history", "judges", "unit_fields")]
NO_TEXTS = [[None, []], [["a"], None], [[1], [2]], ["a", "b"]]


@pytest.mark.parametrize(
    ("column", "values"), [*ABSENT, *((column, values) for column in ("history", "judges") for values in NO_TEXTS)]
)
def test_an_incomplete_part_is_named_and_left_out(tmp_path: Path, column: str, values: list[Any] | None) -> None:
    whole, cut = [unit({"name": "temperature", "scale": c}) for c in (2.0, 3.0)]
    stored(tmp_path, (whole, [{"text": "so"}]), (cut, [{"text": "no"}, {"text": "never"}]))
    path = tmp_path / "study" / "units-abc" / part_name(["study1"])
    table = pq.read_table(path, partitioning=None)
    message = "it does not say which units it holds"
    if values is None:
        pq.write_table(table.drop_columns([column]), path)
    else:
        message = "history and judges of each row must be lists of texts"
        pq.write_table(table.set_column(table.schema.get_field_index(column), column, [values]), path)
    with pytest.warns(ResultsWarning, match=rf"{path.name}: {message}$"):
        assert read_results(tmp_path).answers["text"].tolist() == ["so"]


@pytest.mark.parametrize("label", ["reward_scale", "number", "at"])
def test_every_name_that_studies_have_for_the_scale_of_an_arm_is_read(tmp_path: Path, label: str) -> None:
    constants = [unit({"name": "temperature", "scale": c}, method="constant", **{label: 8.0}) for c in (2.5, 3.5)]
    guided = unit({"name": "rws", "reward_scale": 8.0}, method="rws", **{label: 8.0})
    plain = unit({"name": "default"}, method="default", **{label: None})
    unnamed = unit({"name": "temperature", "scale": 4.0})
    rows = [{"text": "so", "mean_factor": 1.0}]
    answers = read_results(stored(tmp_path, *((each, rows) for each in (*constants, guided, plain, unnamed)))).answers
    assert answers.groupby(["strategy", "scale"]).size().to_dict() == {
        ("constant", 8.0): 2,
        ("default", 1.0): 1,
        ("rws", 8.0): 1,
        ("temperature", 4.0): 1,
    }


def test_measures_and_timings_are_no_answers(tmp_path: Path) -> None:
    dialogue = replace(BASE, history=("who?", "me"), labels={"answer": "so"}, predictor=None)
    score = replace(dialogue, strategy={"name": "score"}, judges=("mini",))
    perplexity = replace(dialogue, strategy={"name": "perplexity"}, causal="mini-causal")
    program = replace(dialogue, strategy={"name": "execute"})
    folder = stored(
        tmp_path,
        (replace(BASE, history=("who?", "me")), [{"text": "so"}]),
        (score, [{"score": 1.5, "normalised_score": 0.5}]),
        (perplexity, [{"nll": 2.0, "causal_tokens": 2, "perplexity": 2.7}]),
        (program, [{"passed": True, "status": "passed"}]),
        (replace(BASE, strategy={"name": "timing"}), [{"timed_seconds": 0.1}]),
    )
    results = read_results(folder)
    assert results.answers["text"].tolist() == ["so"]
    assert results.scores.set_index("measure")["judge"].dropna().to_dict() == {
        "score": "mini",
        "perplexity": "mini-causal",
    }
    assert results.others["strategy"].value_counts().to_dict() == {"timing": 1}
    assert len(results.answers.merge(results.scores, on=["experiment", "prompt", "history", "text"])) == 3
    assert len(read_unit_rows(folder)) == 1 + 3 + 1
    assert repr(results) == "Results(1 answers of 1 arms, 3 scores by 2 judges, 1 other rows)"
