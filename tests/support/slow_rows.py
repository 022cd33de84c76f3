"""One row decoded by a plain loop, a token at a time: for strategies that count their commits or mask tokens again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.predictors.base import MaskPredictor
from rws_decode.settings import Shape


class Row(NamedTuple):
    """What a rule sees of a row's block, by position.

    masked: probabilities of the candidates, the most confident first; entropy: in nats, of the same positions; visible,
    left_out: those of the committed tokens, seen or masked; when, then: their steps, and probabilities at that time; k:
    how many positions the schedule commits.
    """

    step: int
    masked: dict[int, float]
    entropy: dict[int, float]
    visible: dict[int, float]
    left_out: Callable[[int], float]
    when: dict[int, int]
    then: dict[int, float]
    k: int


Rule = Callable[[Row], tuple[int, set[int]]]  # how many positions go, and which are masked again


class SlowRun(NamedTuple):
    """The canvas before each step, the final answer, the step of each commit that stands, and the forwards."""

    canvases: list[list[int]]
    tokens: list[int]
    commit_step: list[int]
    forwards: int


def slow_decode(predictor: MaskPredictor, prompt: list[int], shape: Shape, rule: Rule, scale: float = 1.0) -> SlowRun:
    """Decode one row by a rule; in the last step of a block all of it goes, and no token is masked again."""
    mask, closed = predictor.mask_id, [predictor.mask_id, *predictor.forbidden_ids]
    forwards = 0

    def probabilities(answer: list[int]) -> Tensor:
        nonlocal forwards
        forwards += 1
        logits = predictor.logits(torch.tensor([prompt + answer]), None)[0, len(prompt) :].detach().double()
        logits[:, closed] = -math.inf
        return (scale * logits).softmax(dim=-1)

    answer, canvases = [mask] * shape.length, []
    when: dict[int, int] = {}
    then: dict[int, float] = {}
    per_block = shape.steps // (shape.length // shape.block)
    for step in range(shape.steps):
        open_ = [i for i, token in enumerate(answer) if token == mask]
        if not open_:
            break
        canvases.append(list(answer))
        p = probabilities(answer)
        number = open_[0] // shape.block
        block = range(number * shape.block, (number + 1) * shape.block)
        order = sorted((i for i in block if answer[i] == mask), key=lambda i: (-float(p[i].max()), i))
        masked = {i: float(p[i].max()) for i in order}
        entropy = {i: -sum(q * math.log(q) for q in p[i].tolist() if q > 0) for i in order}
        visible = {i: float(p[i, answer[i]]) for i in block if answer[i] != mask}

        def left_out(i: int, before: tuple[int, ...] = tuple(answer)) -> float:
            return float(probabilities([*before[:i], mask, *before[i + 1 :]])[i, before[i]])

        count, again = len(masked), set[int]()
        if step + 1 < (number + 1) * per_block:
            k = shape.plan[step].commits
            count, again = rule(Row(step, masked, entropy, visible, left_out, when, then, k))
        for i in order[:count]:
            answer[i], when[i], then[i] = int(p[i].argmax()), step, masked[i]
        for i in again:
            answer[i] = mask
    return SlowRun(canvases, answer, [when[i] if answer[i] != mask else -1 for i in range(shape.length)], forwards)
