"""Differences in distinct-n: numbers, jackknife and swap test against the definition, and why no bootstrap."""

import itertools
import math

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from paper_figures.statistics import distinct_difference, distinct_n
from rws_decode.extra.testing import WORDS

LINE = st.lists(st.sampled_from("abc"), max_size=5).map(" ".join)
PAIRS = st.lists(st.tuples(LINE, LINE), min_size=1, max_size=5)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def zipf_texts(source: np.random.Generator, pairs: int, words: int = 300, exponent: float = 1.0) -> list[str]:
    """Return texts of 10 to 39 words of Zipf's law."""
    weights = 1 / np.arange(1, words + 1) ** exponent
    lengths = source.integers(10, 40, pairs)
    return [" ".join(map(str, source.choice(words, length, p=weights / weights.sum()))) for length in lengths]


@settings(max_examples=examples(60))
@given(PAIRS, st.integers(1, 2))
def test_difference_interval_and_p_are_those_of_the_definition(pairs: list[tuple[str, str]], n: int) -> None:
    def difference(chosen: list[tuple[str, str]]) -> float:
        return distinct_n([a for a, _ in chosen], n) - distinct_n([b for _, b in chosen], n)

    texts_a, texts_b = zip(*pairs, strict=True)
    comparison = distinct_difference(texts_a, texts_b, n, rng(), resamples=32).whole
    assert comparison.first == distinct_n(texts_a, n) and comparison.second == distinct_n(texts_b, n)
    assert comparison.difference.mean == difference(pairs)
    swaps = itertools.product((False, True), repeat=len(pairs))
    patterns = [[(b, a) if swap else (a, b) for swap, (a, b) in zip(swap, pairs, strict=True)] for swap in swaps]
    far = [abs(difference(pattern)) >= abs(difference(pairs)) - 1e-12 for pattern in patterns]
    assert comparison.p == pytest.approx(np.mean(far))
    if len(pairs) == 1:
        assert comparison.difference[1:] == (-1.0, 1.0)
        return
    without = [difference(pairs[:out] + pairs[out + 1 :]) for out in range(len(pairs))]
    error = math.sqrt((len(pairs) - 1) / len(pairs) * sum((value - np.mean(without)) ** 2 for value in without))
    reach = stats.t(len(pairs) - 1).ppf(0.975) * error
    assert comparison.difference.low == pytest.approx(max(-1.0, comparison.difference.mean - reach))
    assert comparison.difference.high == pytest.approx(min(1.0, comparison.difference.mean + reach))


@given(PAIRS, st.integers(1, 2))
def test_equal_length_is_the_comparison_of_cut_texts(pairs: list[tuple[str, str]], n: int) -> None:
    texts_a, texts_b = zip(*pairs, strict=True)
    comparison = distinct_difference(texts_a, texts_b, n, rng())
    lengths = [min(len(a.split()), len(b.split())) for a, b in pairs]
    cut_a, cut_b = (
        [" ".join(text.split()[:length]) for text, length in zip(side, lengths, strict=True)]
        for side in (texts_a, texts_b)
    )
    assert comparison.equal_length == distinct_difference(cut_a, cut_b, n, rng()).whole
    assert (comparison.n, comparison.pairs) == (n, len(pairs))


def test_length_alone_is_not_taken_for_diversity_and_other_words_are() -> None:
    long = zipf_texts(np.random.default_rng(2), 40)
    short = [" ".join(text.split()[:8]) for text in zipf_texts(np.random.default_rng(3), 40)]
    comparison = distinct_difference(short, long, 1, rng(), resamples=999)
    assert comparison.whole.p == 0.001 and comparison.whole.difference.low > 0
    assert comparison.equal_length.p > 0.05
    assert comparison.equal_length.difference.low < 0 < comparison.equal_length.difference.high
    fewer = zipf_texts(np.random.default_rng(4), 40, exponent=1.4)
    apart = distinct_difference(long, fewer, 1, rng(), resamples=999)
    assert apart.equal_length.p == 0.001 and apart.equal_length.difference.low > 0


def test_drawn_swaps_are_near_all_of_them() -> None:
    source = np.random.default_rng(7)
    texts = [zipf_texts(source, 11), zipf_texts(source, 11, exponent=1.1)]
    every, drawn = (distinct_difference(*texts, 2, rng(), resamples=n).whole.p for n in (2**11, 1500))
    assert drawn == pytest.approx(every, abs=0.04) and 0 < every < 1


def test_the_same_texts_and_empty_ones_do_not_differ() -> None:
    for texts in (["a b", "c a b"], ["", ""], ["a"] * 20):
        comparison = distinct_difference(texts, texts, 2, rng())
        assert comparison.whole == comparison.equal_length and comparison.whole.p == 1.0
        assert comparison.whole.difference == (0.0, 0.0, 0.0)


@given(st.lists(st.lists(st.sampled_from(WORDS[:4]), max_size=6), max_size=4), st.integers(1, 3))
def test_distinct_n_counts_like_the_definition(lines: list[list[str]], n: int) -> None:
    grams = set()
    for line in lines:
        for start in range(len(line)):
            if start + n <= len(line):
                grams.add(" ".join(line[start : start + n]))
    tokens = len(list(itertools.chain(*lines)))
    texts = [" ".join(line) for line in lines]
    assert distinct_n(texts, n) == (len(grams) / tokens if tokens else 0.0)
