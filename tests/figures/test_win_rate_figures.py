"""Tables 1 and 5 and Figure 5: measured and printed numbers reach cells, marks and sentences."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from json_files import write_json
from study_runs import answer_row, score_row

from paper_figures.exhibits import fig5_mean_win_rate, table1_win_rate
from paper_figures.exhibits.shared.results import Difference, rws_minus
from paper_figures.studies import reward_bench
from rws_theory.printed import printed_in

GUIDES = {"grm": 2.0, "mini": 4.0}
JUDGES = (*GUIDES, "third")
METHODS = ("default", "rws", "constant", "shuffled")
PROMPTS = 25


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """Return a study's results, its tables made by the experiment from made-up answers and scores."""
    draw, rows = np.random.default_rng(3), []
    for index, method in itertools.product(range(PROMPTS), METHODS):
        for guide, scale in [("", None)] if method == "default" else GUIDES.items():
            same = index % 5 == 0 or (guide, method) == ("mini", "shuffled")
            text = f"same {index}" if same else f"{method} {guide} {index}"
            god = float(draw.integers(40)) / 4
            rows.append(answer_row(method, text, index, guide, reward_scale=scale, god_tokens=god))
    for (prompt, text), judge in itertools.product(sorted({(row["prompt"], row["text"]) for row in rows}), JUDGES):
        # GRM likes its own RWS, and nobody else does; mini dislikes its own.
        taste = {("rws grm", "grm"): 4.0, ("rws mini", "mini"): -4.0}.get((text.rsplit(" ", 1)[0], judge), 0.0)
        score = float(draw.normal(taste))
        rows.append(score_row(judge, text, score, prompt=prompt, normalised_score=score / 2))
    made = [table for table in reward_bench.tables(pd.DataFrame(rows)) if not table.name.startswith("printed: ")]
    named = {each.name: {"caption": each.caption, "rows": [*each.rows], "shown": [*each.shown]} for each in made}
    results = {"settings": {"model": "mini", "rewards": [*GUIDES], "length": 64, "steps": 32, "block": 32}}
    results |= {"prompts": {"source": "stories:all", "test": PROMPTS, "validation": 6}, "selection": GUIDES}
    results |= {"units": "units-1", "seconds": 2.5, "tables": named}
    return json.loads(json.dumps(results, allow_nan=False))


@pytest.fixture(scope="module")
def runs(results: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_json(folder / "reward-bench" / "results.json", results)
    return folder


def _row(results: dict[str, Any], table: str, **match: Any) -> dict[str, Any]:
    (row,) = (row for row in results["tables"][table]["rows"] if match.items() <= row.items())
    return row


def test_differences_need_an_interval_without_zero_and_a_small_p() -> None:
    def sign(low: float, high: float, p: float | None) -> int:
        return Difference((low + high) / 2, low, high, p).sign

    assert [sign(0.1, 0.3, 0.05), sign(0.1, 0.3, 0.06), sign(0.0, 0.3, 0.01), sign(0.1, 0.3, None)] == [1, 0, 0, 1]
    assert [sign(-0.3, -0.1, 0.01), sign(1.0, 1.0, 0.001), sign(1.0, 1.0, None)] == [-1, 1, 0]


def test_a_difference_is_turned_to_rws_minus_the_method() -> None:
    row = {"difference": 0.1, "difference_low": -0.2, "difference_high": 0.4, "p_holm": 0.7}
    assert rws_minus(row) == Difference(-0.1, -0.4, 0.2, 0.7)
    assert rws_minus(row | {"difference": None}) is None and rws_minus(None) is None
    nothing = {"difference": -4e-16, "difference_low": 0.0, "difference_high": 0.0, "p_holm": 1.0}
    tiny = rws_minus(nothing)
    assert tiny is not None and tiny.text() == "0 in every prompt"


def test_table_1_has_the_printed_and_the_measured_numbers(results: dict[str, Any], runs: Path) -> None:
    table, minus = table1_win_rate.tables(table1_win_rate.compute(runs))
    rows = {row["reward model"]: row for row in table.rows}
    texts = {row["reward model"]: row for row in table.shown}
    win, loss = (f"paper: {name}" for name in ("RWS wins, W/(W+L+T), %", "default wins, %"))
    printed = printed_in("table1_win_rate")
    for row in printed["rows"]:
        line = rows[row["model"]]
        assert [line["paper: GOD"], line[win], line[loss]] == [row[name] for name in ("god", "win", "default_win")]
    assert rows["confidence (default)"]["paper: GOD"] == printed["default_god"]
    assert rows["Skywork"]["here: net, points"] is None and rows["mini"][win] is None
    for guide, name in (("grm", "GRM"), ("mini", "mini")):
        line = rows[name]
        for column, measure in ((win, "win"), (loss, "loss")):
            row = _row(results, "win_rates", guide=guide, method="rws", measure=measure)
            column = column.replace("paper", "here")
            assert (line[column], line[f"{column}, low"]) == (row["mean"], row["low"])
            assert line[column] == pytest.approx(100 * round(line[column] * PROMPTS / 100) / PROMPTS)
        net = _row(results, "win_rates", guide=guide, method="rws", measure="net")
        default = _row(results, "win_rates", guide=guide, method="default", measure="net")
        assert (line["here: net, points"], line["here: p of net"]) == (net["mean"], default["p_holm"])
        mean, low, high = (f"{round(net[end], 6) + 0.0:+.0f}" for end in ("mean", "low", "high"))
        interval = f"{mean} in every prompt" if net["low"] == net["high"] else f"{mean} [{low}, {high}]"
        assert texts[name]["here: net, points"] == interval
        constant = _row(results, "win_rates", guide=guide, method="constant", measure="net")
        (cells,) = (r for r in minus.shown if (r["guide"], r["RWS minus"]) == (name, "fixed factor of equal mean"))
        wanted = rws_minus(constant)
        assert wanted is not None and cells["net by own reward, points"] == wanted.text()
    assert len(minus.shown) == len(GUIDES) * (len(METHODS) - 1)


def test_figure_5_draws_the_means_and_the_printed_ones(results: dict[str, Any], runs: Path) -> None:
    data = fig5_mean_win_rate.compute(runs)
    assert [method for method, _ in data.lines] == ["rws", "constant", "shuffled"] and data.guides == 2
    assert "Mean over 2 rewards" in " ".join(fig5_mean_win_rate.exhibit(runs).conclusions)
    top, own_panel, other = fig5_mean_win_rate.draw(data).axes
    text = printed_in("table1_win_rate")["text"]
    printed = [container.lines[0] for container in top.containers]
    assert [mark.get_xdata()[0] for mark in printed] == [text["win_mean"], text["default_mean"]]
    assert {mark.get_markerfacecolor() for mark in printed} == {"white"}
    for axes, relation in ((own_panel, "own"), (other, "other")):
        for method, *pair in zip([m for m, _ in data.lines], axes.containers[::2], axes.containers[1::2], strict=True):
            for container, measure, label in zip(pair, ("win", "loss"), ("method wins", "default wins"), strict=True):
                row = _row(results, "mean_win_rates", relation=relation, method=method, measure=measure)
                assert container.get_label() == f"{label}, here"
                assert container.lines[0].get_xdata()[0] == row["mean"]
                assert container.lines[2][0].get_segments()[0][:, 0] == pytest.approx([row["low"], row["high"]])
    table = fig5_mean_win_rate.table(data)
    rows = {row["method and judge"]: row for row in table.rows}
    assert rows["RWS, by own reward"]["paper: wins, %"] == text["win_mean"]
    assert all(row["paper: wins, %"] is None for name, row in rows.items() if name != "RWS, by own reward")
    constant = _row(results, "mean_win_rates", relation="other", method="constant", measure="net")
    cell = rows["fixed factor of equal mean, by other reward models"]["here: net of RWS minus this"]
    minus = rws_minus(constant)
    assert minus is not None and cell == minus.text()
