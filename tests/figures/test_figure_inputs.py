"""What a user's own runs and folders may be like: paths as names, other schemas, half of a run, half of a page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from handmade_runs import read_csv, summary_row, write_run

from paper_figures.__main__ import main
from paper_figures.exhibits.runs import read_run
from paper_figures.figures import fig1_commit_order, fig4_worked_decode
from paper_figures.report.page import read_records
from paper_figures.report.provenance import run_facts
from paper_figures.tables import table4_humaneval, table7_reward_statistics
from rws_decode.common.files import write_json

FOLDER = "/somewhere/of/mine"
GUIDES = [f"{FOLDER}/one/final", f"{FOLDER}/two/final"]


def _humaneval(runs: Path) -> Path:
    rows = [summary_row(guide, "rws", "pass@1", 50.0) for guide in GUIDES]
    rows += [summary_row(guide, "default", "pass@1", 25.0, (-25.0, -50.0, -5.0, 0.04)) for guide in GUIDES]
    data = f"text:{FOLDER}/prompts.txt"
    return write_run(runs, "humaneval", {"pass_at_k": rows}, rewards=GUIDES, model=f"{FOLDER}/llada", data=data)


def test_folders_of_models_and_data_are_not_shown(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["table4_humaneval", "--runs", str(_humaneval(tmp_path)), "--out", str(out), "--workers", "0"]) == 0
    for path in (path for path in out.rglob("*") if path.suffix in (".html", ".json", ".csv", ".md", ".tex")):
        if path.parent.name != "humaneval":  # the run's own file, copied as it is
            assert FOLDER not in path.read_text(encoding="utf-8"), path
    lines = {row["method"]: row for row in read_csv(out / "tables" / "table4_humaneval.csv")}
    assert lines["RWS, one/final"]["here: pass@1, %"] == "50.0"
    caption = table4_humaneval.exhibit(tmp_path).tables[0].caption
    assert "model llada" in caption
    facts = run_facts(tmp_path, "humaneval")
    assert facts is not None and facts["settings"]["data"] == "text:prompts.txt"


def test_a_trace_is_drawn_where_its_model_is_not(figure_runs: Path, tmp_path: Path) -> None:
    shutil.copytree(figure_runs / "commit-order", tmp_path / "commit-order")
    path = tmp_path / "commit-order" / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    results["settings"]["model"] = f"{FOLDER}/llada"
    write_json(path, results)
    names = ["fig1_commit_order", "fig2_masking", "fig3_method", "fig4_worked_decode"]
    assert main([*names, "--runs", str(tmp_path), "--out", str(tmp_path / "out"), "--workers", "0"]) == 0
    assert FOLDER not in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    decode = fig4_worked_decode.compute(tmp_path).decodes["rws"]
    assert list(decode.words) == decode.trace.words(decode.trace.tokens)  # those of the trace: no tokenizer is there


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": "rws_decode.experiment.results", "version": 2}, "rws_decode.experiment.results of version 2"),
        ({"schema": "of.another", "version": 3}, "of.another of version 3"),
        *(({"tables": tables}, "without rows") for tables in ([], {"pass_at_k": {"caption": ""}}, {"pass_at_k": 3})),
    ],
)
def test_results_of_another_schema_or_without_tables_are_refused_in_one_line(
    changes: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _humaneval(tmp_path) / "humaneval" / "results.json"
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | changes)
    out = tmp_path / "out"
    assert main(["table4_humaneval", "--runs", str(tmp_path), "--out", str(out), "--workers", "0"]) == 2
    progress, message = capsys.readouterr().err.splitlines()
    assert progress.startswith("figures: 1 of 1 exhibit")
    assert said in message and "experiment humaneval" in message
    assert not out.exists()


def test_results_without_their_units_are_shown_as_far_as_they_go(figure_runs: Path, tmp_path: Path) -> None:
    (tmp_path / "reward-bench").mkdir()
    shutil.copy(figure_runs / "reward-bench" / "results.json", tmp_path / "reward-bench")
    run = read_run(tmp_path, "reward-bench")
    assert table7_reward_statistics.reached_in(run, figure_runs)
    assert not table7_reward_statistics.reached_in(run, tmp_path)
    exhibit = table7_reward_statistics.exhibit(tmp_path)
    assert exhibit.tables and exhibit.conclusions


def test_a_prompt_without_all_three_orders_is_left_out(figure_runs: Path, tmp_path: Path) -> None:
    shutil.copytree(figure_runs / "commit-order", tmp_path / "commit-order")
    path = tmp_path / "commit-order" / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    rows = [row | {"example": row["example"] + 1} for row in results["rows"] if row["method"] != "rws"]
    write_json(path, results | {"rows": [*rows, *results["rows"]]})
    assert list(fig1_commit_order.compute(tmp_path).traces) == [results["rows"][0]["example"]]
    write_json(path, results | {"rows": rows})
    with pytest.raises(ValueError, match="--retry-failed"):
        fig1_commit_order.compute(tmp_path)


@pytest.mark.parametrize("damage", ["picture", "record", "part"])
def test_half_an_exhibit_is_not_on_the_page_and_in_no_one_s_way(damage: str, tmp_path: Path) -> None:
    assert main(["appendix_d", "--out", str(tmp_path), "--runs", str(tmp_path / "runs")]) == 0
    assert list(read_records(tmp_path)) == ["appendix_d"]
    record = tmp_path / "figures" / "appendix_d.json"
    if damage == "picture":
        (tmp_path / "figures" / "appendix_d.png").unlink()
    else:
        content = json.loads(record.read_text(encoding="utf-8"))
        del content["tables"]
        record.write_text(json.dumps(content)[: None if damage == "part" else 40], encoding="utf-8")
    assert main(["table9_reward_models", "--out", str(tmp_path), "--runs", str(tmp_path / "runs")]) == 0
    assert list(read_records(tmp_path)) == ["table9_reward_models"]
    assert 'id="appendix_d"' not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_given_reward_scales_were_not_chosen(tmp_path: Path) -> None:
    _humaneval(tmp_path)
    path = tmp_path / "humaneval" / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    write_json(path, results | {"selection": None})
    exhibit = table4_humaneval.exhibit(tmp_path)
    assert "(given)" in exhibit.tables[0].caption
