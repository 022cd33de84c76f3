"""Compute distinct-n of texts (the paper's Table 6), and its difference between two methods, with interval and test.

Distinct-n belongs to a whole set of texts. It falls as the set grows and as its texts grow longer, and it is not a mean
over texts. So the difference is that of sets of this many prompts. It is given once more with each pair of texts cut to
the shorter length. The interval leaves out one prompt at a time, both its texts together.

There is no bootstrap. A text that is taken twice adds its tokens again but no new n-gram, so resampled distinct-n would
be far below the measured one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rws_decode.common.later import stats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

from paper_figures.statistics.intervals import Interval
from paper_figures.statistics.resampling import check_resampling, exchange_tests
from rws_theory.checks import whole

_Pairs = Sequence[Sequence[tuple[str, ...]]]  # the words of both texts


def distinct_n(texts: Sequence[str], n: int) -> float:
    """Return distinct-n over all texts together: different n-grams / all words (Li et al. 2016, Section 5.3).

    Words are what white space parts, and n-grams do not cross texts. Distinct-n is not the mean over texts, and it is
    lower for longer texts. The result is 0.0 if there is nothing to count. ValueError is raised for n < 1.

    >>> distinct_n(["a b a b", "a b"], 2)
    0.3333333333333333
    """
    whole("n", n)
    lines = [tuple(text.split()) for text in texts]
    total = sum(map(len, lines))
    grams = {line[start : start + n] for line in lines for start in range(len(line) - n + 1)}
    return len(grams) / total if total else 0.0


@dataclass(frozen=True)
class DistinctDifference:
    """Distinct-n of the first and of the second method's texts, and their difference.

    `difference` is first - second, and `p` tests that there is no difference.
    """

    first: float
    second: float
    difference: Interval
    p: float


@dataclass(frozen=True)
class DistinctComparison:
    """Distinct-n over `pairs` prompts: of the whole texts, and with each pair cut to the shorter text."""

    n: int
    pairs: int
    whole: DistinctDifference
    equal_length: DistinctDifference


def distinct_difference(
    texts_a: Sequence[str],
    texts_b: Sequence[str],
    n: int,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = 9999,
) -> DistinctComparison:
    """Return distinct-n of a minus that of b, with a jackknife interval over prompts and a swap test.

    The interval is the difference plus or minus Student's t (pairs - 1) times the jackknife's standard error, one
    prompt left out at a time, cut to [-1, 1]. For one prompt it is all of [-1, 1]. On average the jackknife's variance
    is too large rather than too small (Efron and Stein 1981), so the interval errs on the wide side. It is about sets
    of as many prompts.

    p is two-sided. It comes from exchanging the two texts of random prompts, under which neither method is the more
    diverse. All patterns are tried if they are no more than `resamples`; else random ones give (b + 1) / (m + 1). p
    is exact if the two texts of a prompt are exchangeable, whatever the number of prompts. At equal length, where the
    end of the longer text is left out, it is about the words. For whole texts it is about the lengths too.

    `texts_a` and `texts_b` are of the same prompts in the same order, at least one. ValueError is raised otherwise.

    >>> result = distinct_difference(["a b c d", "e f"], ["a a", "a a"], 1, np.random.default_rng(0))
    >>> result.whole.first, result.whole.second, result.whole.p, result.equal_length.first
    (1.0, 0.25, 0.5, 1.0)
    """
    check_resampling(level, resamples)
    whole("n", n)
    if len(texts_a) != len(texts_b) or not len(texts_a):
        raise ValueError(f"texts_b has {len(texts_b)} texts: texts_a has {len(texts_a)}, at least one pair is needed")
    # Pairs are sorted, so that what is sampled depends neither on the order of the prompts nor on that of the methods.
    lines = sorted(((tuple(a.split()), tuple(b.split())) for a, b in zip(texts_a, texts_b, strict=True)), key=sorted)
    shortest = [min(map(len, pair)) for pair in lines]
    cut = [(a[:length], b[:length]) for (a, b), length in zip(lines, shortest, strict=True)]
    whole_texts, equal = (_compare(pairs, n, rng, level, resamples) for pairs in (lines, cut))
    return DistinctComparison(n, len(lines), whole_texts, equal)


def _compare(pairs: _Pairs, n: int, rng: np.random.Generator, level: float, resamples: int) -> DistinctDifference:
    held, words = _held(pairs, n), np.array([[len(text) for text in pair] for pair in pairs]).T
    shares = [_left_out(held[side], words[side]) for side in (0, 1)]
    first, second = shares[0][-1], shares[1][-1]
    estimate, count, low, high = first - second, len(pairs), -1.0, 1.0
    if count > 1:
        without = np.sort(shares[0][:-1] - shares[1][:-1])  # sorted, as a sum in another order rounds differently
        error = np.sqrt((count - 1) * without.var())
        reach = stats.t.ppf((1 + level) / 2, count - 1) * error
        low, high = max(-1.0, estimate - reach), min(1.0, estimate + reach)
    # Exchanges of a pair whose texts are in falling order are counted from the other order.
    turned = np.array([a > b for a, b in pairs])

    def as_far(exchanged: NDArray[np.bool_]) -> NDArray[np.int64]:
        other = exchanged ^ turned
        kept, moved = (~other).astype(np.float32), other.astype(np.float32)
        values = [
            # A side has an n-gram if any text that is on this side has it.
            _share((kept @ held[s] + moved @ held[1 - s] > 0).sum(axis=1), ~other @ words[s] + other @ words[1 - s])
            for s in (0, 1)
        ]
        return (np.abs(values[0] - values[1]) >= abs(estimate) - 1e-12).sum(keepdims=True)

    batch = max(1, 2**24 // max(1, sum(side.nnz for side in held)))
    p = float(exchange_tests(count, as_far, rng, resamples, batch=batch)[0])
    return DistinctDifference(float(first), float(second), Interval(float(estimate), float(low), float(high)), p)


def _held(pairs: _Pairs, n: int) -> list[csr_array]:
    """Return 1 where a text holds an n-gram, else 0: of each side, [pairs, different n-grams of all texts]."""
    from scipy.sparse import csr_array

    number: dict[tuple[str, ...], int] = {}
    cells: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for row, pair in enumerate(pairs):
        for text, entries in zip(pair, cells, strict=True):
            grams = {text[start : start + n] for start in range(len(text) - n + 1)}
            entries += [(row, number.setdefault(gram, len(number))) for gram in grams]
    shape = (len(pairs), len(number))
    places = [np.array(entries, dtype=np.int64).reshape(-1, 2).T for entries in cells]
    return [csr_array((np.ones(place.shape[1], np.float32), tuple(place)), shape=shape) for place in places]


def _left_out(held: csr_array, words: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one side's distinct-n without each pair in turn, and at the end without none, shape (pairs + 1,)."""
    texts = held.sum(axis=0)
    alone = held @ (texts == 1)  # n-grams that no other text has
    return _share((texts > 0).sum() - np.append(alone, 0), words.sum() - np.append(words, 0))


def _share(types: NDArray[Any], total: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.divide(types, total, out=np.zeros(len(types)), where=total > 0)
