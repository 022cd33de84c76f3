"""The strategies stay in their domains and reach the cases that the other tests are about."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from rws_theory import testing

# Not the simplest case, which costs most of the time: any.
_SEARCH = settings(derandomize=True, database=None, max_examples=2000, deadline=None, phases=[Phase.generate])


def is_row(x: np.ndarray) -> bool:
    return bool(np.isfinite(x).any() and not np.isnan(x).any() and not np.isposinf(x).any())


def are_tilts(log_p: np.ndarray, reward: np.ndarray) -> bool:
    return log_p.shape == reward.shape and bool(np.isfinite(log_p).any() and np.isfinite(reward).all())


def is_possible(log_p: np.ndarray, canvas: list[int]) -> bool:
    return bool(np.isfinite(log_p[tuple(slice(None) if token < 0 else token for token in canvas)]).any())


# A strategy, and what holds of all that it draws.
VALID: dict[str, tuple[SearchStrategy[Any], Callable[[Any], bool]]] = {
    "logit_vectors": (testing.logit_vectors(2, 5), lambda x: 2 <= x.size <= 5 and is_row(x)),
    "wide_logits": (testing.wide_logits(2, 5), lambda x: 2 <= x.size <= 5 and is_row(x)),
    "logit_arrays": (testing.logit_arrays(), lambda x: x.ndim == 2 and all(map(is_row, x))),
    "logit_pairs": (testing.logit_pairs(), lambda pair: pair[0].shape == pair[1].shape and all(map(is_row, pair))),
    "wide_scales": (testing.wide_scales(1e-200, 1e200), lambda r: 1e-200 <= r <= 1e200),
    "rewards": (testing.rewards(), np.isfinite),
    "tilted_inputs": (testing.tilted_inputs(), lambda case: are_tilts(*case)),
    "wide_tilts": (testing.wide_tilts(), lambda case: are_tilts(*case[:2]) and np.isfinite(case[2])),
    "wide_tables": (testing.wide_tables(), lambda case: is_possible(*case)),
    "wide_chains": (testing.wide_chains(), lambda chain: is_row(chain[0]) and all(map(is_row, chain[1]))),
    "integer_gap_pairs": (
        testing.integer_gap_pairs(),
        lambda pair: len(pair[0]) == len(pair[1]) and all(u == sorted(u) and min(u) >= 0 for u in pair),
    ),
    "saturated_pairs": (
        testing.saturated_pairs(),
        lambda case: case[2] * min(margins(case)) > 37 and len(set(margins(case))) == 2,
    ),
    "commit_steps": (
        testing.commit_steps(),
        lambda steps: 1 <= steps.size <= 10 and set(steps.tolist()) == set(range(int(steps.max()) + 1)),
    ),
    "models_with_canvas": (
        testing.models_with_canvas(),
        lambda case: case[1].length == len(case[2]) and all(-1 <= token < case[0].vocabulary for token in case[2]),
    ),
}


def margins(case: tuple[np.ndarray, np.ndarray, float]) -> list[float]:
    return [float(np.diff(np.sort(x)[-2:])[0]) for x in case[:2]]


@pytest.mark.parametrize("name", VALID)
@settings(deadline=None)
@given(data=st.data())
def test_what_is_drawn_is_valid(name: str, data: st.DataObject) -> None:
    strategy, holds = VALID[name]
    assert holds(data.draw(strategy))


@pytest.mark.parametrize(
    ("strategy", "condition"),
    [
        (testing.logit_vectors(2), lambda x: (x == x.max()).sum() > 1),
        (testing.logit_vectors(2), lambda x: np.isneginf(x).any()),
        (testing.logit_vectors(2), lambda x: np.isfinite(x).sum() == 1),
        (testing.logit_pairs(), lambda p: (np.sort(p[0]) == np.sort(p[1])).all()),
        (testing.logit_pairs(), lambda p: np.isfinite(p[0]).sum() != np.isfinite(p[1]).sum()),
        (testing.integer_gap_pairs(), lambda p: p[0] != p[1] and sum(p[0]) == sum(p[1])),
        (testing.commit_steps(), lambda s: np.bincount(s).max() > 1),
        (testing.wide_logits(2, 4), lambda x: 0 < np.abs(x[np.isfinite(x)]).min() < 1e-310),
        (testing.wide_logits(2, 4), lambda x: np.isneginf(x).any() and np.sort(x)[-1] == np.sort(x)[-2]),
        (
            testing.wide_logits(2, 4),
            lambda x: np.diff(np.sort(x)[-2:])[0] == np.spacing(np.sort(x)[-2]) and x.max() > 1,
        ),
        (testing.tilted_inputs(), lambda case: np.isneginf(case[0]).any()),
        (testing.tilted_inputs(), lambda case: len(set(case[1].tolist())) == 1 < len(case[1])),
    ],
)
def test_cases_that_matter_are_reached(strategy: SearchStrategy[Any], condition: Any) -> None:
    find(strategy, condition, settings=_SEARCH)
