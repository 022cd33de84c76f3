"""Strategies that look ahead, against a slow version: one row, one hypothesis at a time, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import llada_predictor

from rws_decode import RWS, CallablePredictor, CallableReward, Confidence, Options, Savings, Shape, Temperature
from rws_decode.decode import decode
from rws_decode.replay.replay import replay
from rws_decode.strategies.lookahead import InformationGain, Lookahead, LookUM
from rws_decode.testing import exact_predictor
from rws_decode.testing.strategies import mask_predictors, shapes
from rws_theory.worlds.joint_table import JointTable

PREDICTOR = llada_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SHAPE = Shape(length=12, steps=8, block=6)
STRATEGIES = [
    InformationGain(5),
    InformationGain(8, 3, 1.0, scaled=Temperature(2.0)),
    LookUM(3),
    LookUM(4, 7, pool=3, alpha=0.3, scaled=Temperature(0.5)),
]


def entropy(p: list[float]) -> float:
    return -sum(q * math.log(q) for q in p if q > 0)


def probabilities(predictor: Any, row: list[int], scale: float) -> dict[int, list[float]]:
    """Return softmax(c z) at each masked column of a row, forbidden tokens left out."""
    logits = predictor.logits(torch.tensor([row]), None)[0].detach().double()
    logits[:, [predictor.mask_id, *predictor.forbidden_ids]] = -math.inf
    p = (scale * logits).softmax(dim=-1).tolist()
    return {at: p[at] for at, token in enumerate(row) if token == predictor.mask_id}


def gumbel(u: float) -> float:
    return -math.log(-math.log(u))


def slow(
    predictor: Any, row: list[int], strategy: Lookahead, shape: Shape, scales: Sequence[float]
) -> tuple[list[int], list[int], int]:
    """Decode a row whose masks are the answer, step by step at its scale; return tokens, steps, and the forwards."""
    places, row, forwards = [at for at, token in enumerate(row) if token == predictor.mask_id], list(row), 0
    when = dict.fromkeys(places, -1)
    for step, (start, stop, k) in enumerate(shape.plan):
        scale = scales[step]
        p = probabilities(predictor, row, scale)
        forwards += 1
        block = [at for at in places[start:stop] if at in p]
        token = {at: max(range(len(p[at])), key=lambda t, at=at: (p[at][t], -t)) for at in p}
        confidence = {at: p[at][token[at]] for at in block}
        sets = [sorted(block, key=lambda at: (-confidence[at], at))[:k]]
        noise = np.random.default_rng((strategy.seed, step, 0)).random((strategy.hypotheses - 1, shape.length))
        for number in range(strategy.hypotheses - 1):
            drawn = {at: float(noise[number, places.index(at)]) for at in block}
            if isinstance(strategy, InformationGain):
                key = {at: confidence[at] / strategy.position_temperature + gumbel(drawn[at]) for at in block}
            else:
                assert isinstance(strategy, LookUM)
                pool = sorted(block, key=lambda at: (-confidence[at], at))[: max(strategy.pool, k)]
                key = {at: drawn[at] for at in pool}
            sets.append(sorted(key, key=lambda at: -key[at])[:k])
        scores: dict[frozenset[int], float] = {}
        for number, tried in enumerate(map(frozenset, sets)):
            if tried in scores:
                continue
            after = probabilities(predictor, [token[at] if at in tried else row[at] for at in range(len(row))], scale)
            left = sum(map(entropy, after.values())) / max(len(after), 1)
            scores[tried] = -left
            if isinstance(strategy, InformationGain):
                scores[tried] -= sum(entropy(p[at]) for at in tried)
            elif strategy.alpha > 0:  # type: ignore[attr-defined] - LookUM
                u = np.random.default_rng((strategy.seed, step, 1)).random((strategy.hypotheses, 1))[number, 0]
                scores[tried] += strategy.alpha * gumbel(u)  # type: ignore[attr-defined]
        forwards += len(scores) if len(scores) > 1 else 0
        for at in max(scores, key=lambda tried: scores[tried]):
            row[at], when[at] = token[at], step
    return [row[at] for at in places], list(when.values()), forwards


def prompt_row(prompt: str, length: int) -> list[int]:
    return [*PREDICTOR.encode_prompt(prompt), *[PREDICTOR.mask_id] * length]


def scale_of(strategy: Any) -> float:
    return getattr(strategy.scaled, "scale", 1.0)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("shape", [SHAPE, Shape(8, 8, 8)], ids=str)
def test_it_is_the_slow_version(strategy: Any, shape: Shape) -> None:
    decoding = decode(PREDICTOR, PROMPTS, strategy, shape)
    moved = 0
    for prompt, trace in zip(PROMPTS, decoding, strict=True):
        expected = slow(PREDICTOR, prompt_row(prompt, shape.length), strategy, shape, trace.factor)
        assert (trace.tokens.tolist(), trace.commit_step.tolist(), trace.forwards) == expected
        assert (trace.factor == scale_of(strategy)).all()
        moved += int(trace.changed.sum())
        (alone,) = decode(PREDICTOR, [prompt], strategy, shape)
        assert (alone.tokens.tolist(), alone.forwards) == (trace.tokens.tolist(), trace.forwards)
        np.testing.assert_allclose(alone.value, trace.value, rtol=1e-5)
    assert moved > 0  # it does not go by confidence alone
    # Steps of a batch count once: one forward, and one of all hypotheses of all rows.
    steps = decoding[0].steps
    assert steps < decoding.forwards <= 2 * steps < sum(trace.forwards for trace in decoding)


@pytest.mark.parametrize("make", [InformationGain, LookUM])
def test_rws_scales_what_is_looked_at(make: Any) -> None:
    reward = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)
    strategy = make(5, scaled=RWS(4.0))
    for prompt, trace in zip(PROMPTS, decode(PREDICTOR, PROMPTS, strategy, SHAPE, reward=reward), strict=True):
        assert len(set(trace.factor.tolist())) > 1 and trace.reward_calls > 0
        expected = slow(PREDICTOR, prompt_row(prompt, 12), strategy, SHAPE, trace.factor)
        assert (trace.tokens.tolist(), trace.commit_step.tolist(), trace.forwards) == expected


@given(mask_predictors(), st.data())
@settings(max_examples=examples(100))
def test_on_small_models_it_is_the_slow_version(model: tuple[CallablePredictor, int], data: st.DataObject) -> None:
    predictor, length = model
    shape = data.draw(shapes(length))
    strategy = data.draw(st.sampled_from([InformationGain(4, 1), LookUM(3, 2, pool=2)]))
    (trace,) = decode(predictor, [[]], strategy, shape)
    tokens, steps, forwards = slow(predictor, [predictor.mask_id] * length, strategy, shape, trace.factor)
    # Where scores are level up to rounding, either may be taken.
    level = [np.sort(row[~np.isnan(row)])[::-1] for row in trace.value]
    if all(a - b > 1e-9 for row in level for a, b in pairwise(np.unique(row)[::-1])):
        assert (trace.tokens.tolist(), trace.commit_step.tolist(), trace.forwards) == (tokens, steps, forwards)
    assert replay(trace).diverged_at is None


@pytest.mark.parametrize("make", [InformationGain, LookUM])
@pytest.mark.parametrize("scaled", [Confidence(), Temperature(0.2), RWS(8.0)], ids=repr)
def test_one_hypothesis_is_confidence(make: Any, scaled: Any) -> None:
    reward = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)
    for how in (Options(), Options(end_of_text="defer"), Options(sampling_temperature=0.7, seed=3), Options(cfg=0.5)):
        plain = decode(PREDICTOR, PROMPTS, scaled, SHAPE, reward=reward, options=how)
        ahead = decode(PREDICTOR, PROMPTS, make(1, scaled=scaled), SHAPE, reward=reward, options=how)
        for one, other in zip(plain, ahead, strict=True):
            assert np.array_equal(one.commit_step, other.commit_step) and np.array_equal(one.tokens, other.tokens)
            assert np.array_equal(one.value, other.value, equal_nan=True) and one.forwards == other.forwards
        assert plain.forwards == ahead.forwards


def test_information_gain_asks_what_settles_the_rest() -> None:
    """Position 1 tells all of 2 and 3, position 0 nothing: as sure as it is, the others first cost less in all."""
    p = np.zeros((2, 2, 2, 2))
    for first in range(2):
        for told in range(2):
            p[first, told, told, told] = (0.6, 0.4)[first] * (0.59, 0.41)[told]
    with np.errstate(divide="ignore"):
        predictor = exact_predictor(JointTable(np.log(p)))
    (usual,) = decode(predictor, [[]], "default", Shape(4, 4, 4))
    assert usual.commit_step[0] == 0  # 0.6 is the largest probability
    for strategy in (InformationGain(64, 0, 10.0), LookUM(64, pool=4)):
        (trace,) = decode(predictor, [[]], strategy, Shape(4, 4, 4))
        assert trace.commit_step[0] > 0
        # The first step tries all four positions beside its own forward; the last has one position left.
        assert trace.forwards == (1 + 4) + (1 + 3) + (1 + 2) + 1


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_memory_splits_the_hypotheses_and_changes_nothing_else(strategy: Any) -> None:
    whole = decode(PREDICTOR, PROMPTS, strategy, SHAPE)
    small = decode(PREDICTOR, PROMPTS, strategy, SHAPE, savings=Savings(memory=1))
    assert [trace.tokens.tolist() for trace in whole] == [trace.tokens.tolist() for trace in small]
    assert [trace.forwards for trace in whole] == [trace.forwards for trace in small]
    assert small.forwards == sum(trace.forwards for trace in small)  # a canvas at a time


@pytest.mark.parametrize("strategy", [InformationGain(6), LookUM(4)], ids=repr)
def test_gaps_ends_and_guidance(strategy: Any) -> None:
    row = [6, *[PREDICTOR.mask_id] * 3, 8, 9, PREDICTOR.mask_id, *[PREDICTOR.mask_id] * 2, 7]
    shape = Shape(6, 3, 6)
    (trace,) = decode(PREDICTOR, canvas=row, strategy=strategy, shape=shape)
    assert (trace.tokens.tolist(), trace.commit_step.tolist(), trace.forwards) == slow(
        PREDICTOR, row, strategy, shape, trace.factor
    )
    # A deferred token waits whatever the score.
    (trace,) = decode(PREDICTOR, PROMPTS[0], strategy, SHAPE, options=Options(end_of_text="defer", end_ids=[9, 11, 13]))
    assert replay(trace).diverged_at is None
    for step in range(trace.steps_run):
        ends = np.isin(trace.candidate[step], [9, 11, 13]) & trace.eligible[step]
        early = trace.eligible[step] & ~ends
        if (trace.chosen[step] & ends).any():
            assert (trace.chosen[step][early]).all()
    (never,) = decode(PREDICTOR, PROMPTS[0], strategy, SHAPE, options=Options(end_of_text="suppress", end_ids=[9, 11]))
    assert not np.isin(never.tokens, [9, 11]).any()
    assert decode(PREDICTOR, PROMPTS, strategy, SHAPE, options=Options(cfg=1.0))[0].forwards > SHAPE.steps


def test_a_row_follows_its_own_seed() -> None:
    rows = decode(PREDICTOR, [PROMPTS[0]] * 3, InformationGain(4, (1, 2, 1), 1.0), SHAPE)
    for seed, trace in zip((1, 2, 1), rows, strict=True):
        (alone,) = decode(PREDICTOR, [PROMPTS[0]], InformationGain(4, seed, 1.0), SHAPE)
        assert (alone.commit_step == trace.commit_step).all() and alone.forwards == trace.forwards
    assert (rows[0].commit_step == rows[2].commit_step).all()
    assert (rows[0].commit_step != rows[1].commit_step).any()


def test_a_predictor_that_breaks_on_a_hypothesis_is_named() -> None:
    def logits(canvas: torch.Tensor) -> torch.Tensor:
        z = torch.eye(4)[3 - canvas]
        z[(canvas != 0).any(dim=1)] = torch.nan
        return z

    with pytest.raises(ValueError, match=r"^predictor .* gives no finite largest logit after step 0$"):
        decode(CallablePredictor(logits, mask_id=0), [[]], LookUM(4), Shape(3, 3, 3))
