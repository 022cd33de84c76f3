"""Strategies that count, revise or weigh, each against a slow loop over one row that does what its definition says."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from misuse import refused
from slow_rows import Row, Rule, by_value, slow_decode
from tiny_models import bert_predictor, llada_predictor

from rws_decode import (
    CallablePredictor,
    CallableReward,
    Klass,
    Options,
    Savings,
    Shape,
    Temperature,
    Trace,
    diff,
    load_predictor,
)
from rws_decode.decode import decode
from rws_decode.extra.lookahead import LoPA
from rws_decode.extra.revising.strategies import P2, ReMDM, Wino
from rws_decode.extra.testing.exact import exact_predictor
from rws_decode.gpu import decode_compact
from rws_decode.replay.replay import replay
from rws_decode.strategies.apart import ApartChoice
from rws_decode.strategies.orders import Calibrated, CertaintyPrior, OracleOrder, token_frequencies
from rws_decode.strategies.parallel import Dilated, EntropyBound, ParallelFactor, Threshold
from rws_decode.strategies.protocol import Abilities, MaskedPositions
from rws_theory.testing import random_table

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
        start, by, groups, seen = min(row.masked) // block * block, stride, list[list[int]](), set[int]()
        while by:
            groups.append([i for i in range(start, start + block) if (i - start) % by == 0 and i not in seen])
            seen |= set(groups[-1])
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
        seen = {i: p if evidence == "visible" else row.left_out(i) for i, p in row.visible.items()}
        scores = {i: eta * math.log(p) for i, p in seen.items()} | {i: math.log(p) for i, p in row.masked.items()}
        kept = sorted(scores, key=lambda i: -scores[i])[: len(seen) + row.k]
        return sum(i in row.masked for i in kept), set(seen) - set(kept)

    return rule


def wino(low: float, high: float) -> Rule:
    def rule(row: Row) -> tuple[int, set[int]]:
        most = min(max(int(len(row.masked) * 0.7), 5), 20)
        accepted = min(max(sum(p >= low for p in row.masked.values()), 1), most, len(row.masked))
        last = sum(row.when[i] == row.step - 1 for i in row.visible)
        if accepted == 1 or last < 2:
            return accepted, set()
        seen = {i: row.left_out(i) for i in row.visible}
        fails = sorted((i for i, p in seen.items() if p < high), key=lambda i: seen[i])
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
    (CertaintyPrior(1.5), PRIOR, Shape(12, 10, 6)),
    (Calibrated(FREQUENCY, 0.25, 2.0), WEIGHT, Shape(12, 10, 6)),
    (OracleOrder(TRUTH), ORACLE, Shape(12, 10, 6)),
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
    scaled = replace(strategy, scaled=Temperature(scale))
    for prompt, trace in zip(PROMPTS, decode(PREDICTOR, PROMPTS, scaled, shape), strict=True):
        slow = slow_decode(PREDICTOR, PREDICTOR.encode_prompt(prompt), shape, rule, scale)
        assert trace.canvas.tolist() == slow.canvases and trace.tokens.tolist() == slow.tokens
        assert trace.commit_step.tolist() == slow.commit_step and (trace.factor == scale).all()
        assert trace.forwards == slow.forwards and trace.steps_run <= shape.steps
    (alone,) = decode(PREDICTOR, PROMPTS[1], scaled, shape, savings=Savings(block_only=True))
    assert np.array_equal(alone.canvas, trace.canvas)


def test_the_loops_above_commit_different_numbers_and_mask_tokens_again() -> None:
    counts = [decode(PREDICTOR, PROMPTS[0], one, shape)[0].chosen.sum(axis=1).tolist() for one, _, shape in COUNTING]
    assert len(set(map(tuple, counts))) >= 4 and any(len(set(numbers)) > 2 for numbers in counts)
    revisions = [decode(PREDICTOR, PROMPTS[0], one, shape)[0].revisions for one, _, shape in REVISING]
    assert sum(number > 0 for number in revisions) >= 9, revisions
    assert all(strategy.abilities.counts for strategy, *_ in COUNTING)
    assert all(strategy.abilities.revises for strategy, *_ in REVISING)


@pytest.mark.parametrize(("stride", "shape", "steps"), [(6, (12, 12, 12), 3), (4, (16, 16, 8), 6), (1, (12, 12, 6), 2)])
def test_dilated_groups_are_the_published_ones(stride: int, shape: tuple[int, int, int], steps: int) -> None:
    rule = dilated(stride, shape[2])
    for prompt, trace in zip(PROMPTS, decode(PREDICTOR, PROMPTS, Dilated(stride), Shape(*shape)), strict=True):
        slow = slow_decode(PREDICTOR, PREDICTOR.encode_prompt(prompt), Shape(*shape), rule)
        assert trace.canvas.tolist() == slow.canvases and trace.tokens.tolist() == slow.tokens
        assert trace.steps_run == steps == slow.forwards


def test_dilation_helps_in_english_and_a_distance_between_the_surest_helps_more() -> None:
    english, means = load_predictor("english"), []
    for strategy in ("default", "dus:16", "default+apart:3"):
        traces = decode(english, english.prompts[:2], strategy, Shape(32, 5, 32))
        means.append(np.mean([english.log_prob(trace.prompt.tolist(), trace.tokens.tolist()) for trace in traces]))
    assert means == sorted(means)


def test_rows_that_are_done_take_no_more_forwards() -> None:
    rows: list[int] = []

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        rows.append(len(canvas))
        sure = torch.where(canvas[:, :1] == 1, 9.0, 0.5)  # the first token says how sure all are
        table = torch.zeros(*canvas.shape, 4)
        table[..., 3] = sure
        return table

    predictor = CallablePredictor(logits, mask_id=0)
    sure, unsure = decode(predictor, [[1], [2]], "threshold:0.9", Shape(4, 4, 4))
    assert (sure.forwards, unsure.forwards) == (1, 4) and rows == [2, 1, 1, 1]


def test_scaling_commits_no_fewer_positions_of_a_canvas() -> None:
    first = [decode(PREDICTOR, PROMPTS[0], f"threshold:0.55+temperature:{c}", SHAPE)[0] for c in (1, 1.5, 2, 3, 4, 8)]
    sets = [set(np.flatnonzero(trace.chosen[0]).tolist()) for trace in first if trace.chosen[0].sum() > 1]
    assert len(sets) >= 3 and all(small <= large for small, large in pairwise(sets))


def test_rws_scales_what_is_counted() -> None:
    reward = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)
    (trace,) = decode(PREDICTOR, PROMPTS[0], "threshold:0.6", SHAPE, reward=reward, reward_scale=12.0)
    assert trace.reward_calls and trace.strategy["scaled"]["name"] == "rws" and (trace.factor != 1).all()
    for step in range(trace.steps_run):
        passed = trace.value[step] >= math.log(0.6 / 0.4)
        assert set(np.flatnonzero(passed)) <= set(np.flatnonzero(trace.chosen[step]))
    (plain,) = decode(PREDICTOR, PROMPTS[0], "threshold:0.6", SHAPE)
    assert trace.forwards < plain.forwards and trace.changed.any() and not plain.changed.any()


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
_APART, _SECOND = (ApartChoice(rule, 2) for rule in (Threshold(0.7), ParallelFactor(0.5)))


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
        (0, _APART, (3, 3, 0.1), _APART, (3, 4, 0.1)),
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

        (trace,) = decode(CallablePredictor(logits, mask_id=0), [[]], strategy, Shape(3, 3, 3))
        assert (trace.near_ties[step] > 0) == counted


def test_counts_work_with_rankings_and_sampling() -> None:
    strategy = Threshold(0.6, scaled=Temperature(2.0))
    (exact,) = decode(PREDICTOR, PROMPTS[0], strategy, SHAPE)
    (rounded,) = decode(PREDICTOR, PROMPTS[0], strategy, SHAPE, options=Options(ranking="probability"))
    assert np.array_equal(rounded.commit_step, exact.commit_step)
    (public,) = decode(PREDICTOR, PROMPTS[0], strategy, SHAPE, options=Options(ranking="topk"))
    assert (public.value[public.chosen & (public.chosen.sum(axis=1) > 1)[:, None]] >= 0.6).any()
    options = Options(sampling_temperature=1.0, seed=3)
    drawn = [decode(PREDICTOR, PROMPTS[0], strategy, SHAPE, options=options)[0] for _ in range(2)]
    assert drawn[0] == drawn[1] and replay(drawn[0]).diverged_at is None


@dataclass(frozen=True)
class Three:
    """A user's own strategy: three at a time, whatever the schedule says."""

    shape: tuple[int, ...] = ()
    name = "three"
    needs_reward = False
    abilities = Abilities(counts=True)

    def factor(self, view: MaskedPositions) -> np.ndarray:
        return np.ones(view.rows)

    def count(self, view: MaskedPositions) -> torch.Tensor:
        return torch.full(self.shape or (view.rows,), 3)


def test_a_strategy_of_ones_own_counts() -> None:
    traces = decode(PREDICTOR, PROMPTS, Three(), SHAPE)
    assert [trace.chosen.sum(axis=1).tolist() for trace in traces] == [[3, 3, 3, 3]] * 2
    refused(lambda: decode(PREDICTOR, PROMPTS, Three((5,)), SHAPE), "gives counts of shape (5,) and dtype torch.int64:")
    refused(lambda: decode_compact(PREDICTOR, [[3]], Three(), SHAPE), "the compact decoder goes by confidence and the")


def test_runs_that_commit_other_numbers_say_so() -> None:
    (one,), (many,) = (decode(PREDICTOR, PROMPTS[0], f"threshold:{tau}", SHAPE) for tau in (0.99, 0.3))
    difference = diff(one, many)
    assert difference.parting is not None and difference.parting.why == "count" and difference.parting.reversals == ()
    assert "other numbers of positions were committed" in str(difference)
    counts = [int(trace.chosen[difference.parting.step].sum()) for trace in (one, many)]
    assert f"A commits {counts[0]} position, B {counts[1]}." in one.view(many).html


def test_without_a_number_of_steps_nothing_is_forced() -> None:
    (free,) = decode(PREDICTOR, PROMPTS[0], "threshold:0.99", Shape(8))
    assert (free.steps, free.forwards) == (8, 8) and (free.chosen.sum(axis=1) == 1).all()
    (forced,) = decode(PREDICTOR, PROMPTS[0], "threshold:0.99", Shape(8, 4))
    assert (forced.steps, forced.forwards) == (4, 4) and forced.chosen[-1].sum() == 5
    (usual,) = decode(PREDICTOR, PROMPTS[0], "default", Shape(8))
    assert usual.steps == 4


def test_what_was_masked_in_another_block_is_compared_too() -> None:
    (trace,) = decode(PREDICTOR, PROMPTS[0], Klass(0.01, 1e9, 1), Shape(12, 10, 6))
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
    (trace,) = decode(PREDICTOR, PROMPTS[0], Calibrated(FREQUENCY, decay=5.0), Shape(12, 10, 6))
    assert trace.god_steps == 0  # a large decay writes from left to right


def runs(strategy: Any) -> list[Trace]:
    """Decode small exact worlds."""
    return [decode(exact_predictor(random_table(seed, 5, 3)), [[]], strategy, Shape(5, 5, 5))[0] for seed in range(6)]


@pytest.mark.parametrize("strategy", [ReMDM(0.0), ReMDM(0.0, "rescale"), P2(0.0), P2(1.0), P2(5.0)], ids=str)
def test_without_a_revision_it_is_the_default(strategy: Any) -> None:
    """P2's visible evidence is 0 nats in an exact world: the token is given."""
    for revising, default in zip(runs(strategy), runs("default"), strict=True):
        assert revising.revisions == 0
        mine, theirs = revising.arrays(), default.arrays()
        assert all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in mine if name != "near_ties")


def test_wino_is_threshold_where_nothing_fails() -> None:
    for revising, plain in zip(runs(Wino(0.4, 1e-12)), runs("threshold:0.4"), strict=True):
        assert revising.revisions == 0 and revising.tokens.tolist() == plain.tokens.tolist()
        assert revising.commit_step.tolist() == plain.commit_step.tolist()


def test_a_seed_of_its_own_gives_each_row_its_draws() -> None:
    rule = ReMDM(0.5, seed=(3, 8))
    first, second = decode(BERT, ["the cat"] * 2, rule, Shape(12, 6, 12))
    assert not np.array_equal(first.canvas, second.canvas)
    (alone,) = decode(BERT, "the cat", ReMDM(0.5, seed=8), Shape(12, 6, 12))
    assert np.array_equal(alone.canvas, second.canvas)
