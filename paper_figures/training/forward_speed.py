"""Milliseconds of a forward of an n-gram world, as its card states them."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from rws_decode.common.threads import torch_threads
from rws_decode.decode import decode
from rws_decode.predictors.world import WorldPredictor
from rws_decode.settings import Shape
from rws_decode.strategies.factors import Confidence
from rws_theory.worlds.part_memory import PartMemory

_POSITIONS = 64
_ROWS = 16
_TIMES = 3  # the least counts


class _Timed(WorldPredictor):
    # Adds up the seconds and the rows of its forwards.
    seconds = 0.0
    rows = 0

    def logits_at(self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        begin = time.perf_counter()
        logits = super().logits_at(canvas, attention_mask, row, column)
        self.seconds += time.perf_counter() - begin
        self.rows += len(row.unique())
        return logits


def forward_milliseconds(predictor: WorldPredictor, prompts: Sequence[Sequence[int]]) -> dict[str, list[float]]:
    """Return milliseconds a row of forwards of 64 positions, of one row and of 16 rows at once.

    "all masked": on a canvas of masks alone; "over a decode": the mean over a default decode of two words a step in
    blocks of 32, which computes again only what a commit touches, on one thread.
    """
    result: dict[str, list[float]] = {"all masked": [], "over a decode": []}
    canvas = np.full(_POSITIONS, -1)
    with torch_threads(1):
        for rows in (1, _ROWS):
            contexts = [prompts[number % len(prompts)] for number in range(rows)]
            seconds, means = [], []
            for _ in range(_TIMES):
                begin = time.perf_counter()
                predictor.world.conditionals_batch([canvas] * rows, contexts)
                seconds.append(time.perf_counter() - begin)
                timed = _Timed(predictor.world, predictor.words)
                timed.memory = PartMemory()
                decode(timed, contexts, Confidence(), Shape(_POSITIONS, _POSITIONS // 2, _POSITIONS // 2))
                means.append(timed.seconds / timed.rows)
            result["all masked"].append(round(1e3 * min(seconds) / rows, 2))
            result["over a decode"].append(round(1e3 * min(means), 2))
    return result
