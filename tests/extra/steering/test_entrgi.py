"""Gradient guidance: against a plain loop over numbers, and without a step the plain decode."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from misuse import refused
from tiny_models import EOS, MASK, bert_classifier, bert_predictor, word_tokenizer
from torch import Tensor

import rws_decode as rws
from rws_decode import MaskPredictor, Options, RewardModel, Shape, decode, load_predictor, load_reward, steer
from rws_decode.extra.steering import GradientGuidance
from rws_decode.extra.steering.entrgi import Mix, SoftAnswers, Update
from rws_decode.text.dialogue import before_gap, from_gap

SHAPE = Shape(6, 6, 6)


def tiny_pair() -> tuple[MaskPredictor, RewardModel]:
    reward = rws.SequenceClassifierReward(bert_classifier(), word_tokenizer(), mean=0, std=1, name="tiny-reward")
    return bert_predictor(), reward


def english_pair(reward: str = "era") -> tuple[MaskPredictor, RewardModel]:
    return load_predictor("english"), load_reward(reward)


def climbed_slowly(
    method: GradientGuidance, logits: list[list[float]], worth: list[list[float]], t: float, rng: np.random.Generator
) -> list[list[float]]:
    """Algorithm 1 number by number, for the reward sum_l (sum_i e_li worth_li)^2, whose gradient is written down."""
    psi = [list(row) for row in logits]
    first, second = ([[0.0] * len(row) for row in psi] for _ in range(2))
    for count in range(1, method.gradients + 1):
        drawn = [] if method.mix == "soft" else [float(rng.random()) for _ in psi]
        for place, row in enumerate(psi):
            exps = [math.exp(z / t) for z in row]
            q = [e / sum(exps) for e in exps]
            weight = {"soft": 0.0, "hard": 1.0}.get(method.mix)
            if weight is None:
                weight = -sum(p * math.log(p) for p in q if p > 0) / math.log(len(q) - 1)
            read = list(q)
            if method.mix != "soft":
                hard, below = 0, q[0]
                while below <= drawn[place]:
                    hard += 1
                    below += q[hard]
                read = [(1 - weight) * p + weight * (i == hard) for i, p in enumerate(q)]
            value = sum(e * r for e, r in zip(read, worth[place], strict=True))
            by_share = [2 * value * r for r in worth[place]]  # dR/de; the stopped part has no gradient
            mean = sum(p * s for p, s in zip(q, by_share, strict=True))
            slope = [p * (s - mean) / t for p, s in zip(q, by_share, strict=True)]
            for i, g in enumerate(slope):
                if method.update == "adam":
                    first[place][i] = 0.9 * first[place][i] + 0.1 * g
                    second[place][i] = 0.999 * second[place][i] + 0.001 * g * g
                    size = math.sqrt(second[place][i] / (1 - 0.999**count)) + 1e-8
                    g = first[place][i] / (1 - 0.9**count) / size
                row[i] += method.step_size * g
    return psi


@pytest.mark.parametrize("mix", ["entropy", "soft", "hard"])
@pytest.mark.parametrize(("update", "step_size"), [("adam", 0.5), ("plain", 0.8)])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logits_climb_as_in_a_loop_over_numbers(mix: Mix, update: Update, step_size: float, temperature: float) -> None:
    method = GradientGuidance(3, step_size, mix, update)
    numbers = np.random.default_rng(3)
    logits, worth = numbers.normal(size=(4, 5)) * 2, torch.from_numpy(numbers.normal(size=(4, 5)))
    logits[:, 4] = -math.inf  # the mask

    def score(mixtures: Tensor) -> Tensor:
        return (mixtures * worth).sum(dim=-1).square().sum()

    with torch.inference_mode():  # as in a decode
        fast = method.climb(torch.from_numpy(logits), score, temperature, np.random.default_rng(7))
    slow = climbed_slowly(method, logits.tolist(), worth.tolist(), temperature, np.random.default_rng(7))
    assert fast.numpy() == pytest.approx(np.array(slow), abs=1e-9)
    assert bool((fast[:, 4] == -math.inf).all())


@pytest.mark.parametrize(("pair", "mix"), [(tiny_pair, "entropy"), (english_pair, "soft")])
def test_without_a_step_it_is_the_plain_sampled_decode(pair: Any, mix: str) -> None:
    predictor, reward = pair()
    prompts = ["the cat and the dog", "and then it was"]
    options, order = Options(sampling_temperature=1.0, seed=(5, 6)), rws.RandomOrder(3)
    given = {"reward": reward, "strategy": order, "options": options, "step_size": 0.0, "mix": mix}
    guided = steer(predictor, prompts, "gradient-guidance:2", SHAPE, **given)
    plain = decode(predictor, prompts, order, SHAPE, reward=reward, options=options)
    for one, other in zip(guided, plain, strict=True):
        assert one.tokens.tolist() == other.tokens.tolist()
        assert one.commit_step.tolist() == other.commit_step.tolist()
        assert one.final_reward == other.final_reward


@pytest.mark.parametrize("method", ["gradient-guidance:2", "guided-particles:2"])
def test_a_prompts_answer_does_not_depend_on_its_batch(method: str) -> None:
    predictor, reward = tiny_pair()
    prompts = ["the cat", "a small red bird flew over the hill", "it was"]
    options = Options(sampling_temperature=0.8, seed=(1, 2, 3))
    together = steer(predictor, prompts, method, SHAPE, reward=reward, options=options)
    for row, prompt in enumerate(prompts):
        own = Options(sampling_temperature=0.8, seed=(row + 1,))
        alone = steer(predictor, [prompt], method, SHAPE, reward=reward, options=own)[0]
        assert alone.reward_calls == together[row].reward_calls
        assert alone.tokens.tolist() == together[row].tokens.tolist()
        assert alone.final_reward == pytest.approx(together[row].final_reward, abs=1e-4)
    assert len({trace.tokens.tobytes() for trace in together}) > 1


@pytest.mark.parametrize("prompt", ["{}", "{} the [MASK:2] and the [MASK:4] then"])
@pytest.mark.parametrize("kind", ["mini", "keywords:peace,the people", "tiny"])
def test_an_answer_of_single_tokens_has_the_reward_of_its_text(kind: str, prompt: str) -> None:
    pairs = {"mini": lambda: (load_predictor("mini"), load_reward("mini")), "tiny": tiny_pair}
    predictor, reward = pairs.get(kind, lambda: english_pair(kind))()
    beginning = {"mini": "write a short story .", "tiny": "the small dog"}.get(kind, "the people of")
    text = prompt.format(beginning)
    answers, rng = SoftAnswers(predictor, reward), np.random.default_rng(1)
    rest = from_gap(predictor.encode_prompt(text), predictor.mask_id)
    assert predictor.end_id is not None and predictor.vocab_size is not None
    words = [token for token in range(predictor.vocab_size - 1) if predictor.decode_answer([token])]
    for _ in range(6):
        tokens = rng.choice(words, 6).tolist()
        tokens[int(rng.integers(6))] = predictor.end_id
        masked = sorted(rng.choice(6, 4, replace=False).tolist())
        shares = torch.zeros(4, predictor.vocab_size)
        shares[range(4), [tokens[place] for place in masked]] = 1.0
        shown = [predictor.mask_id if place in masked else token for place, token in enumerate(tokens)]
        soft = float(answers.score(before_gap(text), rest, shown, masked, shares).detach())
        assert soft == pytest.approx(rws.final_reward(predictor, reward, text, tokens).raw, rel=1e-4, abs=1e-4)


def test_vocabularies_that_differ_and_rewards_without_gradients_are_refused() -> None:
    (english, era), mini, worth = english_pair(), load_predictor("mini"), tiny_pair()[1]
    text: dict[str, Any] = {"decode": str, "encode": lambda text: [7]}
    worded = rws.CallablePredictor(lambda canvas: torch.eye(28)[canvas], mask_id=MASK, end_id=EOS, **text)
    cases: list[tuple[MaskPredictor, Any, str]] = [
        (english, load_reward("mini"), "reward is mini: it must share the vocabulary of predictor english, and lacks "),
        (mini, era, "reward is era: it must share the vocabulary of predictor mini, and lacks its token 'write'"),
        (english, rws.CallableReward(lambda prompt, answer: 0.0), "reward is callable: gradients need one that reads"),
        (worded, worth, "it has no tokenizer, and gradients need its vocabulary"),
    ]
    for predictor, reward, message in cases:
        refused(lambda: steer(predictor, ["the"], "gradient-guidance:1", SHAPE, reward=reward), message)  # noqa: B023
