"""Strategies that count what a step commits, against a slow loop that decodes one row by probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from slow_rows import Row, slow_decode
from tiny_models import llada_predictor

from rws_decode import CallablePredictor, CallableReward, Options, Savings, Shape, Temperature, diff
from rws_decode.decode import decode
from rws_decode.gpu import decode_compact
from rws_decode.replay.replay import replay
from rws_decode.strategies.parallel import EntropyBound, ParallelFactor, Threshold
from rws_decode.strategies.protocol import CountingStrategy, MaskedPositions

PREDICTOR = llada_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SHAPE = Shape(length=12, steps=8, block=6)

Rule = Callable[[list[float], list[float]], int]  # (probabilities, entropies), the most confident first -> a number


def by_threshold(tau: float) -> Rule:
    return lambda probability, _: sum(p >= tau for p in probability)


def by_factor(f: float) -> Rule:
    def rule(probability: list[float], _: list[float]) -> int:
        for n, p in enumerate(probability, 1):
            if (n + 1) * (1 - p) >= f:
                return n - 1
        return len(probability)

    return rule


def by_entropy(gamma: float) -> Rule:
    def rule(_: list[float], entropy: list[float]) -> int:
        return max(n for n in range(len(entropy) + 1) if sum(entropy[:n]) - max(entropy[:n], default=0) <= gamma)

    return rule


RULES: list[tuple[CountingStrategy, Rule]] = [
    (Threshold(0.42), by_threshold(0.42)),
    (Threshold(0.99), by_threshold(0.99)),
    (ParallelFactor(1.9), by_factor(1.9)),
    (ParallelFactor(100.0), by_factor(100.0)),
    (EntropyBound(1.9), by_entropy(1.9)),
    (EntropyBound(0.0), by_entropy(0.0)),
]


@pytest.mark.parametrize("scale", [1.0, 6.0])
@pytest.mark.parametrize(("strategy", "rule"), RULES, ids=lambda value: str(value) if is_strategy(value) else "")
def test_a_count_is_that_of_the_slow_loop(strategy: CountingStrategy, rule: Rule, scale: float) -> None:
    scaled = replace(strategy, scaled=Temperature(scale))  # type: ignore[type-var]

    def counted(row: Row) -> tuple[int, set[int]]:
        return max(1, rule(list(row.masked.values()), list(row.entropy.values()))), set()

    for prompt, trace in zip(PROMPTS, decode(PREDICTOR, PROMPTS, scaled, SHAPE), strict=True):
        slow = slow_decode(PREDICTOR, PREDICTOR.encode_prompt(prompt), SHAPE, counted, scale)
        assert (trace.tokens.tolist(), trace.commit_step.tolist()) == (slow.tokens, slow.commit_step)
        assert trace.forwards == trace.steps_run == slow.forwards
        (alone,) = decode(PREDICTOR, prompt, scaled, SHAPE)
        assert np.array_equal(alone.commit_step, trace.commit_step)


def is_strategy(value: object) -> bool:
    return isinstance(value, CountingStrategy)


def test_the_loops_above_commit_different_numbers() -> None:
    counts = {str(strategy): counts_of(strategy) for strategy, _ in RULES}
    assert len({tuple(numbers) for numbers in counts.values()}) >= 4
    assert any(len(set(numbers)) > 2 for numbers in counts.values())


def counts_of(strategy: CountingStrategy) -> list[int]:
    (trace,) = decode(PREDICTOR, PROMPTS[0], strategy, SHAPE)  # type: ignore[arg-type]
    return trace.chosen.sum(axis=1).tolist()


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
    assert Threshold(tau).count(view).item() in {by_threshold(tau * by)(ordered, []) for by in nudges}
    assert ParallelFactor(f).count(view).item() in {by_factor(f * by)(ordered, []) for by in nudges}


def test_a_probability_that_is_the_threshold_passes() -> None:
    assert Threshold(0.5).count(positions(torch.tensor([0.0, 1.0, -1.0], dtype=torch.float64))).tolist() == [2]


def positions(log_odds: torch.Tensor) -> MaskedPositions:
    n = len(log_odds)
    zero, one = torch.zeros(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)
    logits = torch.stack([zero, log_odds], dim=1)
    row, best = torch.zeros(n, dtype=torch.int64), torch.ones(n, dtype=torch.int64)
    ranked = {"log_odds": log_odds, "scale": one, "leeway": zero}
    return MaskedPositions(0, 1, n, row, torch.arange(n), logits, best, **ranked)


def test_a_position_that_rounding_could_carry_past_the_threshold_is_counted() -> None:
    table = torch.tensor([[9.0, 0.0, 1.0], [9.0, 0.0, 3.0], [9.0, 0.0, 4.0]])
    predictor = CallablePredictor(lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), mask_id=0)
    (odds,) = decode(predictor, [[]], "default", Shape(3, 3, 3))[0].value[:1, 1:2].tolist()
    at = 1 / (1 + math.exp(-odds[0]))
    (near,) = decode(predictor, [[]], Threshold(at), Shape(3, 3, 3))
    (far,) = decode(predictor, [[]], Threshold(at + 0.01), Shape(3, 3, 3))
    assert near.near_ties[0] == 1 and far.near_ties[0] == 0


def test_counts_work_with_savings_rankings_and_sampling() -> None:
    strategy = Threshold(0.6, scaled=Temperature(2.0))
    (exact,) = decode(PREDICTOR, PROMPTS[0], strategy, SHAPE)
    (saved,) = decode(PREDICTOR, PROMPTS[0], strategy, SHAPE, savings=Savings.everything())
    assert np.array_equal(saved.commit_step[saved.commit_step >= 0], exact.commit_step[saved.commit_step >= 0])
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

    def factor(self, view: MaskedPositions) -> np.ndarray:
        return np.ones(view.rows)

    def count(self, view: MaskedPositions) -> torch.Tensor:
        return torch.full(self.shape or (view.rows,), 3)


def test_a_strategy_of_ones_own_counts() -> None:
    traces = decode(PREDICTOR, PROMPTS, Three(), SHAPE)
    assert [trace.chosen.sum(axis=1).tolist() for trace in traces] == [[3, 3, 3, 3]] * 2
    with pytest.raises(ValueError, match=r"gives counts of shape \(5,\) and dtype torch.int64: int64 \(2,\)"):
        decode(PREDICTOR, PROMPTS, Three((5,)), SHAPE)
    with pytest.raises(ValueError, match="the compact decoder goes by confidence and the schedule alone"):
        decode_compact(PREDICTOR, [[3]], Three(), SHAPE)


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
