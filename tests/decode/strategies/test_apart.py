"""The distance between a step's commits, against a slow version: one row, one position at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import llada_predictor

from rws_decode import (
    Apart,
    CallablePredictor,
    CallableReward,
    Confidence,
    Margin,
    Options,
    RandomOrder,
    Shape,
    decode,
    replay,
    steer,
)
from rws_decode.testing.strategies import mask_predictors, shapes

PREDICTOR = llada_predictor()
REWARD = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)


def spaced(value: dict[int, float], waits: set[int], apart: int, k: int) -> list[int]:
    """Return k of the positions that have a value, one after another."""
    chosen: list[int] = []
    for _ in range(k):
        left = [at for at in sorted(value) if at not in chosen]
        left = [at for at in left if at not in waits] or left
        far = {at: min([apart, *(abs(at - other) for other in chosen)]) for at in left}
        furthest = [at for at in left if far[at] == max(far.values())]
        chosen.append(max(furthest, key=lambda at: (value[at], -at)))
    return chosen


def slow(predictor: Any, order: Any, apart: int, shape: Shape, end: int) -> tuple[list[int], list[int]]:
    """Decode without a prompt; a position whose best word is `end` waits for the others of its block."""
    row, when = [predictor.mask_id] * shape.length, [-1] * shape.length
    for step, (start, stop, k) in enumerate(shape.plan):
        logits = predictor.logits(torch.tensor([row]), None)[0].double()
        logits[:, predictor.mask_id] = -torch.inf
        masked = [at for at in range(start, stop) if when[at] < 0]
        best = {at: int(logits[at].argmax()) for at in masked}
        if isinstance(order, Margin):
            two = {at: sorted(logits[at].tolist())[-2:] for at in masked}
            value = {at: high - low for at, (low, high) in two.items()}
        else:
            value = dict(enumerate(np.random.default_rng(order.seed).random(shape.length)))
            value = {at: value[at] for at in masked}
        for at in spaced(value, {at for at in masked if best[at] == end}, apart, k):
            row[at], when[at] = best[at], step
    return row, when


@given(st.data(), st.integers(1, 5), st.sampled_from([Margin("logit"), RandomOrder(1), RandomOrder(2)]), st.booleans())
def test_a_decode_is_that_of_the_slow_version(data: st.DataObject, apart: int, order: Any, defers: bool) -> None:
    predictor, length = data.draw(mask_predictors())
    shape = data.draw(shapes(length))
    options = Options(end_of_text="defer", end_ids=[1]) if defers else Options()
    run = decode(predictor, [[], []], Apart(order, apart), shape, options=options)
    expected = slow(predictor, order, apart, shape, 1 if defers else -1)
    assert all((trace.tokens.tolist(), trace.commit_step.tolist()) == expected for trace in run)
    assert replay(run[0]).diverged_at is None
    if apart == 1:
        (plain,) = decode(predictor, [[]], order, shape, options=options)
        assert (plain.commit_step == run[0].commit_step).all()


@pytest.mark.parametrize("text", ["default+apart:3", "rws:8+apart:3", "random-order+apart:2"])
def test_a_step_keeps_its_distance_while_it_can(text: str) -> None:
    """In blocks, with prompts of two lengths: where so many masks are left that the k - 1 first strike not all out."""
    apart, held = int(text[-1]), 0
    for trace in decode(PREDICTOR, ["the cat", "a dog ran over"], text, Shape(48, 16, 24), reward=REWARD):
        for eligible, chosen in zip(trace.eligible, trace.chosen, strict=True):
            if eligible.sum() > (chosen.sum() - 1) * (2 * apart - 1):
                gaps = np.diff(np.flatnonzero(chosen))
                assert len(gaps) == 2 and gaps.min() >= apart
                held += 1
    assert held >= 2 * 2 * 4


def test_a_strategy_that_counts_commits_fewer() -> None:
    nearest = {}
    for text in ("threshold:0.35", "threshold:0.35+apart:3"):
        traces = list(decode(PREDICTOR, ["the cat", "a dog ran over"], text, Shape(24, 24, 12)))
        gaps = [np.diff(np.flatnonzero(chosen)) for trace in traces for chosen in trace.chosen]
        nearest[text] = int(np.concatenate(gaps).min())
    assert nearest == {"threshold:0.35": 1, "threshold:0.35+apart:3": 3}


def test_positions_that_are_level_go_from_the_left() -> None:
    """All confidences equal: the leftmost, then the leftmost that is far enough; where none is, the furthest."""
    level = CallablePredictor(lambda canvas: torch.eye(4)[torch.full_like(canvas, 2)], mask_id=0)
    (trace,) = decode(level, [[]], "default+apart:3", Shape(7, 3, 7))
    assert [np.flatnonzero(chosen).tolist() for chosen in trace.chosen] == [[0, 3, 6], [1, 4], [2, 5]]
    (trace,) = decode(level, [[]], "default+apart:5", Shape(7, 2, 7))
    assert [np.flatnonzero(chosen).tolist() for chosen in trace.chosen] == [[0, 1, 2, 5], [3, 4, 6]]


def test_copies_of_a_steering_method_keep_it() -> None:
    (trace,) = steer(PREDICTOR, "the cat", "best-of:2+rws:8+apart:4", Shape(12, 6, 12), reward=REWARD)
    assert trace.strategy["base"]["of"]["name"] == "rws" and trace.strategy["base"]["apart"] == 4
    first = np.flatnonzero(trace.chosen[0])
    assert first[1] - first[0] >= 4


def test_near_ties_are_those_of_the_distance() -> None:
    """A position that rounding could put in another's place, where the plain cut is far from both."""
    z = torch.tensor([[9.0, 0.0], [9.0 - 1e-6, 0.0], [2.0, 0.0], [1.0, 0.0]]).double()
    canvas_logits = torch.cat([torch.full((4, 1), -torch.inf).double(), z], dim=1).float()
    predictor = CallablePredictor(lambda canvas: canvas_logits.expand(len(canvas), -1, -1), mask_id=0)
    (trace,) = decode(predictor, [[]], Apart(Confidence(), 3), Shape(4, 2, 4))
    (plain,) = decode(predictor, [[]], Confidence(), Shape(4, 2, 4))
    assert trace.near_ties[0] > 0 == plain.near_ties[0]
