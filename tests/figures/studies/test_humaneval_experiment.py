"""Pass@k by method: the table is counted from the rows."""

import json
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from command_lines import figures as main
from study_runs import answer_row, save_small_models

from paper_figures.runner import read_unit_rows
from paper_figures.statistics import pass_at_k
from paper_figures.studies import humaneval
from rws_decode.extra.stories.answers import judge


def test_programs_of_answers_pass_where_they_are_right() -> None:
    """Half of the answers of rws are right, so pass@1 is 50 percent and that of the default 100."""
    rows = []
    for number, method in product((0, 1), ("default", "rws")):
        row = answer_row(method, f"{method} {number}", number, problem=f"p {number}")
        ran = {"strategy": "execute", "prompt": row["prompt"], "answer": row["text"], "judges": [], "history": []}
        rows += [row, ran | {"passed": method == "default" or number == 0, "status": "", "how": ""}]
    table = humaneval.tables(pd.DataFrame(rows))[0]
    measured = {(row["method"], row["measure"]): row for row in table.rows}
    assert measured["rws", "pass@1"]["mean"] == 50.0 and measured["default", "pass@1"]["mean"] == 100.0
    assert measured["default", "pass@1"]["difference"] == 50.0 and measured["default", "pass@1"]["pairs"] == 2


def test_samples_of_puzzles_are_counted_without_bias(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = "--prompts 2 --samples 5 --decode-temperature 2 --json --out".split()
    assert main(["experiment", "humaneval", *save_small_models(tmp_path / "models"), *more, str(tmp_path)]) == 0
    table_rows = json.loads(capsys.readouterr().out)["tables"]["pass_at_k"]
    frame = read_unit_rows(tmp_path)
    rws = frame[frame["method"] == "rws"]
    assert rws.groupby("example").size().tolist() == [5, 5] and rws["seed"].nunique() == 5
    assert rws.groupby("example")["text"].nunique().min() > 1
    right = [
        [judge(row["prompt"], row["text"]).coherent for _, row in rows.iterrows()] for _, rows in rws.groupby("example")
    ]
    for k in (1, 5):
        (row,) = [row for row in table_rows if (row["method"], row["measure"]) == ("rws", f"pass@{k}")]
        assert row["n"] == 2
        assert row["mean"] == pytest.approx(100 * sum(pass_at_k(5, sum(passes), k) for passes in right) / 2)
