"""Figures and tables from small runs made here, and from a user's own: numbers are the inputs', and misuse is told."""

import json
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from command_lines import figures as main
from handmade_runs import END, read_csv, summary_row, write_commit_order, write_run
from json_files import write_json

from paper_figures.commands import figures
from paper_figures.exhibits import Exhibit, MissingRun, fig1_commit_order, table4_humaneval
from paper_figures.exhibits.shared.traces import STRATEGIES, commit_orders
from paper_figures.report.provenance import run_facts
from rws_decode import CallableReward

NAMES = ("fig1_commit_order", "appendix_d")
LENGTH, BLOCK = 8, 4


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "out" / "runs"
    table = torch.randn(2 + LENGTH, 6, generator=torch.Generator().manual_seed(0))
    table[-2:, END] = 9.0  # the last two positions end the text
    table[:-2, END] = -9.0
    prompts = {example: f"prompt <{example}>" for example in (5, 2)}
    guide = CallableReward(lambda prompt, answer: float(len(answer)), name="length")
    return write_commit_order(folder, table, prompts, guide, 8.0, steps=4, block=BLOCK)


@pytest.fixture(scope="module")
def out(runs: Path) -> Path:
    assert main([*NAMES, "--runs", str(runs), "--out", str(runs.parent), "--workers", "0"]) == 0
    return runs.parent


def test_commit_order_shows_the_traces(runs: Path, out: Path) -> None:
    orders = commit_orders(runs)
    assert orders.drawn == 5 and list(orders.traces) == [5, 2]
    panels = fig1_commit_order.draw(orders).axes
    assert panels[-1].get_xlabel().startswith("position in the answer")
    for axes, name in zip(panels, STRATEGIES, strict=True):
        trace = orders.traces[5][name]
        assert f"GOD {trace.god_tokens:.2f} tokens, {trace.god_steps:.2f} steps" in axes.get_title(loc="left")
        lines = {line.get_label(): line for line in axes.lines}
        text, filler = lines["token of the text"], lines["end-of-text filler"]
        assert np.array_equal([*text.get_ydata(), *filler.get_ydata()], trace.commit_step)
        assert np.array_equal(filler.get_xdata(), [LENGTH - 2, LENGTH - 1])
        assert filler.get_markerfacecolor() == "none" != text.get_markerfacecolor()
    rows = read_csv(out / "tables" / "fig1_commit_order.csv")
    for index, traces in orders.traces.items():
        for name, trace in traces.items():
            (row,) = [row for row in rows if row["prompt"] == str(index) and row["strategy"] == name]
            assert (float(row["GOD, tokens"]), float(row["GOD, steps"])) == (trace.god_tokens, trace.god_steps)
            assert row["tokens of text"] == str(LENGTH - 2)


def test_a_missing_run_is_told_before_anything_is_drawn(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(_: Path) -> Exhibit:
        raise AssertionError("an exhibit was drawn")

    monkeypatch.setattr(fig1_commit_order, "exhibit", drawn)
    out = tmp_path / "out"
    assert main([*NAMES, "fig6_keyword_task", "ledger", "--runs", str(runs), "--out", str(out), "--workers", "0"]) == 2
    message = capsys.readouterr().err
    path, made_by = runs / "keywords" / "results.json", f"rws experiment keywords --out {runs}"
    assert f"fig6_keyword_task needs {path}, which is missing: make it with {made_by}" in message
    assert message.endswith("; missing too: claims\n") and message.count("\n") == 1
    assert not out.exists()


@pytest.mark.long
def test_other_processes_draw_the_same_bytes(runs: Path, out: Path, tmp_path: Path) -> None:
    assert main([*NAMES, "--runs", str(runs), "--out", str(tmp_path), "--workers", "2"]) == 0
    here, there = ({path.name: path.read_bytes() for path in folder.glob("*/fig1*")} for folder in (out, tmp_path))
    assert len(here) > 3 and here == there


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.long)])
def test_what_cannot_be_drawn_loses_no_other_exhibit(
    workers: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("commit-order", "temperature"):
        (tmp_path / name).mkdir()
    results = (runs / "commit-order" / "results.json").read_text()
    (tmp_path / "commit-order" / "results.json").write_text(results)
    with pytest.raises(MissingRun, match=r"left-to-right-5\.parquet is missing"):
        commit_orders(tmp_path)
    for path in (runs / "commit-order").glob("*.parquet"):
        (tmp_path / "commit-order" / path.name).symlink_to(path)
    (tmp_path / "temperature" / "results.json").write_text("{")
    out = tmp_path / "out"
    assert main([*NAMES, "table8_temperature", "--runs", str(tmp_path), "--out", str(out), "--workers", workers]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "table8_temperature: " in last and "is not JSON" in last and f"the other exhibits are below {out}" in last
    assert sorted(path.stem for path in (out / "figures").glob("*.json")) == ["appendix_d", "fig1_commit_order"]
    page = (out / "index.html").read_text(encoding="utf-8")
    assert 'id="fig1_commit_order"' in page and 'id="table8_temperature"' not in page
    if workers == "0":  # nor does a process that dies
        dies = mock.Mock(side_effect=BrokenProcessPool("a process ended"))
        monkeypatch.setattr(
            figures,
            "_draw",
            lambda name, *rest, draw=figures._draw: dies() if name == "appendix_d" else draw(name, *rest),
        )
        again = ["--runs", str(runs), "--out", str(tmp_path / "again"), "--workers", "0"]
        assert main([*NAMES, *again]) == 2
        assert "appendix_d: a process ended" in capsys.readouterr().err.splitlines()[-1]
        assert [path.stem for path in (tmp_path / "again" / "figures").glob("*.json")] == ["fig1_commit_order"]


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
    assert "model llada" in table4_humaneval.exhibit(tmp_path).tables[0].caption
    facts = run_facts(tmp_path, "humaneval")
    assert facts is not None and facts["settings"]["data"] == "text:prompts.txt"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"schema": "rws_decode.experiment.results", "version": 2}, "rws_decode.experiment.results of version 2"),
        ({"schema": "of.another", "version": 3}, "of.another of version 3"),
        *(({"tables": tables}, "without rows") for tables in ([], {"pass_at_k": {"caption": ""}}, {"pass_at_k": 3})),
    ],
)
def test_results_of_another_schema_or_without_tables_are_refused_in_one_line(
    changes: dict[str, Any], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _humaneval(tmp_path) / "humaneval" / "results.json"
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | changes)
    out = tmp_path / "out"
    assert main(["table4_humaneval", "--runs", str(tmp_path), "--out", str(out), "--workers", "0"]) == 2
    progress, message = capsys.readouterr().err.splitlines()
    assert progress.startswith("figures: 1 of 1 exhibit")
    assert reason in message and "experiment humaneval" in message
    assert not out.exists()
