"""The commit schedule against its definition."""

from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from misuse import refused

from rws_decode import Shape, decode, decode_compact, replay, replay_with, scale_path
from rws_decode.canvas.schedule import block_plan, commit_counts
from rws_decode.extra.testing import exact_predictor
from rws_decode.extra.testing.strategies import mask_predictors
from rws_theory.testing import random_table


@given(st.integers(1, 200), st.data())
def test_counts_deal_the_masks_out_one_by_one(masks: int, data: st.DataObject) -> None:
    steps = data.draw(st.integers(1, masks))
    dealt = [0] * steps
    for mask in range(masks):
        dealt[mask % steps] += 1
    assert commit_counts(masks, steps) == dealt


@given(st.integers(1, 6), st.integers(1, 12), st.data())
def test_plan_covers_every_block_in_order(blocks: int, block: int, data: st.DataObject) -> None:
    per_block = data.draw(st.integers(1, block))
    plan = block_plan(blocks * block, blocks * per_block, block)
    assert len(plan) == blocks * per_block
    expected = [(b * block, (b + 1) * block, k) for b in range(blocks) for k in commit_counts(block, per_block)]
    assert [tuple(step) for step in plan] == expected


@given(
    mask_predictors(), st.sampled_from(["default", "temperature:3", "margin", "random-order", "lookum:2"]), st.data()
)
@settings(max_examples=examples(100))
def test_every_step_commits_what_is_given(drawn: Any, strategy: str, data: st.DataObject) -> None:
    predictor, length = drawn
    cuts = data.draw(st.sets(st.integers(1, length - 1)))
    counts = np.diff([0, *sorted(cuts), length]).tolist()
    shape = Shape(length, counts=counts)
    (trace,) = decode(predictor, [[]], strategy, shape)
    assert trace.chosen.sum(axis=1).tolist() == counts and shape.counts == tuple(counts)
    assert replay(trace).diverged_at is None
    assert (replay_with(trace, predictor).commit_step == trace.commit_step).all()
    if strategy in ("default", "temperature:3") and not trace.near_ties.any():  # other sums may turn those
        (compact,) = decode_compact(predictor, [[]], strategy, shape)
        assert (compact.commit_step == trace.commit_step).all()
        piece = scale_path(predictor, [], 1.0, 3.0, shape).pieces[0 if strategy == "default" else -1]
        assert list(piece.commit_step) == trace.commit_step.tolist()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Shape(8, counts=(1, 2)), "counts are (1, 2): 2 that sum to length, 8, are needed"),
        (lambda: Shape(8, 4, counts=(3, 5)), "counts are (3, 5): 4 that sum"),
        (lambda: Shape(8, block=4, counts=(4, 4)), "counts are (4, 4): 2 that sum to length, 8, are needed, and one"),
        (lambda: Shape(8, counts=(8, 0)), "counts[1] is 0:"),
        (lambda: Shape(4, counts=(1, 3)).one_by_one(), "counts are (1, 3): a strategy that counts itself"),
        (lambda: decode(THREE, [[]], "threshold:0.9", Shape(3, counts=(1, 2))), "leave them out"),
    ],
)
def test_counts_that_do_not_fit_are_named(made: Any, message: str) -> None:
    refused(made, message)


THREE = exact_predictor(random_table(0, 3, 2))
