"""What the statistics refuse: each check once, though several functions share it, by the argument and its value."""

from collections.abc import Callable

import numpy as np
import pytest

from paper_figures import statistics as s

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("call", "argument", "value"),
    [
        (lambda: s.mean_interval([]), "values", "(0,)"),
        (lambda: s.mean_interval([1, np.nan]), "values", "not finite"),
        (lambda: s.mean_interval([1, 2], level=95), "level", "95"),
        (lambda: s.paired_differences([1, 2], [1]), "second", "1"),
        (lambda: s.share_interval(3, 2), "successes", "3"),
        (lambda: s.tost([0.1, 0.2], 0.0), "margin", "0.0"),
        (lambda: s.least_difference(1.0, 16, power=0.01), "power", "0.01"),
        (lambda: s.possible_sizes([(120.0,)], 10), "rows", ""),
        (lambda: s.sign_test_power(0.7, 0.4, 10), "win and loss", "0.7 and 0.4"),
        (lambda: s.net_share([0.5]), "outcome", "0.5"),
        (lambda: s.paired_share_difference([1, 0.5], [1, 0]), "first", "0.5"),
        (lambda: s.paired_outcomes([1.0], [1.0], tolerance=np.nan), "tolerance", "nan"),
        (lambda: s.rate_of_counts(-1, 2, 3), "wins, draws, losses", "-1"),
        (lambda: s.quintile_rates([np.nan, 1.0], [1, 1]), "god", "not finite"),
    ],
)
def test_misuse_is_told_by_argument_and_value(call: Callable[[], object], argument: str, value: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value).startswith(argument) and value in str(caught.value) and "\n" not in str(caught.value)
