"""Measure how fast crossings are certified, and how often other root finders miscount them."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rws_theory.certified.hard_pairs import HardPair, corpus
from rws_theory.commands.progress import tell
from rws_theory.confidence import gaps
from rws_theory.crossings import crossings
from rws_theory.pairs import DECIDED_BY, classify_pairs

_DECADES = 4.0  # the other solvers search four decades on either side of 1 / (mean gap), which holds every crossing
_GRID = 400
_DIMENSION = 17  # of the random pairs


def bench(pairs: int, vocabulary: int, per_kind: int, seed: int) -> dict[str, Any]:
    """Run all three measurements: {"pairs", "vocabulary", "corpus"}. Times are CPU seconds of this process."""
    tell(f"bench-crossings: {pairs} random pairs ...")
    of_pairs = bench_pairs(pairs, seed)
    tell(f"bench-crossings: 2 pairs of {vocabulary} tokens ...")
    of_vocabulary = bench_vocabulary(vocabulary, seed)
    tell("bench-crossings: hard pairs by every solver ...")
    return {"pairs": of_pairs, "vocabulary": of_vocabulary, "corpus": bench_corpus(per_kind, seed)}


def bench_pairs(pairs: int, seed: int) -> dict[str, Any]:
    """Classify random pairs of normal logits; `one_by_one` extrapolates from certifying 200 of them singly."""
    a, b = np.random.default_rng(seed).normal(scale=3.0, size=(2, pairs, _DIMENSION))
    classes, seconds = _timed(lambda: classify_pairs(a, b))
    few = min(pairs, 200)
    _, single = _timed(lambda: [crossings(a[i], b[i]) for i in range(few)])
    decided = Counter(DECIDED_BY[k] for k in classes.decided_by)
    return {
        "pairs": pairs,
        "dimension": _DIMENSION,
        "seconds": seconds,
        "one_by_one": single * pairs / few,
        "proved": int(classes.complete.sum()),
        "decided_by": {name: decided[name] for name in DECIDED_BY},
    }


def bench_vocabulary(vocabulary: int, seed: int) -> dict[str, Any]:
    """Certify two pairs at vocabulary size: unrelated ones, and ones whose total gaps are made all but equal."""
    rng = np.random.default_rng(seed)
    results = {}
    for name in ("unrelated", "equal totals"):
        a, b = (np.sort(rng.normal(scale=3.0, size=vocabulary))[::-1].copy() for _ in range(2))
        a[: vocabulary // 40000 + 1] += 9.0
        b[: vocabulary // 30000 + 1] += 9.0
        if name == "equal totals":
            tail = vocabulary // 2
            b[tail:] -= (gaps(a).sum() - gaps(b).sum() + 1.0) / (vocabulary - tail)
        pair_crossings, seconds = _timed(lambda a=a, b=b: crossings(a, b))
        results[name] = {
            "seconds": seconds,
            "count": pair_crossings.count,
            "bound": pair_crossings.bound,
            "complete": pair_crossings.complete,
            "certificate": pair_crossings.certificate,
        }
    return {"dimension": vocabulary, **results}


def bench_corpus(per_kind: int, seed: int) -> list[dict[str, Any]]:
    """Count the crossings of a hard corpus with every solver: wrong counts in all, by kind, and the time."""
    hard = list(corpus(per_kind, np.random.default_rng(seed)))
    rows = []
    for name, make in SOLVERS.items():
        try:
            solve = make()
        except ImportError:
            rows.append({"solver": name, "pairs": len(hard), "wrong": None, "wrong_by_kind": {}, "seconds": None})
            continue
        counted, seconds = _timed(lambda solve=solve: [(pair, solve(pair)) for pair in hard])
        wrong = Counter(pair.kind for pair, count in counted if count != pair.count)
        told = {"wrong": wrong.total(), "wrong_by_kind": dict(wrong), "seconds": seconds}
        rows.append({"solver": name, "pairs": len(hard), **told})
    return rows


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


# --- solvers: each a function without arguments that gives the function that counts -----------------------------------


def _certified() -> Callable[[HardPair], int]:
    def count(pair: HardPair) -> int:
        pair_crossings = crossings(pair.a, pair.b)
        return pair_crossings.count if pair_crossings.complete else -1

    return count


def _scaled(pair: HardPair) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:
    """Return gaps in units of their mean, and the interval of log r to search: scales are no obstacle to the others."""
    u, v = gaps(pair.a), gaps(pair.b)
    mean = float(u.mean())
    return u / mean, v / mean, -_DECADES * math.log(10), _DECADES * math.log(10)


def _difference(u: NDArray[np.float64], v: NDArray[np.float64]) -> Callable[[float], float]:
    """Return F_a - F_b at exp(t), times exp(r u_1), so that it does not underflow."""
    first = min(float(u.min()), float(v.min()))

    def value(t: float) -> float:
        r = math.exp(t)
        return float(np.exp(-r * (u - first)).sum() - np.exp(-r * (v - first)).sum())

    return value


def _brackets() -> Callable[[HardPair], int]:
    """Count by SciPy's brentq, between neighbours of a grid in log r whose signs differ."""

    def count(pair: HardPair) -> int:
        u, v, low, high = _scaled(pair)
        value = _difference(u, v)
        grid = np.linspace(low, high, _GRID).tolist()
        signed = [(t, value(t)) for t in grid]
        return len({brentq(value, s, t) for (s, f), (t, g) in pairwise(signed) if f * g < 0})

    return count


def _mpmath() -> Callable[[HardPair], int]:
    """Count by the same with mpmath at 30 digits, in x = exp(-r), distinct gaps taken once."""
    mpmath: Any = import_module("mpmath")

    def count(pair: HardPair) -> int:
        u, v, low, high = _scaled(pair)
        weights: Counter[float] = Counter(u.tolist())
        weights.subtract(v.tolist())
        with mpmath.workdps(30):
            terms = [(mpmath.mpf(k), c) for k, c in weights.items() if c]

            def value(t: Any) -> Any:
                r = mpmath.exp(t)
                return mpmath.fsum(c * mpmath.exp(-r * k) for k, c in terms)

            signed = [(t, value(t)) for t in np.linspace(low, high, _GRID // 4).tolist()]
            brackets = [(s, t) for (s, f), (t, g) in pairwise(signed) if f * g < 0]
            return len([mpmath.findroot(value, bracket, solver="anderson", verify=False) for bracket in brackets])

    return count


def _chebpy() -> Callable[[HardPair], int]:
    """Count the roots of chebpy's Chebyshev approximation in log r."""
    chebfun = import_module("chebpy").chebfun

    def count(pair: HardPair) -> int:
        u, v, low, high = _scaled(pair)
        value = np.vectorize(_difference(u, v))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where it does not converge, and goes on
            return len(chebfun(value, [low, high]).roots())

    return count


SOLVERS: dict[str, Callable[[], Callable[[HardPair], int]]] = {
    "rws_theory": _certified,
    "scipy": _brackets,
    "mpmath": _mpmath,
    "chebpy": _chebpy,
}
