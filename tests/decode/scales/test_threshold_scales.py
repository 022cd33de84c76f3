"""The scale path at a threshold: what decoding at each scale gives, where a larger scale commits more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from table_models import LENGTH, REWARD, table_predictor

from rws_decode.decode import decode
from rws_decode.predictors import load_predictor
from rws_decode.scales.path import ScalePath, scale_path
from rws_decode.scales.reach import compare_reach
from rws_decode.settings import Options, Shape
from rws_decode.strategies.factors import RWS, Temperature
from rws_decode.strategies.parallel import Threshold
from rws_theory.testing import scales

LOW, HIGH = 0.01, 32.0
SHAPES = [Shape(LENGTH, 8, LENGTH), Shape(LENGTH, 3, LENGTH), Shape(LENGTH, 6, 4)]


def middles(path: ScalePath) -> list[float]:
    """Return three scales of each piece, two of them just inside its ends."""
    ends = [(piece.lower * (1 + 1e-9), piece.upper * (1 - 1e-9)) for piece in path.pieces]
    return [scale for low, high in ends if low < high for scale in (low, math.sqrt(low * high), high)]


def agrees(path: ScalePath, traces: Any, at: list[float]) -> bool:
    pieces = [path.at(scale) for scale in at]
    return all(
        piece is not None
        and (piece.tokens, piece.commit_step) == (tuple(trace.tokens.tolist()), tuple(trace.commit_step.tolist()))
        for piece, trace in zip(pieces, traces, strict=True)
    )


@given(
    st.integers(0, 10**6),
    st.sampled_from(SHAPES),
    st.sampled_from([0.3, 0.5, 0.9, 0.999]),
    st.sampled_from(["none", "suppress"]),
    st.lists(scales(LOW, HIGH), max_size=6),
)
@settings(max_examples=examples(30))
def test_every_factor_decodes_to_its_piece(seed: int, shape: Shape, tau: float, policy: Any, more: list[float]) -> None:
    predictor, options = table_predictor(seed, 1.5), Options(end_of_text=policy)
    path = scale_path(predictor, [], LOW, HIGH, shape, threshold=tau, options=options)
    ends = [end for gap in path.breakpoints for end in (gap.lower, gap.upper)]
    at = middles(path) + [c for c in more if all(abs(c / end - 1) > 1e-9 for end in ends)]
    rule = Threshold(tau, scaled=Temperature(tuple(at)))
    assert path.certified and agrees(path, decode(predictor, [[]] * len(at), rule, shape, options=options), at)


@given(st.integers(0, 10**6), st.sampled_from(SHAPES), st.sampled_from([0.5, 0.9]))
@settings(max_examples=examples(8))
def test_every_reward_scale_decodes_to_its_piece(seed: int, shape: Shape, tau: float) -> None:
    predictor = table_predictor(seed, 1.5)
    path = scale_path(predictor, [], LOW, HIGH, shape, over="reward-scale", threshold=tau, reward=REWARD)
    at = middles(path)
    traces = [decode(predictor, [[]], Threshold(tau, scaled=RWS(s)), shape, reward=REWARD)[0] for s in at]
    assert path.certified and agrees(path, traces, at)


def test_the_paths_end_at_one_position_a_step_and_at_all_at_once() -> None:
    path = scale_path(load_predictor("mini"), "sort : two one", 0.05, 64.0, Shape(12, 12, 12), threshold=0.9)
    first, *_, last = [max(piece.commit_step) + 1 for piece in path.pieces]
    assert path.certified and path.threshold == 0.9 and " at threshold 0.9: " in repr(path)
    assert "at threshold 0.9 gives, from" in path.view().html
    assert first > last and path.grid_forwards == sum(max(piece.commit_step) + 1 for piece in path.pieces)
    counts = [np.bincount(piece.commit_step)[0] for piece in path.pieces]  # of the first canvas, which all share
    assert counts == sorted(counts) and counts[-1] > counts[0]


def test_reach_compares_paths_at_a_threshold() -> None:
    predictor, shape = table_predictor(3, 1.5), SHAPES[0]
    paths = [
        scale_path(predictor, [], LOW, HIGH, shape, over=over, threshold=0.9, reward=REWARD)
        for over in ("temperature", "reward-scale")
    ]
    reach = compare_reach(*paths)
    assert {output.tokens for output in reach.temperature} == set(paths[0].answers)
    assert {output.tokens for output in reach.reward_scale} == set(paths[1].answers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.5}, "threshold is 1.5:"),
        ({"threshold": 0.9, "options": Options(end_of_text="defer")}, "end_of_text is 'defer'"),
    ],
)
def test_misuse_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scale_path(table_predictor(0, 1.0), [], LOW, HIGH, SHAPES[0], **options)
