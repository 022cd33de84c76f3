"""Figures and tables from small runs made here: numbers are the inputs', and misuse is told."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from handmade_runs import END, read_csv, write_commit_order

from paper_figures.__main__ import main
from paper_figures.exhibits.exhibit import Exhibit, MissingRun
from paper_figures.exhibits.style import LINES
from paper_figures.figures import appendix_d, fig1_commit_order
from paper_figures.tables import table8_temperature
from rws_decode.common.files import write_json
from rws_decode.rewards import CallableReward
from rws_theory import crossings, max_probability
from rws_theory.printed import printed_in

NAMES = ("fig1_commit_order", "appendix_d", "table8_temperature")
LENGTH, BLOCK = 8, 4
SCALES = (0.01, 1.0, 8.0)
METHODS = ("temperature", "temperature-bf16", "rws", "constant", "shuffled", "flipped")
METRICS = ("perplexity", "coherent", "exact", "reward", "judge", "god_tokens", "god_steps", "keywords_included")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write both experiments' results as the experiments do, from a table of logits and made-up numbers."""
    folder = tmp_path_factory.mktemp("work") / "out" / "runs"
    _commit_order(folder)
    _temperature(folder)
    return folder


def _commit_order(folder: Path) -> None:
    table = torch.randn(2 + LENGTH, 6, generator=torch.Generator().manual_seed(0))
    table[-2:, END] = 9.0  # the last two positions end the text
    table[:-2, END] = -9.0
    prompts = {example: f"prompt <{example}>" for example in (5, 2)}
    guide = CallableReward(lambda prompt, answer: float(len(answer)), name="length")
    write_commit_order(folder, table, prompts, guide, 8.0, steps=4, block=BLOCK)


def _temperature(folder: Path) -> None:
    draw = np.random.default_rng(0)
    fields = ("perplexity", "coherent", "god_tokens", "god_steps", "exact", "judge")
    summary: list[dict[str, Any]] = []
    runs = [("default", 1.0), ("margin", None), *((method, scale) for method in METHODS for scale in SCALES)]
    for method, scale in runs:
        row: dict[str, Any] = {"method": method, "guide": "first", "scale": scale, "n": 4}
        for field in fields:
            value = float(draw.uniform(0.2, 0.8))
            row |= {field: value, f"{field}_low": value - 0.1, f"{field}_high": value + 0.1}
        row |= {"true_perplexity": None if method == "rws" else 2.5, "true_perplexity_n": 0 if method == "rws" else 3}
        row |= {"keywords_included": 3.5, "reward": 0.25, "mean_factor": (scale or 1.0) / 2}
        summary += [row, row | {"guide": "second", "perplexity": 99.0}]
    controls = [
        {"control": control, "guide": guide, "scale": scale, "metric": metric, "n": 4}
        | {"difference": 0.0, "low": -0.1, "high": 0.1, "p": 0.5, "p_holm": 1.0}
        for guide in ("first", "second")
        for control in ("constant", "shuffled", "temperature", "default", "flipped", "margin")
        for scale in SCALES
        for metric in METRICS
    ]
    controls[1] |= {"difference": 0.2, "p_holm": 0.04}
    controls[1] |= {"low": 0.05, "high": 0.3}
    settings = {"model": "tiny", "prompts": 4, "rewards": ["first", "second"]}
    tables = {
        name: {"caption": "", "rows": rows, "shown": rows}
        for name, rows in (("summary", summary), ("controls", controls))
    }
    results = {"settings": settings, "prompts": {"source": "made up", "test": 4, "validation": 0}, "selection": None}
    results |= {"units": "units-1", "seconds": 12.5, "tables": tables}
    (folder / "temperature" / "units-1" / "traces").mkdir(parents=True)
    write_json(folder / "temperature" / "results.json", results)
    for name in ("summary", "controls"):
        (folder / "temperature" / f"{name}.csv").write_text("x\n1\n")


@pytest.fixture(scope="module")
def out(runs: Path) -> Path:
    assert main([*NAMES, "--runs", str(runs), "--out", str(runs.parent), "--workers", "0"]) == 0
    return runs.parent


def test_every_name_gives_png_pdf_csv_and_markdown(out: Path) -> None:
    for name in NAMES:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        rows, text = read_csv(out / "tables" / f"{name}.csv"), (out / "tables" / f"{name}.md").read_text()
        assert rows and text.count("\n| ") == len(rows) + 1


def test_the_same_runs_give_the_same_files(runs: Path, out: Path, tmp_path: Path) -> None:
    assert main([*NAMES, "--runs", str(runs), "--out", str(tmp_path), "--workers", "0"]) == 0
    for folder in ("figures", "tables"):
        for path in (out / folder).iterdir():
            assert path.read_bytes() == (tmp_path / folder / path.name).read_bytes(), path.name


def test_appendix_d_draws_the_crossing_that_the_theory_proves() -> None:
    example = appendix_d.compute()
    (root,) = crossings([1.1, 0.6, 0.3], [1.0, 0.4, 0.4]).roots
    assert example.crossing == root == pytest.approx(10 * math.log((1 + math.sqrt(5)) / 2), abs=1e-9)
    panels = appendix_d.draw(example).axes
    for axes in panels:
        upright = [
            line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
        ]
        assert root in upright and 1.73 in upright
    curve = panels[0].lines[0]
    assert np.array_equal(curve.get_ydata(), max_probability([1.1, 0.6, 0.3], np.asarray(curve.get_xdata())))


def test_appendix_d_says_which_printed_numbers_are_wrong(out: Path) -> None:
    rows = {row["quantity"]: row for row in read_csv(out / "tables" / "appendix_d.csv")}
    assert {name for name, row in rows.items() if row["agrees to the digits printed"] == "False"} == {
        "P^a(2)",
        "P^b(2)",
        "crossing r",
    }
    assert float(rows["P^a(2)"]["here: computed"]) == pytest.approx(0.6370, abs=5e-5)
    assert rows["P^a(2)"]["paper: printed"] == "0.835"


def test_commit_order_shows_the_traces(runs: Path, out: Path) -> None:
    orders = fig1_commit_order.compute(runs)
    assert orders.drawn == 5 and list(orders.traces) == [5, 2]
    panels = fig1_commit_order.draw(orders).axes
    assert panels[-1].get_xlabel().startswith("position in the answer")
    for axes, name in zip(panels, fig1_commit_order.STRATEGIES, strict=True):
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


def test_without_an_end_of_text_nothing_is_filler(runs: Path, tmp_path: Path) -> None:
    results = json.loads((runs / "commit-order" / "results.json").read_text())
    results["settings"]["model"] = str(tmp_path / "plain")
    write_json(tmp_path / "plain" / "config.json", {})
    for row in results["rows"]:
        source = runs / "commit-order" / row["trace"]
        (tmp_path / "commit-order").mkdir(exist_ok=True)
        (tmp_path / "commit-order" / row["trace"]).write_bytes(source.read_bytes())
    write_json(tmp_path / "commit-order" / "results.json", results)
    orders = fig1_commit_order.compute(tmp_path)
    assert {count for row in orders.written.values() for count in row.values()} == {LENGTH}


def test_table_8_holds_the_printed_and_the_measured_numbers(runs: Path, out: Path) -> None:
    results = json.loads((runs / "temperature" / "results.json").read_text())
    summary = [row for row in results["tables"]["summary"]["rows"] if row["guide"] == "first"]
    ours = {row["scale"]: row for row in summary if row["method"] == "temperature"}
    printed = {row["scale"]: row for row in printed_in("table8_temperature")["rows"]}
    rows = {float(row["scale"]): row for row in read_csv(out / "tables" / "table8_temperature.csv")}
    assert rows.keys() == printed.keys() | ours.keys()
    for scale, row in rows.items():
        assert float(row["paper: perplexity"]) == printed[scale]["perplexity"]
        assert float(row["paper: GOD"]) == printed[scale]["god"]
        for field, column in (("perplexity", "perplexity"), ("coherent", "coherent"), ("god_steps", "GOD, steps")):
            cell = row[f"here: {column}"]
            assert float(cell) == ours[scale][field] if scale in ours else cell == ""


def test_table_8_draws_intervals_of_every_method(runs: Path) -> None:
    data = table8_temperature.compute(runs)
    panel = table8_temperature.draw(data).axes[0]
    drawn = {container.get_label(): container for container in panel.containers}
    for method in table8_temperature.DRAWN:
        line, _, (bars,) = drawn[LINES[method].label].lines
        assert line.get_ydata().tolist() == [row["perplexity"] for row in data.of(method)]
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        assert ends == pytest.approx(
            np.array([[row["perplexity_low"], row["perplexity_high"]] for row in data.of(method)])
        )
    assert panel.get_xscale() == "log"


def test_table_8_sets_rws_against_every_control_with_intervals_and_p(out: Path) -> None:
    text = (out / "tables" / "table8_differences.md").read_text()
    assert text.count("\n| ") == 1 + 6 * len(SCALES)
    assert "| constant of equal mean | 0.01 | +0.2 [+0.05, +0.3], p 0.04 * |" in text
    assert "| reward's sign turned | 8 | +0 [-0.1, +0.1], p 1 |" in text
    assert len(read_csv(out / "tables" / "table8_differences.csv")) == 6 * len(SCALES) * len(METRICS)
    record = json.loads((out / "figures" / "table8_temperature.json").read_text())
    assert "coherent higher at 1 and lower at 0 of 3 scales" in record["conclusions"][0]


def test_answers_without_coherence_or_perplexity_are_drawn_all_the_same(runs: Path, tmp_path: Path) -> None:
    results = json.loads((runs / "temperature" / "results.json").read_text())
    for row in results["tables"]["summary"]["rows"]:
        for field in ("coherent", "perplexity"):
            row |= dict.fromkeys((field, f"{field}_low", f"{field}_high"))
    controls = results["tables"]["controls"]
    controls["rows"] = [row for row in controls["rows"] if row["metric"] not in ("coherent", "perplexity")]
    write_json(tmp_path / "temperature" / "results.json", results)
    exhibit = table8_temperature.exhibit(tmp_path)
    (panel,) = exhibit.pictures[0].figure.axes
    assert panel.get_title(loc="left") == "Generation Order Deviation"
    assert "share coherent" not in exhibit.pictures[0].alt
    assert "coherent" not in exhibit.conclusions[0]


def test_json_lists_what_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["appendix_d", "--out", str(tmp_path), "--runs", str(tmp_path / "none"), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["written"]
    assert sorted(listed) == sorted(
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    )


def test_a_missing_run_is_told_before_anything_is_drawn(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(_: Path) -> Exhibit:
        raise AssertionError("an exhibit was drawn")

    for module in (fig1_commit_order, table8_temperature):
        monkeypatch.setattr(module, "exhibit", drawn)
    out = tmp_path / "out"
    assert main([*NAMES, "fig6_keyword_task", "ledger", "--runs", str(runs), "--out", str(out), "--workers", "0"]) == 2
    message = capsys.readouterr().err
    path, made_by = runs / "keywords" / "results.json", f"rws experiment keywords --out {runs}"
    assert f"fig6_keyword_task needs {path}, which is missing: make it with {made_by}" in message
    assert message.endswith("; missing too: claims\n") and message.count("\n") == 1
    assert not out.exists()


def test_a_misspelt_study_is_named_with_the_near_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fig1_commit_order, "NEEDS", ("comit-order",))
    assert main(["fig1_commit_order", "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "fig1_commit_order has 'comit-order' (is commit-order meant?)" in message and message.count("\n") == 1


def test_results_that_cannot_be_drawn_lose_no_other_exhibit(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "commit-order").symlink_to(runs / "commit-order")
    (tmp_path / "temperature").mkdir()
    (tmp_path / "temperature" / "results.json").write_text("{")
    out = tmp_path / "out"
    assert main([*NAMES, "--runs", str(tmp_path), "--out", str(out), "--workers", "0"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "table8_temperature: " in last and "is not JSON" in last and f"the other exhibits are below {out}" in last
    assert sorted(path.stem for path in (out / "figures").glob("*.json")) == ["appendix_d", "fig1_commit_order"]
    page = (out / "index.html").read_text(encoding="utf-8")
    assert 'id="fig1_commit_order"' in page and 'id="table8_temperature"' not in page


def test_a_missing_trace_is_a_missing_run(runs: Path, tmp_path: Path) -> None:
    write_json(
        tmp_path / "commit-order" / "results.json", json.loads((runs / "commit-order" / "results.json").read_text())
    )
    with pytest.raises(MissingRun, match=r"left-to-right-5\.parquet is missing"):
        fig1_commit_order.compute(tmp_path)


def test_an_unknown_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fig99", "--out", str(tmp_path / "out")]) == 2
    assert "NAME is 'fig99'" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["appendix_d", "--out", str(tmp_path / "file")]) == 2


def test_strategies_look_different_in_grey() -> None:
    for names in (table8_temperature.DRAWN, ("a", "b")):
        looks = [LINES[name] for name in names]
        for field in ("color", "marker", "dash"):
            assert len({str(getattr(look, field)) for look in looks}) == len(looks)
