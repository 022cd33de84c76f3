"""Worlds whose words stand at other positions: the same law, and how far from left to right its orders are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_worlds import Case, cases

from rws_theory.worlds import MASK, NGram, Scattered, scattered, scattered_order


@given(case=cases(), seed=st.integers(0, 2**32))
def test_it_is_the_worlds_law_up_to_the_names_of_positions(case: Case, seed: int) -> None:
    world = case.world
    moved = Scattered(world, np.random.default_rng(seed).permutation(case.length))
    log_p = np.array([moved.log_prob(text, case.context) for text in case.texts])
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-12)
    weight = np.where(case.allowed, np.exp(log_p), 0.0)
    expected = np.zeros((case.length, case.vocabulary))
    for text, share in zip(case.texts, weight / weight.sum(), strict=True):
        expected[np.arange(case.length), text] += share
    np.testing.assert_allclose(np.exp(moved.conditionals(case.canvas, case.context)), expected, rtol=0, atol=1e-12)
    best = moved.best(case.context)
    assert moved.log_prob(best, case.context) == pytest.approx(log_p.max(), abs=1e-11)
    drawn = moved.sample(np.random.default_rng(seed), case.context)
    same = world.sample(case.length, np.random.default_rng(seed), case.context)
    assert (drawn[moved.order] == same).all()


def test_locality_goes_from_left_to_right_to_any_order() -> None:
    places = np.arange(200)
    moves = [
        np.abs(scattered_order(200, locality, np.random.default_rng(0)) - places).mean()
        for locality in (1.0, 0.9, 0.5, 0.0)
    ]
    assert moves[0] == 0 and all(first < second for first, second in itertools.pairwise(moves))
    assert moves[-1] == pytest.approx((200**2 - 1) / (3 * 200), rel=0.15)  # the mean of a random order


def test_at_locality_one_it_is_the_world() -> None:
    world = NGram.fit([[0, 1, 0, 1, 0, 2]], order=2, vocabulary=3)
    canvas = [MASK, 1, MASK]
    moved = scattered(world, 3, 1.0, np.random.default_rng(0))
    assert (moved.conditionals(canvas) == world.conditionals(canvas)).all()


def test_misuse_is_refused() -> None:
    world = NGram.fit([[0, 1]], vocabulary=2)
    with pytest.raises(ValueError, match=r"order is \[0, 0\]"):
        Scattered(world, np.array([0, 0]))
    with pytest.raises(ValueError, match=r"locality is 2\.0"):
        scattered(world, 3, 2.0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="n is 0"):
        scattered_order(0, 0.5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="canvas has 1 positions: the model has 2"):
        Scattered(world, np.array([1, 0])).conditionals([MASK])
