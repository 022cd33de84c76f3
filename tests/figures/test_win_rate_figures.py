"""Tables 1 and 5 and Figure 5: measured and printed numbers reach cells, marks and sentences."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer

from paper_figures.contents import NAMES
from paper_figures.exhibits.differences import Difference, difference_from_row, span
from paper_figures.exhibits.exhibit import Exhibit, MissingRun, save
from paper_figures.exhibits.findings import shows_nothing, tally
from paper_figures.exhibits.names import guide_names
from paper_figures.exhibits.runs import read_run, setting
from paper_figures.exhibits.style import styled
from paper_figures.figures import fig5_mean_win_rate
from paper_figures.statistics.intervals import share_interval
from paper_figures.studies.reward_bench import tables
from paper_figures.tables import table1_win_rate, table5_god_quintiles
from paper_figures.tables.parts.table1_all_judges import win_rate_tables
from paper_figures.tables.parts.table5_fifths import fifths_tables
from rws_decode.common.files import write_json
from rws_theory.printed import printed_in

MODULES = (table1_win_rate, fig5_mean_win_rate, table5_god_quintiles)
GUIDES = {"grm": 2.0, "mini": 4.0}
JUDGES = (*GUIDES, "third")
METHODS = ("default", "rws", "constant", "shuffled")
PROMPTS = 15

Change = Callable[[dict[str, list[dict[str, Any]]]], None]


def _results() -> dict[str, Any]:
    """Return a study's results, its tables made by the experiment from made-up answers and scores."""
    draw = np.random.default_rng(3)
    rows: list[dict[str, Any]] = []
    shape = {"predictor": "mini", "length": 64, "steps": 32, "block": 32, "reward_cost": 1.0, "history": []}
    for index, method in itertools.product(range(PROMPTS), METHODS):
        for guide, scale in [(None, None)] if method == "default" else GUIDES.items():
            text = "same" if index % 5 == 0 or (guide, method) == ("mini", "shuffled") else f"{method} {guide}"
            row: dict[str, Any] = {"strategy": method, "prompt": f"p {index}", "text": text, "turn": 0, "judges": []}
            row |= {"example": index, "split": "test", "method": method, "guide": guide, "reward_scale": scale}
            row |= {"forwards": 32, "reward_calls": 32 if method == "rws" else 0}
            rows.append(row | shape | {"god_tokens": float(draw.integers(40)) / 4, "god_steps": 1.0})
    for (prompt, text), judge in itertools.product(
        sorted({(answer["prompt"], answer["text"]) for answer in rows}), JUDGES
    ):
        # GRM likes its own RWS, and nobody else does; mini dislikes its own.
        liked = {("rws grm", "grm"): 4.0, ("rws mini", "mini"): -4.0}.get((text, judge), 0.0)
        score = float(draw.normal(liked))
        row = {"strategy": "score", "prompt": prompt, "judges": [judge], "answer": text, "history": []}
        rows.append(row | {"score": score, "normalised_score": score / 2})
    named_tables = {table.name: table for table in tables(pd.DataFrame(rows)) if not table.name.startswith("printed: ")}
    return {
        "settings": {"model": "mini", "rewards": [*GUIDES], "length": 64, "steps": 32, "block": 32},
        "prompts": {"source": "stories:all", "test": PROMPTS, "validation": 6},
        "selection": GUIDES,
        "units": "units-1",
        "seconds": 2.5,
        "tables": {
            name: {"caption": table.caption, "rows": [*table.rows], "shown": [*table.shown]}
            for name, table in named_tables.items()
        },
    }


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return json.loads(json.dumps(_results(), allow_nan=False))


@pytest.fixture(scope="module")
def runs(results: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_json(folder / "reward-bench" / "results.json", results)
    return folder


@pytest.fixture
def changed(results: dict[str, Any], tmp_path: Path) -> Callable[[Change], Path]:
    """Return a function that writes the results with their rows changed, and returns the folder of the runs."""

    def write(change: Change) -> Path:
        other = copy.deepcopy(results)
        change({name: table["rows"] for name, table in other["tables"].items()})
        write_json(tmp_path / "reward-bench" / "results.json", other)
        return tmp_path

    return write


def _rows(results: dict[str, Any], table: str, **match: Any) -> list[dict[str, Any]]:
    return [row for row in results["tables"][table]["rows"] if match.items() <= row.items()]


def _row(results: dict[str, Any], table: str, **match: Any) -> dict[str, Any]:
    (row,) = _rows(results, table, **match)
    return row


def _points(container: Any) -> list[tuple[float, float]]:
    line = container.lines[0]
    return list(zip(line.get_xdata(), line.get_ydata(), strict=True))


def test_differences_need_an_interval_without_zero_and_a_small_p() -> None:
    def sign(low: float, high: float, p: float | None) -> int:
        return Difference("a", (low + high) / 2, low, high, p).sign

    assert [sign(0.1, 0.3, 0.05), sign(0.1, 0.3, 0.06), sign(0.0, 0.3, 0.01), sign(0.1, 0.3, None)] == [1, 0, 0, 1]
    assert [sign(-0.3, -0.1, 0.01), sign(1.0, 1.0, 0.001), sign(1.0, 1.0, None)] == [-1, 1, 0]


def test_a_difference_is_turned_to_rws_minus_the_method() -> None:
    row = {"difference": 0.1, "difference_low": -0.2, "difference_high": 0.4, "p_holm": 0.7}
    difference = difference_from_row("mini", row, 100.0)
    assert difference == Difference("mini", -10.0, -40.0, 20.0, 0.7)
    assert difference_from_row("mini", row | {"difference": None}) is None and difference_from_row("mini", None) is None
    nothing = {"difference": -4e-16, "difference_low": 0.0, "difference_high": 0.0, "p_holm": 1.0}
    tiny = difference_from_row("mini", nothing)
    assert tiny is not None and tiny.text() == "0 in every prompt"


def test_a_tally_counts_each_once_and_gives_the_ends_of_many() -> None:
    many = [Difference(f"g{i}", 10.0 + i, 5.0, 20.0, 0.01) for i in range(9)]
    rest = [Difference("l", -3.0, -5.0, -1.0, 0.02), Difference("o", 2.0, -1.0, 5.0, 0.3), None]
    text = tally([*many, *rest], "cells")
    assert text.startswith("higher for 9 of 11 cells (from g0: +10 [+5, +20], p 0.01 to g8: +18 [+5, +20], p 0.01), ")
    assert "lower for 1 (l: -3 [-5, -1], p 0.02); no difference shown for 1 (the largest, o: +2 [-1, +5]" in text
    assert tally([None], "guides") == "nothing to compare for any of the guides."


def test_a_tally_of_one_speaks_of_the_one() -> None:
    unclear, equal = Difference("mini", 25.0, -26.0, 64.0, 0.62), Difference("mini", 0.0, 0.0, 0.0, 1.0)
    words = ("above zero", "below zero")
    assert tally([unclear], "guides", words, brief=True) == "shown neither above nor below zero for the one guide"
    said = tally([unclear], "guides", words)
    assert said == "no difference shown for the one guide (mini: +25 [-26, +64], p 0.62)." and shows_nothing(said)
    assert tally([equal], "localities") == "0 in every prompt for the one locality (mini)."
    lower = tally([Difference("mini", -3.0, -5.0, -1.0, 0.02)], "reward models")
    assert lower == "lower for the one reward model (mini: -3 [-5, -1], p 0.02)." and not shows_nothing(lower)


def test_guides_at_several_scales_are_told_apart() -> None:
    rows = [{"guide": "mini", "reward_scale": scale} for scale in (2.0, 8.0)]
    assert [*guide_names(rows).values()] == ["mini, s_R = 2", "mini, s_R = 8"]


def test_the_setting_says_what_is_not_the_papers(runs: Path, changed: Callable[[Change], Path]) -> None:
    text = setting(read_run(runs, "reward-bench"))
    assert "15 test prompts of stories:all" in text and "6 validation prompts (GRM 2, mini 4)" in text
    assert "Not the paper's model, prompts, reward models: shapes can be compared, levels cannot." in text
    folder = changed(lambda tables: None)
    other = json.loads((folder / "reward-bench" / "results.json").read_text())
    other["settings"] |= {"model": "/models/LLaDA-8B-Instruct", "rewards": ["grm"]}
    other["prompts"] |= {"source": "reward-bench"}
    write_json(folder / "reward-bench" / "results.json", other)
    text = setting(read_run(folder, "reward-bench"))
    assert "levels cannot" not in text and "/models" not in text


def test_table_1_has_the_printed_and_the_measured_numbers(results: dict[str, Any], runs: Path) -> None:
    table, methods = win_rate_tables(table1_win_rate.compute(runs))
    rows = {row["reward model"]: row for row in table.rows}
    texts = {row["reward model"]: row for row in table.shown}
    win, draw, loss, half = (
        f"paper: {name}"
        for name in ("RWS wins, W/(W+L+T), %", "draws, %", "default wins, %", "(W + T/2)/N, %, from these")
    )
    printed = printed_in("table1_win_rate")
    for row in printed["rows"]:
        line = rows[row["model"]]
        assert [line["paper: GOD"], line[win], line[draw], line[loss]] == [
            *(row[name] for name in ("god", "win", "draw", "default_win")),
        ]
        assert line[half] == pytest.approx(row["win"] + row["draw"] / 2)
    assert rows["confidence (default)"]["paper: GOD"] == printed["default_god"]
    assert rows["Skywork"]["here: net, points"] is None and rows["mini"][win] is None
    for guide, name in (("grm", "GRM"), ("mini", "mini")):
        line = rows[name]
        for column, measure in ((win, "win"), (draw, "draw"), (loss, "loss")):
            row = _row(results, "win_rates", guide=guide, method="rws", measure=measure)
            column = column.replace("paper", "here")
            assert (line[column], line[f"{column}, low"]) == (row["mean"], row["low"])
            assert line[column] == pytest.approx(100 * round(line[column] * PROMPTS / 100) / PROMPTS)
        net = _row(results, "win_rates", guide=guide, method="rws", measure="net")
        default = _row(results, "win_rates", guide=guide, method="default", measure="net")
        assert (line["here: net, points"], line["here: p of net"]) == (net["mean"], default["p_holm"])
        won, drawn = (line[column.replace("paper", "here")] for column in (win, draw))
        assert line["here: (W + T/2)/N, %"] == pytest.approx(won + drawn / 2)
        assert texts[name]["here: net, points"] == span(net, form="+.0f")
        (minus,) = (row for row in methods.rows if (row["guide"], row["method"]) == (name, "constant"))
        constant = _row(results, "win_rates", guide=guide, method="constant", measure="net")
        assert minus["own guide: RWS minus this"] == pytest.approx(-constant["difference"])
        assert minus["own guide: RWS minus this, low"] == pytest.approx(-constant["difference_high"])
    assert len(methods.rows) == len(GUIDES) * len(METHODS)


def test_table_1_draws_own_and_other_judges_apart_and_printed_hollow(results: dict[str, Any], runs: Path) -> None:
    printed, own_panel, others = table1_win_rate.draw(table1_win_rate.compute(runs)).axes
    (marks,) = (line for line in printed.lines if line.get_label() == "RWS, as printed")
    assert marks.get_markerfacecolor() == "none"
    assert [*marks.get_xdata()] == [row["win"] - row["default_win"] for row in printed_in("table1_win_rate")["rows"]]
    for axes, measure in ((own_panel, "net"), (others, "others_net")):
        drawn = {container.get_label(): container for container in axes.containers}
        wanted = [_row(results, "win_rates", guide=guide, method="rws", measure=measure) for guide in GUIDES]
        assert [x for x, _ in _points(drawn["RWS"])] == [row["mean"] for row in wanted]
        (bars,) = drawn["RWS"].lines[2]
        ends = [[segment[0][0], segment[1][0]] for segment in bars.get_segments()]
        assert np.array(ends) == pytest.approx(np.array([[row["low"], row["high"]] for row in wanted]))


def test_a_turned_sign_turns_the_sentence(runs: Path, changed: Callable[[Change], Path]) -> None:
    def turn(tables: dict[str, list[dict[str, Any]]]) -> None:
        for row in tables["win_rates"]:
            if row["measure"] == "net" and row["method"] == "rws":
                row |= {"mean": -row["mean"], "low": -row["high"], "high": -row["low"]}

    def line(folder: Path) -> str:
        return table1_win_rate.exhibit(folder).conclusions[1]

    assert "above zero for 1 of 2 guides (GRM: +" in line(runs) and "below zero for 1 (mini: -" in line(runs)
    turned = line(changed(turn))
    assert "above zero for 1 of 2 guides (mini: +" in turned and "below zero for 1 (GRM: -" in turned


def test_no_gain_over_the_constant_is_said_in_the_headline(changed: Callable[[Change], Path]) -> None:
    def equal(tables: dict[str, list[dict[str, Any]]]) -> None:
        for row in tables["win_rates"]:
            if row["method"] == "constant":
                row |= {"difference": 0.0, "difference_low": 0.0, "difference_high": 0.0, "p_holm": 1.0}

    first = table1_win_rate.exhibit(changed(equal)).conclusions[0]
    assert "above zero for 1 of 2 guides, below zero for 1; minus that of a constant factor of equal mean: " in first
    assert first.endswith("shown neither above nor below zero for any of 2 guides.")


def test_figure_5_draws_the_means_and_the_printed_ones(results: dict[str, Any], runs: Path) -> None:
    data = fig5_mean_win_rate.compute(runs)
    assert [method for method, _ in data.lines] == ["rws", "constant", "shuffled"] and data.guides == 2
    top, own_panel, other = fig5_mean_win_rate.draw(data).axes
    text = printed_in("table1_win_rate")["text"]
    assert [bar.get_width() for bar in top.patches] == [text["win_mean"], text["default_mean"]]
    assert all(bar.get_facecolor()[3] == 0 and bar.get_hatch() for bar in top.patches)
    for axes, relation in ((own_panel, "own"), (other, "other")):
        wanted = [
            _row(results, "mean_win_rates", relation=relation, method=method, measure=measure)["mean"]
            for method, _ in data.lines
            for measure in ("win", "loss")
        ]
        assert [bar.get_width() for bar in axes.patches] == wanted
        assert sum(isinstance(container, ErrorbarContainer) for container in axes.containers) == len(wanted)
    table = fig5_mean_win_rate.table(data)
    rows = {row["method and judge"]: row for row in table.rows}
    assert rows["RWS, by own guide"]["paper: wins, %"] == text["win_mean"]
    assert all(row["paper: wins, %"] is None for name, row in rows.items() if name != "RWS, by own guide")
    constant = _row(results, "mean_win_rates", relation="other", method="constant", measure="net")
    cell = rows["constant of equal mean, by other reward models"]["here: net of RWS minus this"]
    assert cell == pytest.approx(-constant["difference"])


def test_figure_5_of_a_lone_judge_has_no_other_panel(changed: Callable[[Change], Path]) -> None:
    def alone(tables: dict[str, list[dict[str, Any]]]) -> None:
        tables["mean_win_rates"][:] = [row for row in tables["mean_win_rates"] if row["relation"] == "own"]
        for row in tables["win_rates"]:
            if row["measure"] == "others_net":
                row |= dict.fromkeys(("mean", "low", "high", "difference", "difference_low", "difference_high", "p"))

    folder = changed(alone)
    exhibit = fig5_mean_win_rate.exhibit(folder)
    assert len(exhibit.pictures[0].figure.axes) == 2 and not any("other" in line for line in exhibit.conclusions)
    assert len(table1_win_rate.exhibit(folder).pictures[0].figure.axes) == 2


def test_figure_5_of_several_scales_has_a_bar_for_each(changed: Callable[[Change], Path]) -> None:
    def twice(tables: dict[str, list[dict[str, Any]]]) -> None:
        rows = tables["mean_win_rates"]
        rows[:] = [{"reward_scale": scale} | row for scale in (2.0, 8.0) for row in rows]

    exhibit = fig5_mean_win_rate.exhibit(changed(twice))
    assert "Mean over 2 guides at s_R = 8, by own guide" in " ".join(exhibit.conclusions)
    assert len(exhibit.tables[0].rows) == 2 * 2 * 3 + 1  # and the printed line


def test_table_5_has_the_printed_and_the_measured_shares(results: dict[str, Any], runs: Path) -> None:
    data = table5_god_quintiles.compute(runs)
    table = fifths_tables(data)[0]
    for fifth, (line, row) in enumerate(zip(table.rows, printed_in("table5_god_quintiles")["rows"], strict=True), 1):
        assert {name: line[f"paper: {name}"] for name in data.models} == {name: row[name] for name in data.models}
        measured = _row(results, "god_quintiles", guide="mini", fifth=fifth)
        assert line["here: mini"] == (100 * measured["win"] if measured["n"] else None)
    left, won, lost = table5_god_quintiles.draw(data).axes
    assert len([line for line in left.lines if line.get_markerfacecolor() == "none"]) == len(data.models) == 6
    for axes, outcome in ((won, "win"), (lost, "loss")):
        drawn = {container.get_label(): container for container in axes.containers}
        measured = [row for row in _rows(results, "god_quintiles", guide="grm") if row["n"]]
        assert [y for _, y in _points(drawn["here: GRM"])] == pytest.approx([100 * row[outcome] for row in measured])
        (bars,) = drawn["here: GRM"].lines[2]
        wilson = [share_interval(round(row[outcome] * row["n"]), row["n"]) for row in measured]
        ends = [[segment[0][1], segment[1][1]] for segment in bars.get_segments()]
        assert np.array(ends) == pytest.approx(
            np.array([[100 * interval.low, 100 * interval.high] for interval in wilson])
        )


def test_table_5_says_what_trend_and_equal_god_show(changed: Callable[[Change], Path]) -> None:
    def given(tables: dict[str, list[dict[str, Any]]]) -> None:
        for row in tables["god_trends"]:
            rising = row["guide"] == "grm"
            row |= {"tau": 0.5 if rising else None, "status": "ok" if rising else "constant outcome"}
            row |= {"p_holm": 0.01 if rising else 1.0, "monotone": rising}
        for row in tables["god_quintiles"]:
            row |= {"n": 3, "win": (row["fifth"] - 1) / 6, "loss": (row["fifth"] - 1) / 12, "draw": 0.0}
        for row in tables["reward_at_equal_god"]:
            if (row["control"], row["outcome"]) == ("constant", "net"):
                is_grm = row["guide"] == "grm"
                row |= (
                    {"alpha": 0.3, "alpha_low": 0.1, "alpha_high": 0.5, "p_holm": 0.02} if is_grm else {"alpha": None}
                )

    lines = table5_god_quintiles.exhibit(changed(given)).conclusions
    assert "rise for 1 of 2 guides, to fall for none" in lines[0] and "in every fifth for 1 of 2 guides." in lines[1]
    assert "mini: no trend can be told (constant outcome)." in lines
    assert any(line.startswith("GRM, lowest") and "wins and losses rise together" in line for line in lines)
    start = "At equal GOD, RWS minus a constant factor of equal mean, net"
    (line,) = (line for line in lines if line.startswith(start))
    assert line.endswith("higher for the one guide that can be compared (GRM: +30 [+10, +50], p 0.02).")


@pytest.mark.parametrize("module", MODULES, ids=[module.__name__.rpartition(".")[2] for module in MODULES])
def test_absent_runs_and_empty_tables_are_named(module: ModuleType, tmp_path: Path, results: dict[str, Any]) -> None:
    with pytest.raises(MissingRun, match="experiment reward-bench"):
        module.exhibit(tmp_path)
    write_json(tmp_path / "reward-bench" / "results.json", results | {"tables": {}})
    with pytest.raises(ValueError, match="has no table"):
        module.exhibit(tmp_path)


@pytest.mark.parametrize("module", MODULES, ids=[module.__name__.rpartition(".")[2] for module in MODULES])
def test_each_is_whole_from_a_real_run(module: ModuleType, figure_runs: Path, tmp_path: Path) -> None:
    name = module.__name__.rpartition(".")[2]
    with styled():
        exhibit: Exhibit = module.exhibit(figure_runs)
        save(name, exhibit, tmp_path)
    assert name in NAMES and module.NEEDS == ("reward-bench",)
    assert exhibit.pictures and exhibit.tables and exhibit.conclusions
    for picture in exhibit.pictures:
        picture.figure.draw_without_rendering()
        texts = [
            text for text in picture.figure.findobj(lambda artist: hasattr(artist, "get_fontsize")) if text.get_text()
        ]
        assert texts and min(text.get_fontsize() for text in texts) >= 8
        assert len(picture.alt) > 40 and "nan" not in picture.alt.split()
        assert picture.figure.get_figwidth() <= 6.6
    for table in exhibit.tables:
        assert table.rows and len({tuple(row) for row in table.shown}) == 1
        assert {type(cell) for row in table.shown for cell in row.values()} <= {str, type(None)}
    assert all(line.endswith((".", ")")) and "nan" not in line.split() for line in exhibit.conclusions)
