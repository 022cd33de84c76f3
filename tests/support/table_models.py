"""Mask predictors in float64 that batches do not change, so that outputs can be compared, and a reward of words."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor

from rws_decode import CallablePredictor, CallableReward, Shape, Trace, decode

LENGTH, MASK, END = 8, 20, 19


def table_predictor(seed: int, spread: float = 1.5, canvases: list[bytes] | None = None) -> CallablePredictor:
    """Seeded float64 logits that every other token of the canvas moves; rows of a batch do not touch each other."""
    rng = np.random.default_rng(seed)
    weight = torch.from_numpy(spread * rng.standard_normal((LENGTH, MASK + 1, LENGTH, MASK + 1)))

    def logits(canvas: Tensor) -> Tensor:
        if canvases is not None:
            canvases.extend(row.numpy().tobytes() for row in canvas)
        positions = torch.arange(LENGTH)
        return torch.stack([weight[positions, row].sum(dim=0) for row in canvas])

    return numbered(logits)


def numbered(logits: Callable[[Tensor], Tensor]) -> CallablePredictor:
    """A predictor of these logits, whose words are the numbers of its tokens."""
    texts = {"encode": lambda text: [], "decode": lambda ids: " ".join(map(str, ids))}
    return CallablePredictor(logits, mask_id=MASK, end_id=END, vocab_size=MASK + 1, **texts)


def word_reward(prompt: str, answer: str) -> float:
    return math.sin(sum((position + 2) * int(word) ** 2 for position, word in enumerate(answer.split())))


REWARD = CallableReward(word_reward, mean=0.1, std=0.4, name="words")


@cache
def run(strategy: str = "rws:4", seed: int = 5, shape: Shape = Shape(8, 4, 8)) -> Trace:  # noqa: B008 - frozen
    (trace,) = decode(table_predictor(seed), "", strategy, shape, reward=REWARD)
    return trace
