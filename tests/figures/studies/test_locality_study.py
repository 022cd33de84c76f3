"""The locality study against decodes made here."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import single_stage_runs
from single_stage_runs import assert_refused
from study_runs import run_again

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
