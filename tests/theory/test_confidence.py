"""P(r), log-odds and gap statistics against 50-digit references written from the definitions."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from misuse import refused

from rws_theory import gap_statistics, gaps, log_odds, max_probability, testing

pytestmark = pytest.mark.filterwarnings("error")


def exact_sum(x: np.ndarray, r: float) -> mpmath.mpf:
    """F(r) from its definition at 50 digits: every other allowed token, one copy of the maximum left out."""
    allowed = sorted((mpmath.mpf(float(v)) for v in x if np.isfinite(v)), reverse=True)
    return mpmath.fsum(mpmath.exp(-mpmath.mpf(r) * (allowed[0] - v)) for v in allowed[1:])


def naive_softmax_max(x: np.ndarray, r: float) -> float:
    weights = np.exp(r * x - np.max(r * x))
    return float((weights / weights.sum()).max())


@settings(deadline=None)
@given(testing.logit_vectors(), testing.scales(), st.randoms(use_true_random=False))
def test_equal_multisets_of_logits_give_equal_bits(x: np.ndarray, r: float, random: object) -> None:
    shuffled = list(x)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert log_odds(x, r) == log_odds(np.array(shuffled), r)


def test_equal_multisets_of_a_whole_vocabulary_give_equal_bits() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=5000)
    copies = np.stack([generator.permutation(x) for _ in range(20)])
    assert len(set(log_odds(copies, 0.7).tolist())) == 1


@settings(deadline=None)
@given(testing.logit_vectors(), testing.scales(), testing.scales())
def test_confidence_does_not_fall_when_the_scale_rises(x: np.ndarray, r: float, s: float) -> None:
    assert max_probability(x, min(r, s)) <= max_probability(x, max(r, s)) * (1 + 1e-13)


@settings(deadline=None)
@given(testing.logit_arrays(), st.lists(testing.scales(), min_size=1, max_size=4))
def test_batches_equal_one_position_and_one_scale_at_a_time(x: np.ndarray, rates: list[float]) -> None:
    for function in (log_odds, max_probability):
        table = function(x, np.array(rates)[:, None])
        assert table.shape == (len(rates), len(x))
        np.testing.assert_array_equal(table, [[function(row, r) for row in x] for r in rates])
    statistics = gap_statistics(x)
    for i, row in enumerate(x):
        row_statistics = gap_statistics(row)
        assert (statistics.total[i], statistics.smallest[i], statistics.multiplicity[i]) == (
            row_statistics.total,
            row_statistics.smallest,
            row_statistics.multiplicity,
        )
        np.testing.assert_array_equal(gaps(x)[i], gaps(row))


@settings(deadline=None)
@given(testing.saturated_pairs())
def test_log_odds_orders_as_exact_probability_where_softmax_saturates(
    case: tuple[np.ndarray, np.ndarray, float],
) -> None:
    a, b, r = case
    assert naive_softmax_max(a, r) == naive_softmax_max(b, r) == 1.0
    with mpmath.workdps(500):
        assert (log_odds(a, r) > log_odds(b, r)) == (1 / (1 + exact_sum(a, r)) > 1 / (1 + exact_sum(b, r)))
    assert log_odds(a, r) != log_odds(b, r)


@settings(deadline=None)
@given(testing.logit_vectors(2, forbidden=False))
def test_limits_are_the_smallest_gap_and_the_total_gap(x: np.ndarray) -> None:
    statistics, n = gap_statistics(x), x.size - 1
    others = np.unique(np.sort(x)[:-1])
    if others.size == 1 or others[-1] - others[-2] > 1e-3:
        assert log_odds(x, 1e5) == pytest.approx(1e5 * statistics.smallest - np.log(statistics.multiplicity), abs=1e-8)
    r = 1e-9
    assert log_odds(x, r) + np.log(n) == pytest.approx(r * statistics.total / n, abs=1e-14)


def test_forbidden_tokens_contribute_nothing() -> None:
    assert log_odds([3.0, -np.inf, 1.0, -np.inf], 0.7) == log_odds([3.0, 1.0], 0.7)
    assert max_probability([-np.inf, 2.0], 5.0) == 1.0
    statistics = gap_statistics([-np.inf, 2.0])
    assert (statistics.total, statistics.smallest, statistics.multiplicity) == (0.0, np.inf, 0)


def test_a_single_token_is_certain_at_every_scale() -> None:
    assert log_odds([4.0], 1e-3) == np.inf and max_probability([4.0], 1e-3) == 1.0
    assert gaps([[4.0], [5.0]]).shape == (2, 0)
    statistics = gap_statistics([[4.0], [5.0]])
    assert statistics.multiplicity.dtype == gap_statistics([[4.0, 1.0]]).multiplicity.dtype == np.int64
    assert (
        statistics.total.tolist() == [0, 0]
        and statistics.smallest.tolist() == [np.inf] * 2
        and statistics.multiplicity.tolist() == [0, 0]
    )


def test_a_tie_at_the_maximum_counts_its_other_copies() -> None:
    assert log_odds([2.0, 2.0], 9.0) == 0.0
    assert max_probability([2.0, 2.0, 2.0, -1e6], 9.0) == pytest.approx(1 / 3, rel=1e-15, abs=0)
    assert float(log_odds([0.0, 0.0, -50.0], 1.0)) == pytest.approx(-float(np.exp(-50.0)), rel=1e-13, abs=0)


def test_no_position_and_huge_equal_logits_are_no_misuse() -> None:
    assert log_odds(np.zeros((0, 3)), 1.0).shape == (0,) and gaps(np.zeros((0, 3))).shape == (0, 2)
    assert log_odds([8e307, 8e307], 1.0) == 0.0
    assert log_odds([5.0, 2.0], [1.0, 2.0, 3.0]).tolist() == [3.0, 6.0, 9.0]  # one position, any number of scales
    assert gap_statistics([8e307, 8e307]).total == 0.0


@pytest.mark.parametrize(("r", "expected"), [(5e-324, -float(np.log(2))), (1e-300, 1e6), (1.0, 1e306), (1e300, np.inf)])
def test_nothing_overflows_before_the_result_does(r: float, expected: float) -> None:
    x = np.array([[1e306, -1e306, 0.0], [1e-306, 0.0, -1e-306], [2.0, 2.0, -1e307]])
    values = log_odds(x, r)
    assert not np.isnan(values).any() and not np.isnan(max_probability(x, r)).any()
    assert float(values[0]) == pytest.approx(expected, rel=1e-12, abs=0)
    with np.errstate(all="raise"):
        assert log_odds(x, r).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("logits", "r", "message"),
    [
        ([[1.0, 2.0], [-np.inf, -np.inf]], 1.0, "logits must ... got a row of -inf only"),
        (3.0, 1.0, "logits must have shape (..., d) with d >= 1, got shape ()"),
        ([1e308, -1e308], 1.0, "logits must ... got a wider span"),
        ([np.longdouble(10) ** 4000, 0.0], 1.0, "logits must be finite or -inf (a forbidden token), got inf"),
        ([1.0, 2.0], [1.0, np.inf], "r must be positive and finite, got inf"),
        ([1.0, 2.0], "1", "r must be real numbers, got dtype <U1"),
        ([[1.0, 2.0]] * 3, [1.0, 2.0], "r must broadcast with the leading shape (3,) of logits, got shape (2,)"),
    ],
)
def test_misuse_names_the_argument(logits: object, r: object, message: str) -> None:
    refused(lambda: log_odds(logits, r), message)  # type: ignore[arg-type]
