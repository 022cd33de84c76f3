"""Confidence sequences: how often they miss, at any time, and what verdicts come of them."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from rws_decode.ablation import confidence_sequence
from rws_decode.ablation.verdict import side_of, verdict_of

Draw = Callable[[np.random.Generator, int], np.ndarray]


# Differences of texts: alike but for a few prompts, of three values, or with a long tail; bound 3.
FAMILIES: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, n: rng.standard_normal(n) / 2, 0.0),
    "skewed": (lambda rng, n: np.minimum(rng.exponential(1.0, n), 3.0), 1 - np.exp(-3.0)),
    "won, tied, lost": (lambda rng, n: rng.choice([-1.0, 0.0, 1.0], n, p=[0.2, 0.5, 0.3]), 0.1),
    "one in twenty, three": (lambda rng, n: (rng.random(n) < 0.05) * 3.0, 0.15),
    "one in fifty, one": (lambda rng, n: (rng.random(n) < 0.02) * 1.0, 0.02),
    "nearly always three": (lambda rng, n: (rng.random(n) < 0.95) * 3.0, 2.85),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("runs", "n", "level"), [(120, 100, 0.8), pytest.param(500, 300, 0.95, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_the_mean_is_within_at_all_times(family: str, runs: int, n: int, level: float) -> None:
    draw, mean = FAMILIES[family]
    missed = 0
    for seed in range(runs):
        low, high = confidence_sequence(draw(np.random.default_rng(seed), n), level)
        missed += bool((low > mean).any() or (high < mean).any())
    assert missed / runs <= 1 - level + 3 * np.sqrt((1 - level) * level / runs)


def test_intervals_shrink_and_hold_what_a_slow_gambler_finds() -> None:
    values = np.random.default_rng(1).choice([-1.0, 0.0, 2.0], 60)
    low, high = confidence_sequence(values, 0.9)
    assert all(a <= b for a, b in pairwise(low)) and all(a >= b for a, b in pairwise(high))
    for mean in (-0.5, 0.0, 0.33, 1.0):
        refuted, capital = [False], [1.0, 1.0]
        for t, value in enumerate(values):
            prefix = values[:t]
            variance = (1 + np.sum(prefix**2) - (np.sum(prefix) ** 2 / t if t else 0)) / (t + 1)
            bet = np.sqrt(2 * np.log(2 / 0.1) / (variance * max(t + 1, 100)))
            capital[0] *= 1 + min(bet, 0.9 / (mean + 3)) * (value - mean)
            capital[1] *= 1 + min(bet, 0.9 / (3 - mean)) * (mean - value)
            refuted.append(refuted[-1] or max(capital) >= 2 / 0.1)
            if low[t] > mean + 0.01 or high[t] < mean - 0.01:
                assert refuted[-1]
            if low[t] < mean - 0.01 and high[t] > mean + 0.01:
                assert not refuted[-1]


def test_equal_texts_are_equivalent_when_the_guide_says() -> None:
    _, high = confidence_sequence(np.zeros(300), 1 - 0.05 / 9)
    assert 190 < int(np.argmax(high < 0.1)) + 1 < 210  # "about 200 prompts"
    low, high = confidence_sequence(np.random.default_rng(0).standard_normal(1000), 1 - 0.05 / 9)
    assert high[-1] - low[-1] > 0.2  # "more than a thousand"


@pytest.mark.parametrize("values", [[0.0, np.nan], [np.inf]])
def test_numbers_must_be_finite(values: list[float]) -> None:
    with pytest.raises(ValueError, match="values"):
        confidence_sequence(values)


# What is true of the mean difference with confidence decoding and with a fixed factor, and the verdict that is wrong.
HELPS = {"no effect", "worse than without"}
TRUTHS = {
    "matters": ({"confidence": 0.5, "fixed factor": 0.4}, {"only the temperature", *HELPS}),
    "temperature": ({"confidence": 0.5, "fixed factor": 0.0}, {"the reward matters", *HELPS}),
    "nothing": ({"confidence": 0.0, "fixed factor": 0.0}, {"the reward matters", "only the temperature"}),
    "harm": ({"confidence": -0.5, "fixed factor": 0.0}, {"the reward matters", "only the temperature", "no effect"}),
}


@pytest.mark.long
@pytest.mark.parametrize("truth", TRUTHS)
def test_a_wrong_verdict_at_any_time_is_rarer_than_stated(truth: str) -> None:
    means, wrong = TRUTHS[truth]
    runs, erred, decided = 200, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        found = {
            name: confidence_sequence(mean + rng.choice([-1.0, 0.0, 1.0], 300, p=[0.05, 0.9, 0.05]), 0.975)
            for name, mean in means.items()
        }
        verdicts = [
            verdict_of({name: side_of(low[n], high[n], 0.1) for name, (low, high) in found.items()}, list(means))
            for n in range(15, 300)
        ]
        erred += bool(wrong & set(verdicts))
        decided += verdicts[-1] != "undecided"
    assert erred / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert decided / runs > 0.8
