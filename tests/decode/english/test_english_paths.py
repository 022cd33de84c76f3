"""Certified paths in the English world: every answer on the axis of scales, and the selected set of one step."""

from __future__ import annotations

import numpy as np
import pytest

from rws_decode.decode import decode
from rws_decode.predictors import WorldPredictor, load_predictor
from rws_decode.rewards import load_reward
from rws_decode.scales.path import scale_path
from rws_decode.settings import Shape
from rws_decode.strategies.factors import RWS, Temperature
from rws_theory import selection_path

SHAPE = Shape(8, 4, 8)


@pytest.fixture(scope="module")
def english() -> WorldPredictor:
    predictor = load_predictor("english")
    assert isinstance(predictor, WorldPredictor)
    return predictor


@pytest.mark.parametrize("over", ["temperature", "reward-scale"])
def test_every_answer_on_the_axis_is_what_decoding_there_gives(english: WorldPredictor, over: str) -> None:
    prompt = english.examples[3]["prompt"]
    reward = load_reward("era") if over == "reward-scale" else None
    path = scale_path(english, prompt, 0.5, 8.0, SHAPE, over=over, reward=reward)  # type: ignore[arg-type]
    assert path.certified and len({tuple(piece.tokens) for piece in path.pieces}) > 1
    for piece in path.pieces:
        scale = float(np.sqrt(piece.lower * piece.upper))
        strategy = Temperature(scale) if reward is None else RWS(scale)
        (trace,) = decode(english, [prompt], strategy, SHAPE, reward=reward)
        assert trace.tokens.tolist() == list(piece.tokens)


def test_the_selected_set_of_a_step_is_certified_over_the_axis(english: WorldPredictor) -> None:
    context = english.encode_prompt(english.examples[3]["prompt"])
    logits = english.world.conditionals([-1] * 8, context)
    path = selection_path(logits, 2, 0.25, 32.0)
    assert path.certified and len(path.pieces) > 1
    for piece in path.pieces:
        scale = float(np.sqrt(piece.lower * piece.upper))
        scaled = scale * logits
        confidence = scaled.max(axis=1) - np.logaddexp.reduce(scaled, axis=1)
        assert sorted(np.argsort(-confidence, kind="stable")[:2].tolist()) == sorted(piece.selected)
