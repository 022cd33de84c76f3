"""Every shipped strategy and control against a slow decoder written from the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from grouped import grouped
from tiny_models import bert_predictor, llada_predictor, modernbert_predictor

from rws_decode import RWS, CallableReward, Confidence, MaskPredictor, Strategy, Temperature
from rws_decode.decode import decode
from rws_decode.strategies.orders import Entropy, LeftToRight, Margin, RandomOrder
from rws_decode.strategies.recorded import constant_of, recorded, shuffled
from rws_decode.strategies.reward_controls import FlippedReward, RandomReward, RWSEvery
from rws_decode.testing.networks import EOS, MASK, PAD, VOCABULARY

PREDICTORS = {"bert": bert_predictor(), "modernbert": modernbert_predictor()}
PROMPT = "the cat sat on the mat ."
SHAPE = {"length": 12, "steps": 8, "block": 6}
S_R, EPS = 8.0, 1e-5

# What a step of the reference sees: its number, the whole completed answer, and the logits of each open position.
Logits = dict[int, dict[int, float]]
Rule = Callable[[int, list[int], Logits], dict[int, float]]


def word_reward(prompt: str, answer: str) -> float:
    return len(set(answer.split())) + 0.1 * len(prompt)


REWARD = CallableReward(word_reward, mean=4.0, std=1.5, name="words")


def normalised(predictor: MaskPredictor, answer: list[int]) -> float:
    return (word_reward(PROMPT, predictor.decode_answer(answer) or "") - 4.0) / 1.5


def rws_factor(reward: float) -> float:
    return S_R * math.sqrt(1 / (1 + math.exp(-reward)) + EPS)


def by_factor(factor_of: Callable[[int, list[int]], float]) -> Rule:
    """Log-odds of each position's candidate, at a factor."""

    def rule(step: int, answer: list[int], logits: Logits) -> dict[int, float]:
        factor, values = factor_of(step, answer), {}
        for position, z in logits.items():
            gaps = [factor * (z[answer[position]] - score) for token, score in z.items() if token != answer[position]]
            nearest = min(gaps)
            values[position] = nearest - math.log(math.fsum(math.exp(nearest - gap) for gap in gaps))
        return values

    return rule


def softmax(z: dict[int, float]) -> list[float]:
    top = max(z.values())
    total = math.fsum(math.exp(score - top) for score in z.values())
    return sorted((math.exp(score - top) / total for score in z.values()), reverse=True)


def by_position(value_of: Callable[[int, dict[int, float]], float]) -> Rule:
    return lambda step, answer, logits: {position: value_of(position, z) for position, z in logits.items()}


def probability_margin(position: int, z: dict[int, float]) -> float:
    first, second, *_ = softmax(z)
    return first - second


def logit_margin(position: int, z: dict[int, float]) -> float:
    first, second, *_ = sorted(z.values(), reverse=True)
    return first - second


def negative_entropy(position: int, z: dict[int, float]) -> float:
    return math.fsum(p * math.log(p) for p in softmax(z) if p > 0)


def slow_decode(
    predictor: MaskPredictor, rule: Rule, shape: dict[str, int] = SHAPE, **options: Any
) -> tuple[list[int], list[int]]:
    """Decode PROMPT from the definitions; return tokens and the step that committed each."""
    temperature, cfg, policy = (options.get(name, 0) for name in ("sampling_temperature", "cfg", "end_of_text"))
    prompt = predictor.encode_prompt(PROMPT)
    length, steps, block = shape.values()
    noise = torch.Generator().manual_seed(options.get("seed", 0))
    closed = {MASK, PAD} | ({EOS} if policy == "suppress" else set())
    allowed = [token for token in range(VOCABULARY) if token not in closed]
    answer, committed = [MASK] * length, [-1] * length
    per_block = steps // (length // block)
    for step in range(steps):
        with torch.inference_mode():
            z = predictor.logits(torch.tensor([prompt + answer]), None)[0, len(prompt) :]
            if cfg:
                blind = predictor.logits(torch.tensor([[MASK] * len(prompt) + answer]), None)[0, len(prompt) :]
                z = blind + (cfg + 1) * (z - blind)
        masked = [position for position in range(length) if answer[position] == MASK]
        uniform = []
        if temperature:
            uniform = torch.rand(len(masked), VOCABULARY, generator=noise, dtype=torch.float64).tolist()
        completed = list(answer)
        for number, position in enumerate(masked):
            scores = {token: float(z[position, token]) for token in allowed}
            if temperature:
                scores = {
                    token: math.exp(score) / (-math.log(uniform[number][token])) ** temperature
                    for token, score in scores.items()
                }
            completed[position] = max(allowed, key=scores.__getitem__)
        start = step // per_block * block
        logits = {p: {t: float(z[p, t]) for t in allowed} for p in masked if start <= p < start + block}
        values = rule(step, completed, logits)
        number = step % per_block
        for _ in range(block // per_block + (number < block % per_block)):
            late = {p for p in values if policy == "defer" and completed[p] == EOS}
            open_ = [p for p in values if answer[p] == MASK]
            best = max([p for p in open_ if p not in late] or open_, key=values.__getitem__)
            answer[best], committed[best] = completed[best], step
    return answer, committed


def rules(predictor: MaskPredictor, run_options: dict[str, Any]) -> dict[str, tuple[Strategy, Rule]]:
    """Every strategy with its definition; the controls of a run are those of an RWS run with the same options."""
    run = decode(predictor, [PROMPT], RWS(S_R), reward=REWARD, **grouped(**SHAPE, **run_options))[0]
    permuted = np.random.default_rng(5).permutation(run.reward_normalised)
    drawn = np.random.default_rng(7).random(SHAPE["length"])

    def noise(step: int) -> float:
        return float(np.random.default_rng([11, step]).standard_normal())

    return {
        "default": (Confidence(), by_factor(lambda step, answer: 1.0)),
        "temperature": (Temperature(0.3), by_factor(lambda step, answer: 0.3)),
        "rws": (RWS(S_R), by_factor(lambda step, answer: rws_factor(normalised(predictor, answer)))),
        "rws-every": (
            RWSEvery(S_R, every=3),
            by_factor(lambda step, answer: 1.0 if step % 3 else rws_factor(normalised(predictor, answer))),
        ),
        "rws-flipped": (
            FlippedReward(S_R),
            by_factor(lambda step, answer: rws_factor(-normalised(predictor, answer))),
        ),
        "rws-random": (RandomReward(S_R, 11), by_factor(lambda step, answer: rws_factor(noise(step)))),
        "schedule": (recorded(run), by_factor(lambda step, answer: float(run.factor[step]))),
        "constant": (constant_of(run), by_factor(lambda step, answer: float(np.mean(run.factor)))),
        "shuffled": (
            shuffled(run, np.random.default_rng(5)),
            by_factor(lambda step, answer: rws_factor(float(permuted[step]))),
        ),
        "margin": (Margin(), by_position(probability_margin)),
        "logit-margin": (Margin("logit"), by_position(logit_margin)),
        "entropy": (Entropy(), by_position(negative_entropy)),
        "random-order": (RandomOrder(7), by_position(lambda position, z: float(drawn[position]))),
        "left-to-right": (LeftToRight(), by_position(lambda position, z: -position)),
    }


OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"sampling_temperature": 0.8, "seed": 3},
    "cfg": {"cfg": 1.5},
    "suppress": {"end_of_text": "suppress"},
    "defer": {"end_of_text": "defer"},
    "defer-sampled": {"end_of_text": "defer", "sampling_temperature": 2.0, "seed": 1, "cfg": 0.5},
}


@cache
def rules_of(model: str, options: str) -> dict[str, tuple[Strategy, Rule]]:
    return rules(PREDICTORS[model], OPTIONS[options])


NAMES = list(rules_of("bert", "greedy"))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", PREDICTORS)
def test_every_strategy_commits_what_its_definition_says(model: str, name: str, options: str) -> None:
    predictor, chosen = PREDICTORS[model], OPTIONS[options]
    strategy, rule = rules_of(model, options)[name]
    (trace,) = decode(predictor, [PROMPT], strategy, reward=REWARD, **grouped(**SHAPE, **chosen))
    assert (trace.tokens.tolist(), trace.commit_step.tolist()) == slow_decode(predictor, rule, **chosen)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (6, 6, 6), (12, 5, 12), (12, 4, 6), (12, 12, 4), (12, 1, 12), (16, 6, 8)], ids=str
)
@pytest.mark.parametrize("name", ["default", "temperature", "rws"])
def test_every_shape_is_filled_as_it_says(name: str, shape: tuple[int, int, int]) -> None:
    predictor, size = llada_predictor(), dict(zip(SHAPE, shape, strict=True))
    strategy, rule = rules(predictor, {})[name]
    (trace,) = decode(predictor, [PROMPT], strategy, reward=REWARD, **grouped(**size))
    assert (trace.tokens.tolist(), trace.commit_step.tolist()) == slow_decode(predictor, rule, size)
    assert trace.text == predictor.decode_answer(trace.tokens.tolist()) and trace.forwards == shape[1]


def test_the_strategies_are_not_all_alike() -> None:
    outcomes = {
        name: tuple(decode(PREDICTORS["bert"], [PROMPT], strategy, reward=REWARD, **grouped(**SHAPE))[0].commit_step)
        for name, (strategy, _) in rules(PREDICTORS["bert"], {}).items()
    }
    assert len(set(outcomes.values())) >= 6
    assert outcomes["schedule"] == outcomes["rws"]
