"""A distance between the commits of a step, beside a slow version of its rule."""

from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from slow_rows import Row, Rule, slow_decode

from rws_decode import CallablePredictor, Margin, Options, RandomOrder, Shape, Spacing, decode, replay
from rws_decode.extra.testing.strategies import mask_predictors, shapes


def spacing_rule(order: Any, least: int, end: int) -> Rule:
    """A position whose best word is `end` waits for the others of its block."""

    def rule(row: Row) -> tuple[list[int], set[int]]:
        if isinstance(order, Margin):
            value = {place: -float(row.logits[place].topk(2).values.diff()) for place in row.masked}
        else:
            value = dict(enumerate(np.random.default_rng(order.seed).random(len(row.answer))))
            value = {place: value[place] for place in row.masked}
        waits = {place for place in row.masked if int(row.logits[place].argmax()) == end}
        chosen: list[int] = []
        for _ in range(row.k):
            left = [place for place in sorted(value) if place not in chosen]
            left = [place for place in left if place not in waits] or left
            far = {place: min([least, *(abs(place - other) for other in chosen)]) for place in left}
            chosen.append(max(left, key=lambda place: (far[place], value[place], -place)))
        return chosen, set()

    return rule


@given(st.data(), st.integers(1, 5), st.sampled_from([Margin("logit"), RandomOrder(1), RandomOrder(2)]), st.booleans())
def test_a_decode_is_that_of_the_slow_version(data: st.DataObject, least: int, order: Any, defers: bool) -> None:
    predictor, length = data.draw(mask_predictors())
    shape = data.draw(shapes(length))
    options = Options(end_of_text="defer", end_ids=[1]) if defers else Options()
    run = decode(predictor, [[], []], Spacing(order, least), shape, options=options)
    slow = slow_decode(predictor, [], shape, spacing_rule(order, least, 1 if defers else -1))
    assert all((trace.tokens.tolist(), trace.commit_step.tolist()) == (slow.tokens, slow.commit_step) for trace in run)
    assert replay(run[0]).diverged_at is None
    if least == 1:
        (plain,) = decode(predictor, [[]], order, shape, options=options)
        assert (plain.commit_step == run[0].commit_step).all()


def test_positions_that_are_level_go_from_the_left() -> None:
    """All confidences equal: the leftmost, then the leftmost that is far enough; where none is, the furthest."""
    level = CallablePredictor(lambda canvas: torch.eye(4)[torch.full_like(canvas, 2)], mask_id=0)
    (trace,) = decode(level, [[]], "default+spacing:3", Shape(7, 3, 7))
    assert [np.flatnonzero(chosen).tolist() for chosen in trace.chosen] == [[0, 3, 6], [1, 4], [2, 5]]
    (trace,) = decode(level, [[]], "default+spacing:5", Shape(7, 2, 7))
    assert [np.flatnonzero(chosen).tolist() for chosen in trace.chosen] == [[0, 1, 2, 5], [3, 4, 6]]
