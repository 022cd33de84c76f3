"""The pages of confidence curves and of a scale path: what is shown as proved is proved."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from html_elements import Elements
from interactive_pages import HOSTILE, data_of, hostile_predictor
from misuse import refused
from table_models import REWARD, run, table_predictor

import rws_decode as rws
from rws_decode.extra.scale_paths.page import PAPER_GRID
from rws_theory import crossings, log_odds, selection_path


@pytest.fixture(scope="module")
def step() -> rws.StepLogits:
    return rws.step_logits(run(), table_predictor(5), 0)


@pytest.fixture(scope="module")
def page(step: rws.StepLogits) -> rws.Page:
    return step.view(3)


def test_the_sets_are_those_that_the_selection_path_proves(step: rws.StepLogits, page: rws.Page) -> None:
    data, path = data_of(page), selection_path(step.logits, 3, 0.1, 32.0)
    assert path.certified and len(path.pieces) > 2
    assert [tuple(piece["chosen"]) for piece in data["pieces"]] == [piece.selected for piece in path.pieces]
    for piece in data["pieces"]:
        low, high = piece["proved"]
        assert not any(low < bracket.upper and bracket.lower < high for bracket in path.brackets)
        for scale in np.geomspace(low * (1 + 1e-9), high * (1 - 1e-9), 7):
            best = np.argsort(-log_odds(step.logits, float(scale)), kind="stable")[:3]
            assert sorted(best.tolist()) == piece["chosen"]
        for place in piece["chosen"]:
            assert f"“{step.words[place]}” at {step.positions[place]}" in piece["sentence"]


def test_the_curves_are_log_odds_and_as_many_are_chosen_as_committed(step: rws.StepLogits, page: rws.Page) -> None:
    data = data_of(page)
    assert (data["scales"][0], data["scales"][-1], data["k"]) == (0.1, 32.0, 3)
    exact = np.stack([log_odds(step.logits, scale) for scale in data["scales"]], axis=1)
    np.testing.assert_allclose(np.array(data["curves"], dtype=float), exact, rtol=1e-4)
    assert data["positions"] == step.positions.tolist() and data["words"] == list(step.words)
    assert data_of(rws.curves_page(step))["k"] == int(step.chosen.sum()) == 2
    refused(lambda: step.view(9), "k must be an integer from 0 to the number of positions, 8, got 9")
    refused(lambda: step.view(scale_min=2.0, scale_max=1.0), "0 < c_min <= c_max < inf")


def test_every_pair_that_changes_places_is_enclosed(step: rws.StepLogits, page: rws.Page) -> None:
    data = data_of(page)
    shown = {(tuple(crossing["pair"]), crossing["lower"], crossing["upper"]) for crossing in data["crossings"]}
    for a in range(8):
        for b in range(a + 1, 8):
            inside = [c for c in crossings(step.logits[a], step.logits[b]).crossings if c.lower > 0.1 and c.upper < 32]
            if len(inside) % 2:  # so their order at the two ends differs
                assert {((a, b), c.lower, c.upper) for c in inside} <= shown
    for crossing in data["crossings"]:
        a, b = crossing["pair"]
        below, above = (
            log_odds(step.logits[[a, b]], scale) for scale in (crossing["lower"] * 0.999, crossing["upper"] * 1.001)
        )
        assert (below[0] - below[1]) * (above[0] - above[1]) < 0
        assert f"{crossing['lower']:.6g}" in crossing["said"]
    cuts = [crossing for crossing in data["crossings"] if crossing["cut"]]
    for left, right in zip(data["pieces"], data["pieces"][1:], strict=False):
        assert any(c["lower"] <= right["proved"][0] and left["proved"][1] <= c["upper"] for c in cuts)


SHAPE = rws.Shape(length=8, steps=4, block=8)


@cache
def path(over: str = "temperature", budget: int | None = None) -> rws.ScalePath:
    return rws.scale_path(table_predictor(5), "", 0.05, 20.0, SHAPE, over=over, reward=REWARD, budget=budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("over", ["temperature", "reward-scale"])
def test_decoding_anywhere_in_a_piece_gives_the_answer_that_is_shown(over: str) -> None:
    data = data_of(path(over).view())
    assert len(data["parts"]) == len(path(over).pieces) > 3
    assert data["symbol"] == ("c" if over == "temperature" else "s_R")
    assert (data["parts"][0]["lower"], data["parts"][-1]["upper"]) == (data["low"], data["high"]) == (0.05, 20.0)
    for left, right in pairwise(data["parts"]):
        assert left["proved"][1] <= left["upper"] == right["lower"] <= right["proved"][0]
    for point in path(over).breakpoints:
        assert not any(part["proved"][0] < point.upper and point.lower < part["proved"][1] for part in data["parts"])
    rule = rws.Temperature if over == "temperature" else rws.RWS
    for part in data["parts"]:
        low, high = part["proved"]
        for scale in (low * (1 + 1e-9), high * (1 - 1e-9)):
            (trace,) = rws.decode(table_predictor(5), "", rule(scale), SHAPE, reward=REWARD)
            answer = data["answers"][part["answer"]]
            assert trace.words(trace.tokens) == [data["words"][number] for number in answer["words"]]
            assert (trace.text, trace.commit_step.tolist()) == (answer["text"], part["commit"])
            assert trace.final_reward is not None
            assert answer["reward"] == pytest.approx(trace.final_reward["normalised"], rel=1e-5)
            assert part["god"] == pytest.approx(trace.god_steps)
            assert f"proved for {data['symbol']} from " in part["sentence"]


@pytest.mark.parametrize("grid", [None, (0.1, 0.5, 3.0), (100.0,)], ids=str)
def test_the_grid_misses_what_decoding_at_its_scales_does_not_give(grid: tuple[float, ...] | None) -> None:
    page = path().view(grid)
    data = data_of(page)
    scales = [scale for scale in (grid or PAPER_GRID) if 0.05 <= scale <= 20]
    assert data["grid"] == scales
    texts = {rws.decode(table_predictor(5), "", rws.Temperature(scale), SHAPE)[0].text for scale in scales}
    assert all(answer["missed"] == (answer["text"] not in texts) for answer in data["answers"])
    reference, (plain,) = data["answers"][data["reference"]], rws.decode(table_predictor(5), "", "default", SHAPE)
    assert reference["text"] == plain.text and data["reference_commit"] == plain.commit_step.tolist()
    missed = sum(answer["missed"] for answer in data["answers"])
    line = f" misses {missed} of {len(data['answers'])} answers" if scales else "The grid has no scale in this range."
    assert line in page.html


def test_what_a_budget_left_out_is_unexplored_and_what_is_no_scale_refused() -> None:
    page = path(budget=6).view()
    parts = data_of(page)["parts"]
    left = [part for part in parts if part["answer"] is None]
    assert [(part["lower"], part["upper"]) for part in left] == [(u.lower, u.upper) for u in path(budget=6).unexplored]
    assert left and all(part["sentence"].startswith("Unexplored for c from ") for part in left)
    assert "known answers" in page.html and "not every scale is proved" in page.html
    assert [left["upper"] for left in parts[:-1]] == [right["lower"] for right in parts[1:]]
    for bad in (0.0, math.nan, "2"):
        with pytest.raises(ValueError, match=r"^grid holds .*: positive numbers are needed"):
            path().view((1.0, bad))  # type: ignore[arg-type]


def test_the_page_is_whole_and_words_never_become_markup() -> None:
    page = rws.scale_path_page(rws.scale_path(hostile_predictor(), "<b>", 0.1, 10.0, SHAPE))
    elements = Elements(page.html)
    assert not elements.named("b") and not elements.named("img")
    assert len(elements.named("script")) == 2 and set(data_of(page)["words"]) <= set(HOSTILE)
