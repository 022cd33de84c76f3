"""Share what all resampling needs: checked arrays, batches that bound memory, and the exchange test of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.checks import finite, whole


def finite_arrays(**arrays: ArrayLike) -> list[NDArray[np.float64]]:
    """Return the arrays in float64.

    ValueError is raised unless all are finite and of one shape (n,), n >= 1.

    >>> finite_arrays(god=[1, 2], outcome=[0, 1])[1]
    array([0., 1.])
    """
    checked = {name: np.asarray(values, dtype=np.float64) for name, values in arrays.items()}
    first, size = next((name, array.size) for name, array in checked.items())
    for name, array in checked.items():
        if array.ndim != 1 or not array.size:
            raise ValueError(f"{name} has shape {array.shape}: (n,) with n >= 1 is needed")
        if array.size != size:
            raise ValueError(f"{name} has {array.size} values: {first} has {size}, pairs are needed")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds values that are not finite")
    return list(checked.values())


def checked_outcomes(outcome: ArrayLike) -> NDArray[np.int64]:
    """Return outcomes of prompts as integers.

    ValueError is raised unless each is +1, 0 or -1, and the shape is (n,), n >= 1.
    """
    (array,) = finite_arrays(outcome=outcome)
    if not np.isin(array, (-1, 0, 1)).all():
        odd = float(array[~np.isin(array, (-1, 0, 1))][0])
        raise ValueError(f"outcome holds {odd}: 1 (win), 0 (draw) and -1 (loss) are allowed")
    return array.astype(np.int64)


def check_resampling(level: float, resamples: int) -> None:
    """Raise ValueError unless 0 < level < 1 and resamples >= 1."""
    finite("level", level, above=0, below=1)
    whole("resamples", resamples)


def text_pairs(first: Iterable[Any], second: Iterable[Any]) -> NDArray[np.int64]:
    """Return the number of each prompt's pair of texts, (n,): prompts with the same two texts share one.

    first, second: the texts of two methods on the same prompts, (n,), n >= 1. The numbers are 0 to the number of
    distinct pairs less 1.

    >>> text_pairs(["a", "b", "a"], ["c", "c", "c"]).tolist()
    [0, 1, 0]
    """
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(pair, len(numbers)) for pair in zip(first, second, strict=True)])


def batch_sizes(total: int, width: int, cells: int = 2**20) -> Iterator[int]:
    """Yield sizes that add up to `total`, each of at most `cells` / `width` rows and of at least one.

    >>> list(batch_sizes(10, 25, cells=100))
    [4, 4, 2]
    """
    most = max(1, cells // width)
    for start in range(0, total, most):
        yield min(most, total - start)


def exchange_tests(
    pairs: int,
    as_far: Callable[[NDArray[np.bool_]], NDArray[np.int64]],
    rng: np.random.Generator,
    resamples: int,
    *,
    batch: int | None = None,
) -> NDArray[np.float64]:
    """Return the p-values of permutation tests of the same pairs that exchange the two of each pair, or leave them.

    `as_far` takes the pairs that are exchanged, [B, pairs], and counts for each test the patterns that are at least as
    far from the null as what was observed. If the 2^pairs patterns are no more than `resamples`, all are tried and p is
    exact. Else random ones give (b + 1) / (m + 1), which is never 0 (Phipson and Smyth 2010). `batch` is the number
    of patterns at once; None is as many as `batch_sizes` allows.

    >>> both = lambda exchanged: np.array([exchanged.all(axis=1).sum(), exchanged.any(axis=1).sum()])
    >>> exchange_tests(3, both, np.random.default_rng(0), 99)
    array([0.125, 0.875])
    """
    exact = pairs < 63 and 2**pairs <= resamples
    total = 2**pairs if exact else resamples
    count: NDArray[np.int64] | int = 0
    start = 0
    for size in batch_sizes(total, max(1, pairs)) if batch is None else batch_sizes(total, 1, batch):
        if exact:
            bits = np.arange(start, start + size)[:, None] >> np.arange(pairs) & 1
        else:
            bits = np.unpackbits(rng.integers(256, size=(size, -(-pairs // 8)), dtype=np.uint8), axis=1)[:, :pairs]
        count = count + as_far(bits.astype(bool))
        start += size
    return np.asarray(count / total if exact else (count + 1) / (total + 1))
