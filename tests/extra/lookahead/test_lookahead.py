"""Strategies that look ahead, against a slow version: one row, one hypothesis at a time, in plain Python."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_rows import Row, Rule, slow_decode
from tiny_models import llada_predictor

import rws_decode as rws
from rws_decode import RWS, CallablePredictor, CallableReward, Savings, Shape, Temperature, Threshold, decode, replay
from rws_decode.extra.lookahead import InformationGain, LookUM, LoPA
from rws_decode.extra.testing.strategies import mask_predictors, shapes

PREDICTOR = llada_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SHAPE = Shape(length=12, steps=8, block=6)
STRATEGIES = [
    *(InformationGain(5), InformationGain(8, 3, 1.0, scaled=Temperature(2.0)), LookUM(3)),
    LookUM(4, 7, pool=3, alpha=0.3, scaled=Temperature(0.5)),
    *(InformationGain(5, scaled=RWS(4.0)), LookUM(5, scaled=RWS(4.0))),
]
BRANCHES = [LoPA(0.5), LoPA(0.99, 2), LoPA(0.9, 4, scaled=Temperature(2.0)), LoPA(0.95, scaled=RWS(4.0))]
CASES = list(zip(STRATEGIES, [SHAPE, Shape(8, 8, 8)] * 3, strict=True))
BRANCH_CASES = list(zip(BRANCHES, [Shape(8, 8, 4), Shape(8, 8, 8)] * 2, strict=True))
REWARD = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)


def entropy(p: list[float]) -> float:
    return -sum(q * math.log(q) for q in p if q > 0)


def gumbel(u: float) -> float:
    return -math.log(-math.log(u))


def ahead(strategy: Any, length: int) -> Rule:
    """Try sets of positions, one forward each, and take the one with the best score."""

    def rule(row: Row) -> tuple[list[int], set[int]]:
        sets = [list(row.masked)[: row.k]]
        noise = np.random.default_rng((strategy.seed, row.step, 0)).random((strategy.hypotheses - 1, length))
        for number in range(strategy.hypotheses - 1):
            if isinstance(strategy, InformationGain):
                key = {
                    i: p / strategy.position_temperature + gumbel(float(noise[number, i]))
                    for i, p in row.masked.items()
                }
            else:
                key = {i: float(noise[number, i]) for i in list(row.masked)[: max(strategy.pool, row.k)]}
            sets.append(sorted(key, key=lambda i: -key[i])[: row.k])
        scores: dict[frozenset[int], float] = {}
        for number, tried in enumerate(map(frozenset, sets)):
            if tried in scores or len({*map(frozenset, sets)}) == 1:
                continue
            answer = [row.candidate[i] if i in tried else token for i, token in enumerate(row.answer)]
            left = [i for i in row.candidate if i not in tried]
            after = row.look(answer)[left].tolist()
            scores[tried] = -sum(map(entropy, after)) / max(len(left), 1)
            if isinstance(strategy, InformationGain):
                scores[tried] -= sum(row.entropy[i] for i in tried)
            elif strategy.alpha > 0:
                u = np.random.default_rng((strategy.seed, row.step, 1)).random((strategy.hypotheses, 1))[number, 0]
                scores[tried] += strategy.alpha * gumbel(u)
        return list(max(scores, key=lambda tried: scores[tried]) if scores else sets[0]), set()

    return rule


def lopa(strategy: LoPA) -> Rule:
    """Look at the sure positions with one more, and at these alone, one forward each; take what leaves least open."""

    def rule(row: Row) -> tuple[list[int], set[int]]:
        surest = sorted(row.entropy, key=lambda i: (row.entropy[i], i))
        anchor = [i for i, p in row.masked.items() if p > strategy.threshold] or surest[:1]
        more = [[*anchor, i] for i in surest if i not in anchor][: strategy.hypotheses - 1]

        def left(branch: list[int]) -> float:
            answer = [row.candidate[i] if i in branch else token for i, token in enumerate(row.answer)]
            open_ = [i for i in row.candidate if i not in branch]
            return sum(map(entropy, row.look(answer)[open_].tolist())) / max(len(open_), 1)

        return min([*more, anchor], key=left) if more else anchor, set()

    return rule


def slow(
    predictor: Any, prompt: list[int], strategy: Any, shape: Shape, trace: rws.Trace
) -> tuple[list[int], list[int], int]:
    """Return tokens, steps and forwards of one row, at the scales of a trace."""
    rule = lopa(strategy) if isinstance(strategy, LoPA) else ahead(strategy, shape.length)
    run = slow_decode(predictor, prompt, shape, rule, lambda step, answer: float(trace.factor[step]))
    return run.tokens, run.commit_step, run.forwards


@pytest.mark.parametrize(("strategy", "shape"), CASES, ids=repr)
def test_it_is_the_slow_version(strategy: Any, shape: Shape) -> None:
    decoding = decode(PREDICTOR, PROMPTS, strategy, shape, reward=REWARD)
    moved = 0
    for prompt, trace in zip(PROMPTS, decoding, strict=True):
        expected = slow(PREDICTOR, PREDICTOR.encode_prompt(prompt), strategy, shape, trace)
        assert (trace.tokens.tolist(), trace.commit_step.tolist(), trace.forwards) == expected
        assert (len(set(trace.factor.tolist())) > 1) == strategy.needs_reward
        moved += int(trace.changed.sum())
        (alone,) = decode(PREDICTOR, [prompt], strategy, shape, reward=REWARD)
        assert (alone.tokens.tolist(), alone.forwards) == (trace.tokens.tolist(), trace.forwards)
        np.testing.assert_allclose(alone.value, trace.value, rtol=1e-5)
    assert moved > 0  # it does not go by confidence alone
    # Steps of a batch count once: one forward, and one of all hypotheses of all rows.
    steps = decoding[0].steps
    assert steps < decoding.forwards <= 2 * steps < sum(trace.forwards for trace in decoding)


@pytest.mark.parametrize(("strategy", "shape"), BRANCH_CASES, ids=repr)
def test_branches_are_the_published_ones(strategy: LoPA, shape: Shape) -> None:
    decoding = decode(PREDICTOR, PROMPTS, strategy, shape, reward=REWARD)
    plain = decode(PREDICTOR, PROMPTS, Threshold(strategy.threshold, scaled=strategy.scaled), shape, reward=REWARD)
    small = decode(PREDICTOR, PROMPTS, strategy, shape, reward=REWARD, savings=Savings(memory=1))
    for prompt, trace, one in zip(PROMPTS, decoding, small, strict=True):
        expected = slow(PREDICTOR, PREDICTOR.encode_prompt(prompt), strategy, shape, trace)
        (alone,) = decode(PREDICTOR, [prompt], strategy, shape, reward=REWARD)
        for made in (trace, one, alone):
            assert (made.tokens.tolist(), made.commit_step.tolist(), made.forwards) == expected
        assert trace.steps_run < trace.forwards <= (1 + strategy.hypotheses) * trace.steps_run
    # Steps are fewer, in a row, than those of the threshold alone; a batch looks at all branches at once.
    assert sum(trace.steps_run for trace in decoding) < sum(trace.steps_run for trace in plain)
    assert decoding.forwards <= 2 * max(trace.steps_run for trace in decoding)


@given(mask_predictors(), st.data())
@settings(max_examples=examples(100))
def test_on_small_models_it_is_the_slow_version(model: tuple[CallablePredictor, int], data: st.DataObject) -> None:
    predictor, length = model
    shape = data.draw(shapes(length))
    strategy = data.draw(st.sampled_from([InformationGain(4, 1), LookUM(3, 2, pool=2)]))
    (trace,) = decode(predictor, [[]], strategy, shape)
    tokens, steps, forwards = slow(predictor, [], strategy, shape, trace)
    # Where scores are level up to rounding, either may be taken.
    level = [np.sort(row[~np.isnan(row)])[::-1] for row in trace.value]
    if all(a - b > 1e-9 for row in level for a, b in pairwise(np.unique(row)[::-1])):
        assert (trace.tokens.tolist(), trace.commit_step.tolist(), trace.forwards) == (tokens, steps, forwards)
    assert replay(trace).diverged_at is None
