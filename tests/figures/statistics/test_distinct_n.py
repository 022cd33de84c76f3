"""Differences in distinct-n: numbers, jackknife and swap test against the definition, and why no bootstrap."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from null_levels import assert_super_uniform
from scipy import stats

from paper_figures.statistics.distinct_n import distinct_difference, distinct_n

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


def test_length_alone_is_not_taken_for_diversity() -> None:
    long = zipf_texts(np.random.default_rng(2), 40)
    short = [" ".join(text.split()[:8]) for text in zipf_texts(np.random.default_rng(3), 40)]
    comparison = distinct_difference(short, long, 1, rng(), resamples=999)
    assert comparison.whole.p == 0.001 and comparison.whole.difference.low > 0
    assert comparison.equal_length.p > 0.05
    assert comparison.equal_length.difference.low < 0 < comparison.equal_length.difference.high


def test_order_does_not_matter_and_exchange_turns_signs() -> None:
    source = np.random.default_rng(4)
    texts_a, texts_b = zipf_texts(source, 30), zipf_texts(source, 30, exponent=1.1)
    comparison = distinct_difference(texts_a, texts_b, 2, rng(), resamples=500)
    order = source.permutation(30)
    moved = distinct_difference([texts_a[i] for i in order], [texts_b[i] for i in order], 2, rng(), resamples=500)
    assert moved == comparison
    turned = distinct_difference(texts_b, texts_a, 2, rng(), resamples=500)
    for exchanged, original in ((turned.whole, comparison.whole), (turned.equal_length, comparison.equal_length)):
        assert (exchanged.first, exchanged.second, exchanged.p) == (original.second, original.first, original.p)
        wanted = (-original.difference.mean, -original.difference.high, -original.difference.low)
        assert tuple(exchanged.difference) == pytest.approx(wanted)


def test_many_texts_are_counted_like_few() -> None:
    source = np.random.default_rng(7)
    texts_a, texts_b = ([" ".join(map(str, source.integers(0, top, 220))) for _ in range(11)] for top in (900, 870))
    sides = [[{*itertools.pairwise(text.split())} for text in side] for side in (texts_a, texts_b)]
    types = {gram: index for index, gram in enumerate(sorted(set().union(*sides[0], *sides[1])))}
    occurrences = np.zeros((2, 11, len(types)), dtype=bool)
    for side, lines in enumerate(sides):
        for pair, grams in enumerate(lines):
            occurrences[side, pair, [types[gram] for gram in grams]] = True
    far = 0
    observed = abs(int(occurrences[0].any(axis=0).sum()) - int(occurrences[1].any(axis=0).sum()))
    for pattern in itertools.product((0, 1), repeat=11):
        first_side = occurrences[list(pattern), range(11)]
        second_side = occurrences[[1 - side for side in pattern], range(11)]
        far += abs(int(first_side.any(axis=0).sum()) - int(second_side.any(axis=0).sum())) >= observed
    # The texts are of one length: it is the number of types that differs.
    comparison = distinct_difference(texts_a, texts_b, 2, rng())
    assert comparison.whole.p == far / 2**11 == comparison.equal_length.p
    drawn = distinct_difference(texts_a, texts_b, 2, rng(), resamples=1500).whole
    assert drawn.p == pytest.approx(far / 2**11, abs=0.04)


def test_p_keeps_its_level_and_finds_a_difference() -> None:
    source = np.random.default_rng(12)
    comparisons = []
    for _ in range(200):
        texts = zipf_texts(source, 15), zipf_texts(source, 15)
        comparisons.append(distinct_difference(*texts, 1, source, resamples=99))
    assert_super_uniform([comparison.whole.p for comparison in comparisons])
    assert_super_uniform([comparison.equal_length.p for comparison in comparisons])
    apart = distinct_difference(zipf_texts(source, 40), zipf_texts(source, 40, exponent=1.4), 1, source, resamples=999)
    assert apart.equal_length.p == 0.001 and apart.equal_length.difference.low > 0


def test_a_bootstrap_would_lie_below_the_estimate_and_the_jackknife_covers() -> None:
    source = np.random.default_rng(19)
    texts = zipf_texts(source, 25)
    resampled = [distinct_n([texts[i] for i in source.integers(25, size=25)], 2) for _ in range(300)]
    assert np.quantile(resampled, 0.975) < distinct_n(texts, 2)  # its 95 % interval does not hold its own estimate
    pairs = [(zipf_texts(source, 25), zipf_texts(source, 25, exponent=1.2)) for _ in range(200)]
    truth = np.mean([distinct_n(a, 2) - distinct_n(b, 2) for a, b in pairs])
    found = [distinct_difference(a, b, 2, source, resamples=1).whole.difference for a, b in pairs]
    assert np.mean([each.low <= truth <= each.high for each in found]) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200)


def test_the_same_texts_and_empty_ones_do_not_differ() -> None:
    for texts in (["a b", "c a b"], ["", ""], ["a"] * 20):
        comparison = distinct_difference(texts, texts, 2, rng())
        assert comparison.whole == comparison.equal_length and comparison.whole.p == 1.0
        assert comparison.whole.difference == (0.0, 0.0, 0.0)
    single_pair = distinct_difference(["a b"], ["a a"], 1, rng()).whole
    assert single_pair.difference == (0.5, -1.0, 1.0) and single_pair.p == 1.0


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="n is 0"):
        distinct_difference(["a"], ["b"], 0, rng())
    for texts_a, texts_b in ((["a"], []), ([], [])):
        with pytest.raises(ValueError, match="at least one pair"):
            distinct_difference(texts_a, texts_b, 1, rng())
    with pytest.raises(ValueError, match="level is 2"):
        distinct_difference(["a"], ["b"], 1, rng(), level=2)
