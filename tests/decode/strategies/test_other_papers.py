"""KLASS, the certainty prior, the calibrated order and the oracle, each against an obvious slow version."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import llada_predictor

from rws_decode import CallablePredictor, Klass, Savings, Shape, Temperature
from rws_decode.decode import decode
from rws_decode.strategies.weighed import Calibrated, CertaintyPrior, OracleOrder, token_frequencies

PREDICTOR = llada_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SHAPE = Shape(length=12, steps=10, block=6)
FREQUENCY = np.linspace(0.01, 0.2, 28)

Picked = Callable[[int, list[int], torch.Tensor, list[int]], list[int]]


def probabilities(prompt: str, answer: list[int], scale: float) -> torch.Tensor:
    """Return softmax(c z) of all answer positions, [n, V], forbidden tokens left out."""
    ids = PREDICTOR.encode_prompt(prompt)
    logits = PREDICTOR.logits(torch.tensor([ids + answer]), None)[0, len(ids) :].detach().double()
    logits[:, [PREDICTOR.mask_id, *PREDICTOR.forbidden_ids]] = -math.inf
    return (scale * logits).softmax(dim=-1)


def slow_decode(prompt: str, pick: Picked, shape: Shape, scale: float = 1.0) -> tuple[list[int], list[int]]:
    """Decode one row: pick says which of the block's masked places go, of (step, places, probabilities, answer)."""
    mask = PREDICTOR.mask_id
    answer, steps = [mask] * shape.length, [-1] * shape.length
    for step in range(shape.steps):
        if mask not in answer:
            break
        block = answer.index(mask) // shape.block
        places = [i for i, token in enumerate(answer) if token == mask and i // shape.block == block]
        p = probabilities(prompt, answer, scale)
        last = step + 1 == (block + 1) * shape.steps * shape.block // shape.length
        picked = pick(step, places, p, answer)
        for i in places if last and pick.__name__ == "klass" else picked:
            answer[i], steps[i] = int(p[i].argmax()), step
    return answer, steps


def klass(threshold: float, divergence: float, rest: int) -> Picked:
    history: list[torch.Tensor] = []

    def klass(step: int, places: list[int], p: torch.Tensor, _: list[int]) -> list[int]:
        history.append(p)
        best = max(places, key=lambda i: (float(p[i].max()), -i))
        if len(history) <= rest:
            return [best]

        def moved(i: int, back: int) -> float:
            now, before = (history[-1 - k][i].tolist() for k in (back, back + 1))
            return sum(a * math.log(a / b) for a, b in zip(now, before, strict=True) if a > 0)

        still = [i for i in places if all(moved(i, back) < divergence for back in range(rest))]
        return [i for i in still if float(p[i].max()) >= threshold] or [best]

    return klass


def by_value(count: Callable[[int], int], value: Callable[[int, torch.Tensor, list[int]], float]) -> Picked:
    def order(step: int, places: list[int], p: torch.Tensor, answer: list[int]) -> list[int]:
        return sorted(places, key=lambda i: (-value(i, p, answer), i))[: count(step)]

    return order


def density(i: int, answer: list[int], sigma: float) -> float:
    n, mask = len(answer), PREDICTOR.mask_id
    known = {j: 1.0 if j < 0 else float((answer[j] if j < n else answer[-1]) != mask) for j in range(-n, 2 * n)}
    kernel = {j: math.exp(-((i - j) ** 2) / (2 * sigma**2)) for j in known}
    return sum(kernel[j] * known[j] for j in known) / sum(kernel.values())


def planned(step: int) -> int:
    return SHAPE.plan[step].commits


TRUTH = np.array([9, 11, 7, 13, 6, 8, 20, 21, 10, 9, 7, 6])
CASES: list[tuple[Any, Callable[[], Picked]]] = [
    (Klass(0.3, 0.05, 1, scaled=Temperature(2.0)), lambda: klass(0.3, 0.05, 1)),
    (Klass(0.5, 0.2, 2, scaled=Temperature(2.0)), lambda: klass(0.5, 0.2, 2)),
    (
        CertaintyPrior(1.5, scaled=Temperature(2.0)),
        lambda: by_value(planned, lambda i, p, answer: float(p[i].max()) * density(i, answer, 1.5)),
    ),
    (
        Calibrated(FREQUENCY, 0.25, 2.0, scaled=Temperature(2.0)),
        lambda: by_value(
            planned,
            lambda i, p, _: math.exp(-0.25 * i) * min(-float(p[i].max()) * math.log(FREQUENCY[p[i].argmax()]), 2.0),
        ),
    ),
    (
        OracleOrder(TRUTH, scaled=Temperature(2.0)),
        lambda: by_value(planned, lambda i, p, _: float(p[i].max()) + 2 * (int(p[i].argmax()) == TRUTH[i])),
    ),
]
IDS = [case[0].name + str(number) for number, case in enumerate(CASES)]


@pytest.mark.parametrize(("strategy", "picked"), CASES, ids=IDS)
def test_it_is_the_slow_version(strategy: Any, picked: Callable[[], Picked]) -> None:
    for prompt, trace in zip(PROMPTS, decode(PREDICTOR, PROMPTS, strategy, SHAPE), strict=True):
        assert (trace.tokens.tolist(), trace.commit_step.tolist()) == slow_decode(prompt, picked(), SHAPE, 2.0)
        assert (trace.factor == 2).all()
        (saved,) = decode(PREDICTOR, prompt, strategy, SHAPE, savings=Savings(block_only=True))
        assert np.array_equal(saved.commit_step, trace.commit_step)


def test_what_was_masked_in_another_block_is_compared_too() -> None:
    (trace,) = decode(PREDICTOR, PROMPTS[0], Klass(0.01, 1e9, 1), SHAPE)
    assert trace.chosen.sum(axis=1).tolist() == [1, 5, 6]  # the second block has a step before it


@pytest.mark.parametrize("scale", [1.0, 64.0])
def test_a_scaled_order_counts_near_ties_of_scaled_logits(scale: float) -> None:
    gap, error = 0.01, 64 * 2.0**-23  # of float32 logits up to 1
    table = torch.tensor([[0.0, 1.0, 1.0 - gap], [0.0, 1.0, 1.0 - gap - error]])
    predictor = CallablePredictor(lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), mask_id=0)
    for strategy in (CertaintyPrior(1e6), Calibrated(np.array([0.5, 0.25, 0.25]))):
        scaled = replace(strategy, scaled=Temperature(scale))
        (trace,) = decode(predictor, [[]], scaled, Shape(2, 2, 2))
        assert trace.near_ties[0] == 2  # two logits that are off by their error change places


def test_frequent_tokens_wait() -> None:
    frequency = token_frequencies([[6] * 90, [7, 8]], 28)
    assert frequency.sum() == pytest.approx(1) and frequency[6] > 0.7 and (frequency > 0).all()
    (trace,) = decode(PREDICTOR, PROMPTS[0], Calibrated(FREQUENCY, decay=5.0), SHAPE)
    assert trace.god_steps == 0  # a large decay writes from left to right
