"""The locality study against decodes made here, and its figure: what the file holds is drawn, listed and said."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import single_stage_runs
from single_stage_runs import assert_refused
from study_runs import run_again

from paper_figures.exhibits.exhibit import MissingRun, save
from paper_figures.exhibits.style import styled
from paper_figures.figures import locality as figure
from paper_figures.figures.parts.locality_words import Localities, conclusions
from paper_figures.runner.results import read_unit_rows
from paper_figures.studies.locality import METHODS
from rws_decode.decode import decode
from rws_decode.predictors import WorldPredictor, load_predictor
from rws_decode.predictors.scattered import ScatteredPredictor
from rws_decode.rewards import load_reward
from rws_decode.settings import Shape
from rws_decode.strategies.factors import RWS, Confidence, Temperature
from rws_decode.strategies.orders import LeftToRight
from rws_decode.strategies.protocol import Strategy
from rws_theory import footrule_mean
from rws_theory.worlds import Scattered, scattered_order

LOCALITIES, LENGTH = (1.0, 0.0), 8
OPTIONS = ["--prompts", "2", "--localities", "1", "0", "--length", "8", "--steps", "4", "--block", "8"]

run = partial(single_stage_runs.run, "locality")
results_of = partial(single_stage_runs.results_of, experiment="locality")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    assert run(out, OPTIONS) == 0
    return out


def cell(frame: pd.DataFrame, method: str, locality: float) -> pd.DataFrame:
    rows = frame[(frame["method"] == method) & (frame["locality"] == locality)]
    assert len(rows) == 2
    return rows.sort_values("example", ignore_index=True)


def test_rows_are_what_decoding_the_scattered_world_gives(finished: Path) -> None:
    predictor, reward = load_predictor("english"), load_reward("era")
    assert isinstance(predictor, WorldPredictor)
    frame = read_unit_rows(finished)
    assert len(frame) == len(METHODS) * len(LOCALITIES) * 2
    rules: dict[str, Strategy] = {"default": Confidence(), "temperature": Temperature(8.0), "rws": RWS(8.0)}
    for locality in LOCALITIES:
        for method, rule in (rules | {"left-to-right": LeftToRight()}).items():
            for row in cell(frame, method, locality).to_dict("records"):
                order = scattered_order(LENGTH, locality, np.random.default_rng(row["seed"]))
                moved = ScatteredPredictor(predictor, order)
                guide = reward if rule.needs_reward else None
                (trace,) = decode(moved, [row["prompt"]], rule, Shape(LENGTH, 4, LENGTH), reward=guide)
                assert (row["god_tokens"], row["god_steps"]) == (trace.god_tokens, trace.god_steps)
                assert list(row["words"]) == trace.tokens[order].tolist() and row["text"] == trace.text
                context = predictor.encode_prompt(row["prompt"])
                exact = Scattered(predictor.world, order).log_prob(trace.tokens, context)
                assert row["log_probability"] == pytest.approx(exact, abs=1e-9)
                assert row["score"] == pytest.approx(reward.world_reward.score(row["words"]), abs=1e-9)
        rws, constant, shuffled = (cell(frame, name, locality) for name in ("rws", "constant", "shuffled"))
        assert constant["scale"].tolist() == rws["mean_factor"].tolist()
        for given, rewards in zip(shuffled["strategy_json"], rws["rewards"], strict=True):
            assert sorted(json.loads(given)["rewards"]) == sorted(rewards)


def test_its_tables_are_means_and_shares_of_the_rows(finished: Path) -> None:
    frame, results = read_unit_rows(finished), results_of(finished)
    rows = {(row["method"], row["locality"], row["measure"]): row for row in results["summary"]}
    for locality in LOCALITIES:
        rws, default = (cell(frame, name, locality)["god_steps"] for name in ("rws", "default"))
        found = rows["rws", locality, "god_steps"]
        assert (found["mean"], found["difference"]) == (rws.mean(), (rws - default).mean())
        assert rows["default", locality, "god_steps"]["difference"] is None
    same = {(row["method"], row["locality"], row["measure"]): row["mean"] for row in results["same"]}
    for method in METHODS:
        assert same[method, 1.0, "same_words"] == same[method, 1.0, "same_commits"] == 1
    assert same["default", 0.0, "same_words"] == same["default", 0.0, "default_words"] == 1
    assert same["rws", 0.0, "same_words"] == same["rws", 0.0, "rws_words"] == 1


def test_it_resumes_and_refuses_misuse(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_again("locality", OPTIONS, finished, capsys)
    for options, message in (
        (["--localities", "1.5"], "--localities is [1.5]: different numbers from 0 to 1 are needed"),
        (["--model", "mini"], "--model is mini: a world is needed"),
        (["--model", "owner/name", "--prompt", "so"], "--model is owner/name: a world is needed, such as english"),
        (["--reward-scale", "0"], "reward_scale"),
    ):
        assert_refused("locality", tmp_path / "none", [*OPTIONS, *options], message, capsys)


def test_the_figure_draws_and_says_what_the_file_holds(finished: Path, tmp_path: Path) -> None:
    with styled():
        exhibit = figure.exhibit(finished)
        assert all(path.stat().st_size > 0 for path in save("locality", exhibit, tmp_path))
    data = figure.compute(finished)
    (picture,), (table,) = exhibit.pictures, exhibit.tables
    left, upper, lower = picture.figure.axes
    heights = [[line.get_ydata()[0] for line in axes.lines] for axes in (left, upper, lower)]
    assert footrule_mean(LENGTH, LENGTH, per_step=2, reading="steps") == data.random in heights[0]
    for axes, measure, field in (
        (heights[0], "god_steps", "mean"),
        (heights[1], "log_probability", "difference"),
        (heights[2], "normalised_score", "difference"),
    ):
        assert data.curve("rws", measure)[0][field] in axes
    assert len(table.shown) == len(METHODS) * len(LOCALITIES)
    assert "World english, 2 openings" in picture.caption and "in one block" in picture.caption
    god = data.curve("default", "god_steps")
    assert f"{god[0]['mean']:.2f}" in exhibit.conclusions[0] and f"{god[-1]['mean']:.2f}" in exhibit.conclusions[0]
    with pytest.raises(MissingRun, match="paper_figures experiment locality"):
        figure.compute(tmp_path)


def _data(moved: float, differences: tuple[float, float]) -> Localities:
    """Return made-up results of two localities; `moved`: the share of prompts where RWS keeps its words."""
    summary: list[dict[str, Any]] = []
    same: list[dict[str, Any]] = []
    for method in ("default", "rws"):
        for locality, value in zip(LOCALITIES, differences, strict=True):
            at = {"method": method, "locality": locality, "n": 9}
            difference = None if method == "default" else value
            ends = {"mean": 2.0, "low": 1.0, "high": 3.0, "difference": difference, "p": 0.01, "p_holm": 0.02}
            ends |= {f"difference_{end}": difference for end in ("low", "high")}
            if difference is not None:
                ends |= {"difference_low": difference - 0.1, "difference_high": difference + 0.1}
            summary += [
                at | {"measure": name} | ends
                for name in ("god_steps", "god_tokens", "log_probability", "normalised_score")
            ]
            share = moved if method == "rws" and locality < 1 else 1.0
            same += [
                at | {"measure": name, "mean": share}
                for name in ("default_words", "rws_words", "same_words", "same_commits")
            ]
    return Localities(summary, same, {"length": 8, "steps": 4, "block": 8})


def test_sentences_follow_the_numbers_either_way() -> None:
    lines = conclusions(_data(1.0, (0.5, 0.5)))
    assert lines[1] == (
        "On every prompt, the same words at every locality: confidence (default), RWS; each of them at the same step, "
        "too: confidence (default), RWS."
    )
    assert lines[-1].endswith("minus the default's, in deviations: +0.5 [+0.4, +0.6], p 0.01, at every locality alike.")
    other = conclusions(_data(0.5, (0.5, -0.5)))
    assert other[1].endswith("On some prompts, other words at some locality: RWS.")
    assert "higher for 1 of 2 localities (1: +0.5" in other[-1] and "lower for 1 (0: -0.5" in other[-1]
