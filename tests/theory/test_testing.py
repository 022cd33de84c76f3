"""The strategies stay in their domains and reach the cases that the other tests are about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis.strategies import SearchStrategy

from rws_theory import testing

# Not the simplest case, which costs most of the time: any.
_SEARCH = settings(derandomize=True, database=None, max_examples=2000, deadline=None, phases=[Phase.generate])


@settings(deadline=None)
@given(testing.logit_vectors(2, 5))
def test_logit_vectors_are_valid_rows(x: np.ndarray) -> None:
    assert 2 <= x.size <= 5 and x.dtype == np.float64
    assert np.isfinite(x).any() and not np.isnan(x).any() and not np.isposinf(x).any()


@settings(deadline=None)
@given(testing.wide_logits(2, 5), testing.wide_scales(1e-200, 1e200), testing.wide_tilts())
def test_wide_inputs_are_valid(x: np.ndarray, r: float, case: tuple[np.ndarray, np.ndarray, float]) -> None:
    assert 2 <= x.size <= 5 and np.isfinite(x).any() and not np.isnan(x).any() and not np.isposinf(x).any()
    assert 1e-200 <= r <= 1e200
    log_p, reward, factor = case
    assert log_p.shape == reward.shape and np.isfinite(log_p[0]) and np.isfinite(reward).all() and np.isfinite(factor)


@pytest.mark.parametrize(
    "condition",
    [
        lambda x: 0 < np.abs(x[np.isfinite(x)]).min() < 1e-310,
        lambda x: np.abs(x[np.isfinite(x)]).max() > 1e300,
        lambda x: np.isneginf(x).any() and (np.sort(x)[-1] == np.sort(x)[-2]),
        lambda x: np.diff(np.sort(x)[-2:])[0] == np.spacing(np.sort(x)[-2]) and x.max() > 1,
    ],
    ids=["subnormal", "huge", "tied", "neighbours"],
)
def test_wide_logits_reach_the_ends_of_the_floats(condition: Any) -> None:
    find(testing.wide_logits(2, 4), condition, settings=_SEARCH)


@settings(deadline=None)
@given(testing.wide_tables(), testing.wide_chains())
def test_wide_models_have_a_possible_sequence(
    table: tuple[np.ndarray, list[int]], chain: tuple[np.ndarray, np.ndarray, list[int]]
) -> None:
    log_p, canvas = table
    assert np.isfinite(log_p[tuple(slice(None) if token < 0 else token for token in canvas)]).any()
    assert np.isfinite(chain[0]).any() and np.isfinite(chain[1]).any(axis=1).all()


@settings(deadline=None)
@given(testing.logit_arrays(), testing.scales(0.5, 7.0))
def test_arrays_are_valid_rows_and_scales_stay_in_range(x: np.ndarray, r: float) -> None:
    assert x.ndim == 2 and np.isfinite(x).any(axis=-1).all()
    assert 0.5 <= r <= 7.0


@settings(deadline=None)
@given(testing.logit_pairs())
def test_pairs_share_one_dimension(pair: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = pair
    assert a.shape == b.shape and np.isfinite(a).any() and np.isfinite(b).any()


@settings(deadline=None)
@given(testing.integer_gap_pairs())
def test_gap_pairs_are_sorted_non_negative_and_of_one_length(pair: tuple[list[int], list[int]]) -> None:
    u, v = pair
    assert len(u) == len(v) and u == sorted(u) and v == sorted(v) and min(u + v) >= 0


@settings(deadline=None)
@given(testing.saturated_pairs())
def test_saturated_pairs_differ_in_their_smallest_gap(case: tuple[np.ndarray, np.ndarray, float]) -> None:
    a, b, r = case
    margins = [np.diff(np.sort(x)[-2:])[0] for x in (a, b)]
    assert margins[0] != margins[1] and r * min(margins) > 37


@settings(deadline=None)
@given(testing.commit_steps())
def test_commit_steps_number_the_steps_without_gaps(steps: np.ndarray) -> None:
    assert set(steps.tolist()) == set(range(int(steps.max()) + 1)) and 1 <= steps.size <= 10


@settings(deadline=None)
@given(testing.rewards(), testing.reward_scales(), testing.epsilons())
def test_reward_arguments_are_finite_and_in_range(reward: float, reward_scale: float, eps: float) -> None:
    assert np.isfinite(reward) and 1e-6 <= reward_scale <= 1e6 and 1e-12 <= eps <= 1.0


@pytest.mark.parametrize(
    ("strategy", "condition"),
    [
        (testing.logit_vectors(2), lambda x: (x == x.max()).sum() > 1),
        (testing.logit_vectors(2), lambda x: np.isneginf(x).any()),
        (testing.logit_vectors(2), lambda x: np.isfinite(x).sum() == 1),
        (testing.logit_vectors(2), lambda x: np.ptp(x) > 60),
        (testing.logit_pairs(), lambda p: (np.sort(p[0]) == np.sort(p[1])).all()),
        (testing.logit_pairs(), lambda p: np.isfinite(p[0]).sum() != np.isfinite(p[1]).sum()),
        (testing.integer_gap_pairs(), lambda p: p[0] != p[1] and sum(p[0]) == sum(p[1])),
        (testing.integer_gap_pairs(), lambda p: p[0] == p[1]),
        (testing.commit_steps(), lambda s: np.bincount(s).max() > 1),
        (testing.commit_steps(), lambda s: s.size > 3 and np.bincount(s).max() == 1),
        (testing.rewards(), lambda r: abs(r) > 1e300),
    ],
)
def test_cases_that_matter_are_reached(strategy: SearchStrategy[Any], condition: Any) -> None:
    assert condition(find(strategy, condition, settings=_SEARCH))


@settings(deadline=None)
@given(testing.tilted_inputs())
def test_tilted_inputs_have_a_possible_state_and_finite_rewards(case: tuple[np.ndarray, np.ndarray]) -> None:
    log_p, reward = case
    assert log_p.shape == reward.shape and np.isfinite(log_p).any() and np.isfinite(reward).all()


@settings(deadline=None)
@given(testing.models_with_canvas())
def test_models_come_with_their_own_table_and_a_canvas_of_its_length(case: Any) -> None:
    model, table, canvas = case
    assert table.length == len(canvas) and table.vocabulary == model.vocabulary
    assert all(-1 <= token < table.vocabulary for token in canvas)


@pytest.mark.parametrize(
    "reached",
    [
        lambda case: np.isneginf(case[0]).any(),
        lambda case: len(set(case[1].tolist())) == 1 < len(case[1]),
        lambda case: len(case[1]) == 1,
    ],
    ids=["impossible-state", "constant-reward", "one-state"],
)
def test_tilted_inputs_reach_the_edges(reached: Any) -> None:
    find(testing.tilted_inputs(), reached, settings=_SEARCH)
