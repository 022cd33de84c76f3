"""Strategies that count, revise or weigh, each against a slow loop over one row that does what its definition says."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from slow_rows import Row, Rule, by_value, slow_decode
from tiny_models import bert_predictor, llada_predictor

import rws_decode as rws
from rws_decode import P2, EntropyBound, Klass, MaskedPositions, ParallelFactor, ReMDM, Shape, Threshold, Wino, decode
from rws_decode.extra.lookahead import LoPA
from rws_decode.extra.paper_rules import Dilated

PREDICTOR, BERT = llada_predictor(), bert_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SHAPE = Shape(length=12, steps=8, block=6)
FREQUENCY, TRUTH = np.linspace(0.01, 0.2, 28), np.array([9, 11, 7, 13, 6, 8, 20, 21, 10, 9, 7, 6])

# From probabilities of the candidates, the most confident first, to a number.
Count = Callable[[list[float]], int]


def by_threshold(tau: float) -> Count:
    return lambda probability: sum(p >= tau for p in probability)


def by_factor(f: float) -> Count:
    def count(probability: list[float]) -> int:
        return next((n - 1 for n, p in enumerate(probability, 1) if (n + 1) * (1 - p) >= f), len(probability))

    return count


def counted(count: Count) -> Rule:
    return lambda row: (max(1, count(list(row.masked.values()))), set())


def entropy_bound(gamma: float) -> Rule:
    def rule(row: Row) -> tuple[int, set[int]]:
        sums = [list(row.entropy.values())[:n] for n in range(1, len(row.entropy) + 1)]
        return max(n for n, part in enumerate(sums, 1) if n == 1 or sum(part) - max(part) <= gamma), set()

    return rule


def klass(threshold: float, divergence: float, rest: int) -> Rule:
    def rule(row: Row) -> tuple[list[int], set[int]]:
        def moved(i: int, back: int) -> float:
            now, before = (row.history[-1 - k][i].tolist() for k in (back, back + 1))
            return sum(a * math.log(a / b) for a, b in zip(now, before, strict=True) if a > 0)

        sure = [i for i, p in row.masked.items() if p >= threshold and len(row.history) > rest]
        settled = [i for i in sure if all(moved(i, k) < divergence for k in range(rest))]
        return settled or [next(iter(row.masked))], set()

    return rule


def dilated(stride: int, block: int) -> Rule:
    def rule(row: Row) -> tuple[list[int], set[int]]:
        start, by, groups, members = min(row.masked) // block * block, stride, list[list[int]](), set[int]()
        while by:
            groups.append([i for i in range(start, start + block) if (i - start) % by == 0 and i not in members])
            members |= set(groups[-1])
            by //= 2
        return next(left for group in groups if (left := [i for i in group if i in row.masked])), set()

    return rule


def density(i: int, answer: list[int], sigma: float) -> float:
    n, mask = len(answer), PREDICTOR.mask_id
    known = {j: 1.0 if j < 0 else float((answer[j] if j < n else answer[-1]) != mask) for j in range(-n, 2 * n)}
    kernel = {j: math.exp(-((i - j) ** 2) / (2 * sigma**2)) for j in known}
    return sum(kernel[j] * known[j] for j in known) / sum(kernel.values())


def remdm(eta: float, form: str, seed: int) -> Rule:
    def rule(row: Row) -> tuple[int, set[int]]:
        size = len(row.masked) + len(row.visible)
        a, b = len(row.visible) / size, (len(row.visible) + row.k) / size
        most = min(1.0, (1 - b) / a) if a else 1.0
        draws = np.random.default_rng((seed, row.step)).random(len(row.answer))
        total = sum(math.exp(-row.then[i]) for i in row.visible)
        sigma = {
            i: {"cap": min(eta, most), "rescale": eta * most}.get(form, eta * most * math.exp(-row.then[i]) / total)
            for i in row.visible
        }
        again = sorted((i for i in row.visible if draws[i] < sigma[i]), key=lambda i: draws[i])
        again = again[: len(row.masked) - row.k]
        return row.k + len(again), set(again)

    return rule


def p2(eta: float, evidence: str) -> Rule:
    def rule(row: Row) -> tuple[int, set[int]]:
        values = {i: p if evidence == "visible" else row.left_out(i) for i, p in row.visible.items()}
        scores = {i: eta * math.log(p) for i, p in values.items()} | {i: math.log(p) for i, p in row.masked.items()}
        kept = sorted(scores, key=lambda i: -scores[i])[: len(values) + row.k]
        return sum(i in row.masked for i in kept), set(values) - set(kept)

    return rule


def wino(low: float, high: float) -> Rule:
    def rule(row: Row) -> tuple[int, set[int]]:
        most = min(max(int(len(row.masked) * 0.7), 5), 20)
        accepted = min(max(sum(p >= low for p in row.masked.values()), 1), most, len(row.masked))
        last = sum(row.when[i] == row.step - 1 for i in row.visible)
        if accepted == 1 or last < 2:
            return accepted, set()
        values = {i: row.left_out(i) for i in row.visible}
        fails = sorted((i for i, p in values.items() if p < high), key=lambda i: values[i])
        return accepted, set(fails[: last - 1] if len(fails) >= last else fails)

    return rule


PRIOR = by_value(lambda row, i: row.masked[i] * density(i, row.answer, 1.5))
WEIGHT = by_value(lambda row, i: math.exp(-0.25 * i) * min(-row.masked[i] * math.log(FREQUENCY[row.candidate[i]]), 2.0))
ORACLE = by_value(lambda row, i: row.masked[i] + 2 * (row.candidate[i] == TRUTH[i]))
COUNTING: list[tuple[Any, Rule, Shape]] = [
    *((Threshold(tau), counted(by_threshold(tau)), SHAPE) for tau in (0.42, 0.99)),
    *((ParallelFactor(f), counted(by_factor(f)), SHAPE) for f in (1.9, 100.0)),
    *((EntropyBound(gamma), entropy_bound(gamma), SHAPE) for gamma in (1.9, 0.0)),
]
WEIGHED: list[tuple[Any, Rule, Shape]] = [
    (Klass(0.3, 0.05, 1), klass(0.3, 0.05, 1), Shape(12, 10, 6)),
    (Klass(0.5, 0.2, 2), klass(0.5, 0.2, 2), Shape(12, 10, 6)),
    (rws.CertaintyPrior(1.5), PRIOR, Shape(12, 10, 6)),
    (rws.Calibrated(FREQUENCY, 0.25, 2.0), WEIGHT, Shape(12, 10, 6)),
    (rws.OracleOrder(TRUTH), ORACLE, Shape(12, 10, 6)),
]
REVISING: list[tuple[Any, Rule, Shape]] = [
    *((ReMDM(eta, "cap", 5), remdm(eta, "cap", 5), Shape(12, 6, 12)) for eta in (0.2, 1.0)),
    (ReMDM(0.7, "rescale", 1), remdm(0.7, "rescale", 1), Shape(12, 12, 6)),
    (ReMDM(1.0, "confidence", 2), remdm(1.0, "confidence", 2), Shape(12, 6, 12)),
    *((P2(eta), p2(eta, "visible"), Shape(12, 6, 12)) for eta in (0.3, 1.0, 3.0)),
    (P2(1.0, "left-out"), p2(1.0, "left-out"), Shape(12, 6, 12)),
    (P2(0.5, "left-out"), p2(0.5, "left-out"), Shape(12, 4, 6)),
    (Wino(0.3, 0.5), wino(0.3, 0.5), Shape(12, 12, 12)),
    (Wino(0.2, 0.9), wino(0.2, 0.9), Shape(16, 16, 8)),
    (Wino(0.05, 0.3), wino(0.05, 0.3), Shape(12, 6, 6)),
]
CASES = [*COUNTING, *WEIGHED, *REVISING]


@pytest.mark.parametrize(
    ("strategy", "rule", "shape", "scale"),
    [(*case, (1.0, 3.0)[turn % 2]) for turn, case in enumerate(CASES)],
    ids=[str(strategy)[:40] for strategy, *_ in CASES],
)
def test_a_strategy_is_its_slow_loop(strategy: Any, rule: Rule, shape: Shape, scale: float) -> None:
    scaled = replace(strategy, scaled=rws.Temperature(scale))
    for prompt, trace in zip(PROMPTS, decode(PREDICTOR, PROMPTS, scaled, shape), strict=True):
        slow = slow_decode(PREDICTOR, PREDICTOR.encode_prompt(prompt), shape, rule, scale)
        assert trace.canvas.tolist() == slow.canvases and trace.tokens.tolist() == slow.tokens
        assert trace.commit_step.tolist() == slow.commit_step and (trace.factor == scale).all()
        assert trace.forwards == slow.forwards and trace.steps_run <= shape.steps
    (alone,) = decode(PREDICTOR, PROMPTS[1], scaled, shape, savings=rws.Savings(block_only=True))
    assert np.array_equal(alone.canvas, trace.canvas)


@pytest.mark.parametrize(("stride", "shape", "steps"), [(6, (12, 12, 12), 3), (4, (16, 16, 8), 6), (1, (12, 12, 6), 2)])
def test_dilated_groups_are_the_published_ones(stride: int, shape: tuple[int, int, int], steps: int) -> None:
    rule = dilated(stride, shape[2])
    for prompt, trace in zip(PROMPTS, decode(PREDICTOR, PROMPTS, Dilated(stride), Shape(*shape)), strict=True):
        slow = slow_decode(PREDICTOR, PREDICTOR.encode_prompt(prompt), Shape(*shape), rule)
        assert trace.canvas.tolist() == slow.canvases and trace.tokens.tolist() == slow.tokens
        assert trace.steps_run == steps == slow.forwards


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=8), st.floats(0.01, 0.99), st.floats(0.01, 9))
def test_counts_of_any_probabilities(probability: list[float], tau: float, f: float) -> None:
    ordered = sorted(probability, reverse=True)
    view = positions(torch.logit(torch.tensor(probability, dtype=torch.float64)))
    nudges = (1 - 1e-9, 1.0, 1 + 1e-9)  # the logarithm of odds rounds
    assert Threshold(tau).count(view).item() in {by_threshold(tau * by)(ordered) for by in nudges}
    assert ParallelFactor(f).count(view).item() in {by_factor(f * by)(ordered) for by in nudges}


def test_a_probability_that_is_the_threshold_passes() -> None:
    assert Threshold(0.5).count(positions(torch.tensor([0.0, 1.0, -1.0], dtype=torch.float64))).tolist() == [2]


def positions(log_odds: torch.Tensor) -> MaskedPositions:
    n = len(log_odds)
    zero, one = torch.zeros(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)
    logits = torch.stack([zero, log_odds], dim=1)
    row, best = torch.zeros(n, dtype=torch.int64), torch.ones(n, dtype=torch.int64)
    ranked = {"log_odds": log_odds, "scale": one, "leeway": zero}
    return MaskedPositions(0, 1, n, row, torch.arange(n), logits, best, **ranked)


def _p(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _nats(odds: float) -> float:
    return -sum(p * math.log(p) for p in (_p(odds), _p(-odds)))


_GROWN = 1.1 * 3.0  # log-odds 3 after a commit
_MOVED = _p(_GROWN) * math.log(_p(_GROWN) / _p(3.0)) + _p(-_GROWN) * math.log(_p(-_GROWN) / _p(-3.0))
_SPACED, _SECOND = (rws.SpacingChoice(rule, 2) for rule in (Threshold(0.7), ParallelFactor(0.5)))


@pytest.mark.parametrize(
    ("step", "near", "odds", "far", "others"),
    [
        (0, Threshold(_p(3.0)), (1, 3, 4), Threshold(_p(3.0) + 0.01), (1, 3, 4)),
        (0, ParallelFactor(3 * _p(-3.0)), (1, 3, 4), ParallelFactor(3 * _p(-3.0) + 0.01), (1, 3, 4)),
        (0, EntropyBound(_nats(4.0) + _nats(3.0)), (1, 3, 4), EntropyBound(_nats(4.0) + 0.01), (1, 3, 4)),
        (1, Klass(0.5, _MOVED, 1), (1, 3, 4), Klass(0.5, 1.1 * _MOVED, 1), (1, 3, 4)),
        (0, LoPA(0.9), (9, 2, 2), LoPA(0.9), (9, 2, 1)),  # of equals the first branch goes
        (0, LoPA(0.9, 2), (9, 2, 2), LoPA(0.9, 2), (9, 2, 1)),  # one branch besides the anchor
        (0, LoPA(0.9, 1), (1, 2, 2), LoPA(0.9, 1), (1, 2, 3)),  # no position passes
        (0, _SPACED, (3, 3, 0.1), _SPACED, (3, 4, 0.1)),
        (0, _SECOND, (1.5, 0.1, 1.5), _SECOND, (1, 0.1, 3)),
    ],
    ids=str,
)
def test_what_rounding_could_carry_across_a_cut_is_counted(
    step: int, near: Any, odds: Sequence[float], far: Any, others: Sequence[float]
) -> None:
    for strategy, of_three, counted in ((near, odds, True), (far, others, False)):

        def logits(canvas: torch.Tensor, row: Sequence[float] = of_three) -> torch.Tensor:
            grown = 1.1 ** (canvas != 0).sum(dim=1, keepdim=True) * torch.tensor(row)
            return torch.stack([torch.full_like(grown, 9.0), torch.zeros_like(grown), grown], dim=2)

        (trace,) = decode(rws.CallablePredictor(logits, mask_id=0), [[]], strategy, Shape(3, 3, 3))
        assert (trace.near_ties[step] > 0) == counted


@pytest.mark.parametrize("scale", [1.0, 64.0])
def test_a_scaled_order_counts_near_ties_of_scaled_logits(scale: float) -> None:
    gap, error = 0.01, 64 * 2.0**-23  # of float32 logits up to 1
    table = torch.tensor([[0.0, 1.0, 1.0 - gap], [0.0, 1.0, 1.0 - gap - error]])
    predictor = rws.CallablePredictor(lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), mask_id=0)
    for strategy in (rws.CertaintyPrior(1e6), rws.Calibrated(np.array([0.5, 0.25, 0.25]))):
        (trace,) = decode(predictor, [[]], replace(strategy, scaled=rws.Temperature(scale)), Shape(2, 2, 2))
        assert trace.near_ties[0] == 2  # two logits that are off by their error change places
