"""Every shipped strategy and control against a slow decoder written from the definitions."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from grouped import grouped
from slow_rows import Rule, by_value, confidence, slow_decode
from tiny_models import EOS, bert_predictor, modernbert_predictor
from torch import Tensor

import rws_decode as rws
from rws_decode import RWS, CallableReward, Entropy, Margin, MaskPredictor, RWSEvery, Shape, Strategy, decode, shuffled

PREDICTORS = {"bert": bert_predictor(), "modernbert": modernbert_predictor()}
PROMPT = "the cat sat on the mat ."
SHAPE = {"length": 12, "steps": 8, "block": 6}
S_R, EPS = 8.0, 1e-5

# What scales all logits at a step, from its number and the completed answer.
Scale = Callable[[int, list[int]], float]


def word_reward(prompt: str, answer: str) -> float:
    return len(set(answer.split())) + 0.1 * len(prompt)


REWARD = CallableReward(word_reward, mean=4.0, std=1.5, name="words")


def normalised(predictor: MaskPredictor, answer: list[int]) -> float:
    return (word_reward(PROMPT, predictor.decode_answer(answer) or "") - 4.0) / 1.5


def rws_factor(reward: float) -> float:
    return S_R * math.sqrt(1 / (1 + math.exp(-reward)) + EPS)


def margin(values: Tensor) -> float:
    first, second = values.topk(2).values.tolist()
    return first - second


def rules(predictor: MaskPredictor, run_options: dict[str, Any]) -> dict[str, tuple[Strategy, Scale, Rule]]:
    """Every strategy with its definition; the controls of a run are those of an RWS run with the same options."""
    run = decode(predictor, [PROMPT], RWS(S_R), reward=REWARD, **grouped(**SHAPE, **run_options))[0]
    permuted = np.random.default_rng(5).permutation(run.reward_normalised)
    drawn = np.random.default_rng(7).random(SHAPE["length"])

    def noise(step: int) -> float:
        return float(np.random.default_rng([11, step]).standard_normal())

    def by_reward(step: int, answer: list[int]) -> float:
        return rws_factor(normalised(predictor, answer))

    scales: dict[str, tuple[Strategy, Scale]] = {
        "default": (rws.Confidence(), lambda step, answer: 1.0),
        "temperature": (rws.Temperature(0.3), lambda step, answer: 0.3),
        "rws": (RWS(S_R), by_reward),
        "rws-every": (RWSEvery(S_R, every=3), lambda step, answer: 1.0 if step % 3 else by_reward(step, answer)),
        "rws-flipped": (rws.FlippedReward(S_R), lambda step, answer: rws_factor(-normalised(predictor, answer))),
        "rws-random": (rws.RandomReward(S_R, 11), lambda step, answer: rws_factor(noise(step))),
        "schedule": (rws.recorded(run), lambda step, answer: float(run.factor[step])),
        "constant": (rws.constant_of(run), lambda step, answer: float(np.mean(run.factor))),
        "shuffled": (shuffled(run, np.random.default_rng(5)), lambda step, answer: rws_factor(float(permuted[step]))),
    }
    orders: dict[str, tuple[Strategy, Rule]] = {
        "margin": (Margin(), by_value(lambda row, i: margin(row.history[-1][i]))),
        "logit-margin": (Margin("logit"), by_value(lambda row, i: margin(row.logits[i]))),
        "entropy": (Entropy(), by_value(lambda row, i: -row.entropy[i])),
        "random-order": (rws.RandomOrder(7), by_value(lambda row, i: float(drawn[i]))),
        "left-to-right": (rws.LeftToRight(), by_value(lambda row, i: -i)),
    }
    found = {name: (strategy, scale, confidence) for name, (strategy, scale) in scales.items()}
    return found | {name: (strategy, scales["default"][1], rule) for name, (strategy, rule) in orders.items()}


OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"sampling_temperature": 0.8, "seed": 3},
    "cfg": {"cfg": 1.5},
    "suppress": {"end_of_text": "suppress"},
    "defer": {"end_of_text": "defer"},
    "defer-sampled": {"end_of_text": "defer", "sampling_temperature": 2.0, "seed": 1, "cfg": 0.5},
}


@cache
def rules_of(model: str, options: str) -> dict[str, tuple[Strategy, Scale, Rule]]:
    return rules(PREDICTORS[model], OPTIONS[options])


NAMES = list(rules_of("bert", "greedy"))


# Each strategy with both models, and two of the six options.
CASES = [(name, (turn + more) % 6) for turn, name in enumerate(NAMES) for more in (0, 3)]


@pytest.mark.parametrize(("name", "turn"), CASES)
def test_every_strategy_commits_what_its_definition_says(name: str, turn: int) -> None:
    options, model = [*OPTIONS][turn], [*PREDICTORS][turn % 2]
    predictor, chosen = PREDICTORS[model], OPTIONS[options]
    strategy, scale, rule = rules_of(model, options)[name]
    (trace,) = decode(predictor, [PROMPT], strategy, reward=REWARD, **grouped(**SHAPE, **chosen))
    settings = {option: number for option, number in chosen.items() if option != "end_of_text"}
    settings |= {chosen["end_of_text"]: [EOS]} if "end_of_text" in chosen else {}
    slow = slow_decode(predictor, predictor.encode_prompt(PROMPT), Shape(**SHAPE), rule, scale, **settings)
    assert (trace.tokens.tolist(), trace.commit_step.tolist()) == (slow.tokens, slow.commit_step)
