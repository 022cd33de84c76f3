"""P(r), log-odds and gap statistics against 50-digit references written from the definitions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rws_theory import gap_statistics, gaps, log_odds, max_probability, testing


@given(testing.logit_vectors(), testing.scales(), st.randoms(use_true_random=False))
def test_equal_multisets_of_logits_give_equal_bits(x: np.ndarray, r: float, random: object) -> None:
    shuffled = list(x)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert log_odds(x, r) == log_odds(np.array(shuffled), r)
    whole = np.random.default_rng(0).normal(size=5000)  # a whole vocabulary
    assert log_odds(whole, 0.7) == log_odds(np.random.default_rng(1).permutation(whole), 0.7)


@given(testing.logit_vectors(), testing.scales(), testing.scales())
def test_confidence_does_not_fall_when_the_scale_rises(x: np.ndarray, r: float, s: float) -> None:
    assert max_probability(x, min(r, s)) <= max_probability(x, max(r, s)) * (1 + 1e-13)


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


def test_no_position_and_huge_equal_logits_are_no_misuse() -> None:
    assert log_odds(np.zeros((0, 3)), 1.0).shape == (0,) and gaps(np.zeros((0, 3))).shape == (0, 2)
    assert log_odds([8e307, 8e307], 1.0) == 0.0
    assert log_odds([5.0, 2.0], [1.0, 2.0, 3.0]).tolist() == [3.0, 6.0, 9.0]  # one position, any number of scales
    assert gap_statistics([8e307, 8e307]).total == 0.0
    assert gaps([[4.0], [5.0]]).shape == (2, 0) and gap_statistics([[4.0], [5.0]]).multiplicity.dtype == np.int64
