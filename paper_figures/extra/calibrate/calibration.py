"""Estimate mu_R and sigma_R of the paper: mean and SD of a reward model's raw scores.

They are taken over a seeded sample of pairs of prompt and answer.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paper_figures.data.pairs import Pair
from rws_decode.common.files import parse_json, write_json
from rws_decode.rewards.base import RewardModel, score_checked

_SAVE_EVERY = 20.0  # seconds between two saves of the progress


@dataclass(frozen=True)
class Statistics:
    """Mean and sample SD (n - 1) of n raw scores, and the standard error of the mean.

    Answers to one prompt are alike, and the standard error allows for that. It is the error of a mean over `rows`
    independent rows, sqrt(R / (R - 1) * sum_r (sum_{i in r} (x_i - mean))^2) / n. If each row gives one pair, it is std
    / sqrt(n).
    """

    n: int
    rows: int
    mean: float
    std: float
    standard_error: float


def sampled(pairs: Sequence[Pair], size: int, seed: int) -> list[Pair]:
    """Draw `size` pairs without replacement by the seed, in their order; return all if there are no more.

    >>> [pair.row for pair in sampled([Pair(row, 0, "", "") for row in range(100)], 3, seed=0)]
    [51, 63, 83]
    """
    if size >= len(pairs):
        return list(pairs)
    chosen = np.random.default_rng(seed).choice(len(pairs), size, replace=False)
    return [pairs[index] for index in sorted(chosen.tolist())]


def statistics(scores: Sequence[float], rows: Sequence[int]) -> Statistics:
    """Return mean, sample SD and standard error of scores, given the row of each.

    ValueError is raised for fewer than two scores or rows. It is also raised for scores that are all equal, as they
    cannot normalise anything.

    >>> statistics([1.0, 3.0], [0, 1])
    Statistics(n=2, rows=2, mean=2.0, std=1.4142135623730951, standard_error=1.0)
    """
    values, groups = np.asarray(scores, float), np.unique(np.asarray(rows), return_inverse=True)
    count, clusters = len(values), len(groups[0])
    if count < 2 or clusters < 2:
        raise ValueError(f"a deviation needs two pairs of two rows: there are {count} of {clusters}")
    mean = math.fsum(scores) / count
    std = float(values.std(ddof=1))
    if not std > 0:
        raise ValueError(f"all {count} scores are {mean}: they have no deviation to normalise by")
    sums = np.bincount(groups[1], weights=values - mean)
    error = math.sqrt(clusters / (clusters - 1) * float((sums**2).sum())) / count
    return Statistics(count, clusters, mean, std, error)


def score_pairs(
    model: RewardModel,
    pairs: Sequence[Pair],
    *,
    batch: int = 32,
    progress: Path | None = None,
    key: dict[str, Any] | None = None,
    advance: Callable[[int], object] = lambda count: None,
) -> list[float]:
    """Score each pair, `batch` at a time, and report to `advance` how many more are done.

    `progress` is a file in which the scores so far are saved, whole or not at all, every few seconds and when scoring
    stops. Another call goes on from there. `key` says what the scores belong to. ValueError is raised if the file has
    another key, and as in `score_checked`.
    """
    scores = _resumed(progress, key, len(pairs))
    advance(len(scores))
    saved = time.monotonic()
    try:
        while len(scores) < len(pairs):
            part = pairs[len(scores) : len(scores) + batch]
            scores += score_checked(model, [pair.prompt for pair in part], [pair.answer for pair in part])
            advance(len(part))
            if progress is not None and time.monotonic() - saved > _SAVE_EVERY:
                write_json(progress, {"key": key, "scores": scores}, indent=None)
                saved = time.monotonic()
    finally:
        if progress is not None and scores:
            write_json(progress, {"key": key, "scores": scores}, indent=None)
    return scores


def _resumed(progress: Path | None, key: dict[str, Any] | None, count: int) -> list[float]:
    if progress is None or not progress.is_file():
        return []
    try:
        stored = parse_json(progress.read_text(encoding="utf-8"))
        key_matches, scores = stored["key"] == json.loads(json.dumps(key)), stored["scores"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{progress} holds no progress of a calibration: delete it") from error
    if not key_matches or not isinstance(scores, list) or len(scores) > count:
        raise ValueError(f"{progress} holds the progress of another calibration: delete it, or name another --out")
    return [float(score) for score in scores]
