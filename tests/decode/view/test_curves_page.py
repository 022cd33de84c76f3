"""The page of a step's confidence curves: the chosen sets are proved ones, and crossings enclose a change of order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from interactive_pages import data_of, elements_of
from table_models import REWARD, table_predictor

from rws_decode import Page, Shape, StepLogits, curves_page, decode, step_logits
from rws_theory import crossings, selection_path
from rws_theory.confidence import log_odds


@pytest.fixture(scope="module")
def step() -> StepLogits:
    predictor = table_predictor(5)
    (trace,) = decode(predictor, "", "rws:4", Shape(length=8, steps=4, block=8), reward=REWARD)
    return step_logits(trace, predictor, 0)


@pytest.fixture(scope="module")
def page(step: StepLogits) -> Page:
    return step.view(3)


def test_the_sets_are_those_that_the_selection_path_proves(step: StepLogits, page: Page) -> None:
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


def test_the_curves_are_the_log_odds_on_the_grid(step: StepLogits, page: Page) -> None:
    data = data_of(page)
    assert (data["scales"][0], data["scales"][-1], data["k"]) == (0.1, 32.0, 3)
    exact = np.stack([log_odds(step.logits, scale) for scale in data["scales"]], axis=1)
    np.testing.assert_allclose(np.array(data["curves"], dtype=float), exact, rtol=1e-4)
    assert data["positions"] == step.positions.tolist() and data["words"] == list(step.words)


def test_every_pair_that_changes_places_is_enclosed(step: StepLogits, page: Page) -> None:
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


def test_as_many_are_chosen_as_the_step_committed_unless_it_is_said(step: StepLogits) -> None:
    assert data_of(curves_page(step))["k"] == int(step.chosen.sum()) == 2
    with pytest.raises(ValueError, match="k must be an integer from 0 to the number of positions, 8, got 9"):
        step.view(9)
    with pytest.raises(ValueError, match="0 < c_min <= c_max < inf"):
        step.view(scale_min=2.0, scale_max=1.0)


def test_a_certain_position_and_hostile_words_are_shown() -> None:
    words = ("</script>", "<b>", "a")
    logits = np.array([[0.0, -math.inf], [1.0, 0.0], [2.0, 0.0]])
    step = StepLogits(
        0, np.arange(3), logits, np.zeros(3, dtype=np.int64), words, np.array([True, False, False]), math.nan
    )
    page = step.view(2)
    elements = elements_of(page.html)
    assert elements.wrong == [] and elements.open_ == [] and not elements.named("b")
    data = data_of(page)
    assert data["curves"][0] == ["Infinity"] * len(data["scales"]) and data["factor"] is None
    assert [piece["chosen"] for piece in data["pieces"]] == [[0, 2]]
