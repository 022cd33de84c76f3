"""Tables are of one run: of what is left where a part failed, and not of what other runs left in the folder."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_lines import figures as main
from documented_commands import section
from study_runs import answer_row as answer
from study_runs import save_models
from study_runs import score_row as score

from paper_figures.runner import read_results
from paper_figures.studies import answers, controls, humaneval, reward_bench

JUDGES = ("one", "two", "three")


@pytest.mark.parametrize("module", [controls, humaneval, reward_bench], ids=lambda module: module.NAME)
def test_no_result_is_no_table(module: Any) -> None:
    unjudged = pd.DataFrame([answer("rws", "a"), answer("default", "b")])
    for frame in (pd.DataFrame(), unjudged, unjudged[unjudged["method"] == "rws"]):
        assert [table for table in module.tables(frame) if not table.name.startswith("printed: ")] == []


def test_the_study_that_is_shown_to_contributors_makes_its_table() -> None:
    text = section("docs/guides/add-study.md", "Add an option, a column or a study")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(code, "add-study.md", "exec"), names)
    rows = [answer(method, f"{method} said so", example) for method in ("default", "rws") for example in range(3)]
    (table,) = names["tables"](pd.DataFrame(rows))
    means = {(row["method"], row["mean"]) for row in table.rows if row["measure"] == "words"}
    assert means == {("rws", 3), ("default", 3)}
    assert names["WordsOptions"](out="x").prompts == 8


def test_mean_over_the_other_judges_is_over_all_of_them() -> None:
    rows = [answer("rws", "a"), answer("default", "b"), answer("rws", "a", 1), answer("default", "b", 1)]
    rows += [score(judge, "b", 0.0, example) for judge in JUDGES for example in (0, 1)]
    rows += [score("one", "a", 1.0), score("two", "a", 1.0), score("three", "a", -1.0)]
    rows += [score("one", "a", 1.0, 1), score("two", "a", 1.0, 1)]  # judge three failed at prompt 1
    judged = answers.judged_by_guide(answers.answers_of(pd.DataFrame(rows)))
    nets = {(row["method"], row["example"]): row["others_net"] for row in judged.to_dict("records")}
    assert nets["rws", "0"] == 0 and pd.isna(nets["rws", "1"])


def test_best_of_n_takes_no_dialogue_that_broke_off() -> None:
    rows = [answer("rws", f"r{turn}", turn=turn, history=["p", "r0"] * turn) for turn in (0, 1)]
    rows += [answer("default", f"d{turn}", turn=turn, history=["p", "d0"] * turn) for turn in (0, 1)]
    for sample, turns in ((0, (0, 1)), (1, (0,))):
        rows += [answer("sample", f"s{sample}{t}", turn=t, sample=sample, history=["p", "s"] * t) for t in turns]
    values = {"r0": 0.0, "r1": 0.0, "d0": 0.0, "d1": 0.0, "s00": 5.0, "s01": -5.0, "s10": 4.0}
    rows += [score("one", row["text"], values[row["text"]], history=row["history"]) for row in list(rows)]
    best = answers.answers_of(pd.DataFrame(rows)).query("method == 'best-of-n'")
    assert sorted(best["text"]) == ["s00", "s01"] and set(best["reward_calls"]) == {1, 2}


def test_tables_do_not_follow_the_order_of_the_rows() -> None:
    methods = ("default", "rws", "random", "constant")
    rows = [answer(method, f"{method} {example}", example) for method in methods for example in range(3)]
    rows += [score("one", row["text"], len(row["text"]) % 7, int(row["example"])) for row in list(rows)]
    forward, backward = (reward_bench.tables(pd.DataFrame(order)) for order in (rows, rows[::-1]))
    assert [table.rows for table in forward] == [table.rows for table in backward]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Save tiny checkpoints, and name them in options without the reward scale."""
    root = tmp_path_factory.mktemp("models")
    save_models(root)
    words = ["--model", str(root / "model"), "--rewards", str(root / "guide"), "--judges", "--prompts", "3"]
    words += ["--length", "4", "--steps", "4", "--block", "4"]
    return [*words, "--methods", "rws", "constant"]


def told(words: list[str], out: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the tables that an experiment prints, after seeing that `summarize` prints the same."""
    capsys.readouterr()
    assert main(["experiment", "controls", *words, "--out", str(out), "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert main(["summarize", str(out / "controls"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"] == {"controls": tables}
    return tables


def test_summarize_repeats_the_last_run(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = told([*options, "--reward-scale", "8"], tmp_path, capsys)
    assert told([*options, "--reward-scale", "8", "--seed", "3", "--prompts", "2"], tmp_path, capsys) != first
    assert told([*options, "--reward-scale", "8"], tmp_path, capsys) == first
    assert read_results(tmp_path).answers["study_seed"].tolist() == [0] * 9
    assert set(read_results(tmp_path, every_run=True).answers["study_seed"]) == {0, 3}
    assert main(["summarize", str(tmp_path)]) == 0
    assert "rows of other runs" in capsys.readouterr().err
    assert main(["summarize", str(tmp_path), "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    header, *rows = [line.split() for line in lines if line.startswith(("method", "rws"))]
    assert header[1] == "study_seed" and [row[1] for row in rows] == ["0", "3"]  # each seed on a line of its own
