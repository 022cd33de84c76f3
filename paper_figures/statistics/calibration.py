"""Estimate mu_R and sigma_R of the paper: mean and deviation of a reward model's raw scores.

They are taken over a seeded sample of pairs of prompt and answer.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rws_decode.common.files import parse_json, write_json
from rws_decode.rewards.base import RewardModel, score_checked

_ANSWERS = ("answers", "answer", "response", "completion", "output")
_HUMAN, _ASSISTANT = "\n\nHuman:", "\n\nAssistant:"
_SAVE_EVERY = 20.0  # seconds between two saves of the progress


class Pair(NamedTuple):
    """A prompt and one answer to it.

    `row` is its row in the file, from 0, and `number` is the answer's number in that row.
    """

    row: int
    number: int
    prompt: str
    answer: str


@dataclass(frozen=True)
class Statistics:
    """Mean and sample deviation (n - 1) of n raw scores, and the standard error of the mean.

    Answers to one prompt are alike, and the standard error allows for that. It is the error of a mean over `rows`
    independent rows, sqrt(R / (R - 1) * sum_r (sum_{i in r} (x_i - mean))^2) / n. If each row gives one pair, it is std
    / sqrt(n).
    """

    n: int
    rows: int
    mean: float
    std: float
    standard_error: float


def read_pairs(
    rows: Iterable[dict[str, Any]], prompt_field: str | None = None, answer_field: str | None = None
) -> list[Pair]:
    """Return every pair of prompt and answer that the rows hold, in their order.

    A field that is not named is looked for. The prompt is "prompt". The answers are Nectar's "answers" (a list of
    objects with "answer"), UltraFeedback's "chosen" and "rejected", or one of "answer", "response", "completion" and
    "output". A list of chat messages stands for the content of its last one. If a prompt stands between "Human:" and
    "Assistant:", as in Nectar, these two markers are left out; earlier turns within stay as they are. ValueError, which
    names the row, is raised for a field that is missing or holds no text.

    >>> read_pairs([{"prompt": "\\n\\nHuman: why?\\n\\nAssistant: ", "answers": [{"answer": "so"}, {"answer": "no"}]}])
    [Pair(row=0, number=0, prompt='why?', answer='so'), Pair(row=0, number=1, prompt='why?', answer='no')]
    """
    pairs: list[Pair] = []
    for number, row in enumerate(rows):
        prompt = _unmarked(_text(number, prompt_field or "prompt", row.get(prompt_field or "prompt")))
        fields = (answer_field,) if answer_field is not None else _answer_fields(number, row)
        answers: list[str] = []
        for field in fields:
            value = row.get(field)
            several = value if isinstance(value, list) and not _is_chat(value) else [value]
            for item in several:
                answer = item["answer"] if isinstance(item, dict) and "answer" in item else item
                answers.append(_text(number, field, answer))
        pairs += [Pair(number, index, prompt, answer) for index, answer in enumerate(answers)]
    return pairs


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
    """Return mean, sample deviation and standard error of scores, given the row of each.

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


def _answer_fields(number: int, row: dict[str, Any]) -> tuple[str, ...]:
    if "chosen" in row and "rejected" in row:
        return ("chosen", "rejected")
    for field in _ANSWERS:
        if field in row:
            return (field,)
    raise ValueError(
        f"row {number} of the data has no answer: its fields are {', '.join(map(str, row)) or 'none'}; name one with "
        "--answer-field"
    )


def _is_chat(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(it, dict) and "content" in it for it in value)


def _text(number: int, field: str, value: Any) -> str:
    if _is_chat(value):
        value = value[-1]["content"]
    if not isinstance(value, str):
        raise ValueError(f"row {number} of the data has no text in {field!r}: it is {str(value)[:60]!r}")
    return value


def _unmarked(prompt: str) -> str:
    if prompt.startswith(_HUMAN) and prompt.rstrip().endswith(_ASSISTANT.strip()):
        return prompt.rstrip().removeprefix(_HUMAN).removesuffix(_ASSISTANT.strip()).strip()
    return prompt
