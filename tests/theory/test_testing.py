"""The strategies stay in their domains and reach the cases that the other tests are about."""

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, settings
from hypothesis.strategies import SearchStrategy

from rws_theory import testing

# Not the simplest case, which costs most of the time: any.
_SEARCH = settings(derandomize=True, database=None, max_examples=2000, deadline=None, phases=[Phase.generate])


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
