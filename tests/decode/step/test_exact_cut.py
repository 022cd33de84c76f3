"""Positions that float64 cannot tell apart are committed in their exact order, as the scale path says."""

from __future__ import annotations

import numpy as np
import torch
from grouped import grouped
from hypothesis import given
from hypothesis import strategies as st

from rws_decode.decode import decode
from rws_decode.predictors import CallablePredictor
from rws_decode.replay.diff import diff
from rws_decode.replay.replay import replay
from rws_decode.scales.path import scale_path
from rws_decode.settings import Options, Shape
from rws_decode.step.rounding import logit_error
from rws_decode.strategies.factors import Confidence, Temperature


def predictor_of(rows: list[list[float]]) -> CallablePredictor:
    """A predictor of the same logits whatever the canvas; token 0 is the mask."""
    table = torch.tensor([[-np.inf, *row] for row in rows], dtype=torch.float64)
    return CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=0, decode=str)


@given(st.integers(0, 2**32), st.floats(0.01, 60.0), st.integers(2, 5), st.integers(2, 5), st.integers(1, 2))
def test_decoding_is_on_the_scale_path_however_coarse_the_logits(
    seed: int, scale: float, count: int, words: int, steps: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, size=(count, words)).astype(float).tolist()
    predictor, shape = predictor_of(rows), {"length": count, "steps": min(steps, count), "block": count}
    path = scale_path(predictor, [], 0.01, 60.0, **grouped(**shape))
    (trace,) = decode(predictor, [[]], Temperature(scale), **grouped(**shape))
    if all(not gap.lower * (1 - 1e-9) < scale < gap.upper * (1 + 1e-9) for gap in path.breakpoints):
        piece = path.at(scale)
        assert piece is not None and piece.commit_step == tuple(trace.commit_step.tolist())
    assert replay(trace).diverged_at is None


def test_a_diff_with_another_model_certifies_nothing() -> None:
    rows = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]
    shape = {"length": 2, "steps": 2, "block": 2}
    predictor, other = predictor_of(rows), predictor_of([[2 * z for z in row] for row in rows])
    runs = [decode(predictor, [[]], rule, **grouped(**shape))[0] for rule in (Confidence(), Temperature(8.0))]
    parting = diff(*runs, predictor).parting
    assert parting is not None and parting.reversals[0].certified
    parting = diff(*runs, other).parting
    assert parting is not None and not parting.reversals[0].certified
    assert "does not give the values" in parting.reversals[0].note


def test_near_tokens_are_counted_wherever_they_can_move_others() -> None:
    shape = {"length": 2, "steps": 2, "block": 2}
    for shift in (1e-14, -1e-14):  # between a word and the end of text, which waits
        rows = [[4.0 + shift, 4.0, 0.0], [3.0, 0.0, 0.0]]
        (trace,) = decode(predictor_of(rows), [[]], Confidence(), **grouped(end_of_text="defer", end_ids=[2], **shape))
        assert trace.near_tokens[0] > 0


def test_guidance_amplifies_what_rounding_does() -> None:
    """Logits a little further apart than rounding: with guidance they are within it."""
    gap = 3 * logit_error(torch.tensor([[10.0]], dtype=torch.float32)).item()
    table = torch.tensor([[-20.0, 10.0 + gap, 10.0]])
    predictor = CallablePredictor(lambda canvas: table.expand(*canvas.shape, 3), mask_id=0)
    counted = [
        decode(predictor, [[1]], Confidence(), Shape(length=1, steps=1, block=1), options=Options(cfg=cfg))[
            0
        ].near_tokens.tolist()
        for cfg in (0.0, 3.0)
    ]
    assert counted == [[0], [1]]


def test_a_token_that_is_impossible_stays_so_under_guidance() -> None:
    table = torch.tensor([[-np.inf, 0.0, -np.inf, 1.0]])
    predictor = CallablePredictor(lambda canvas: table.expand(*canvas.shape, 4), mask_id=0)
    (trace,) = decode(predictor, [[1]], Confidence(), Shape(length=2, steps=2, block=2), options=Options(cfg=2.0))
    assert trace.tokens.tolist() == [3, 3]
