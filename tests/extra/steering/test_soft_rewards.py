"""Rewards of mixtures of tokens: of single tokens the score of the text, else an expectation, and gradients."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import bert_classifier, llama_classifier, word_tokenizer
from torch import Tensor
from torch.nn import functional as F

from rws_decode import CausalReward, SequenceClassifierReward, load_reward
from rws_decode.extra.steering import SoftReward, soft_reward
from rws_decode.extra.steering.soft_rewards import SoftNetwork
from rws_decode.extra.testing import tiny_checkpoint
from rws_decode.rewards import WorldReward
from rws_decode.text.words import END, Words
from rws_theory.worlds import Automaton, keywords

WORDS = Words(["peace", "and", "war", END])
PROMPT, ANSWER = "the cat sat", "a small dog ran then ."
PUBLISHED = ("qrm", "eurus", "intern")


def network_reward(kind: str, folder: Path) -> Any:
    statistics: dict[str, Any] = {"mean": 0.0, "std": 1.0}
    if kind == "bert":  # reads token types, too
        return SequenceClassifierReward(bert_classifier(), word_tokenizer(), **statistics)
    if kind == "llama":
        return CausalReward(llama_classifier(), word_tokenizer(), **statistics)
    if kind in PUBLISHED:
        return load_reward(str(tiny_checkpoint(kind, folder / kind)), **statistics)
    return load_reward(kind)


def shares_of(soft: SoftNetwork, prompt: str, answer: str) -> Tensor:
    """One share of 1 at each token of an answer, where the layout of a longer answer agrees with the frame."""
    frame, ids = soft.frame(prompt), soft.reward.ids(prompt, answer)
    after = len(frame.ids) - frame.begin - 1
    tokens = ids[frame.begin : len(ids) - after]
    assert [*ids[: frame.begin], *ids[len(ids) - after :]] == frame.holding(0)
    return F.one_hot(torch.tensor(tokens), max(soft.vocabulary.values()) + 1).float()


@pytest.mark.parametrize("kind", ["mini", "bert", "llama", *PUBLISHED])
def test_single_tokens_have_the_score_of_their_text(kind: str, tmp_path: Path) -> None:
    reward = network_reward(kind, tmp_path)
    soft = soft_reward(reward)
    assert isinstance(soft, SoftNetwork) and isinstance(soft, SoftReward)
    shares = shares_of(soft, PROMPT, ANSWER)
    written = torch.ones(len(shares), dtype=torch.bool)
    with torch.inference_mode():
        score = float(soft.soft_score(PROMPT, shares, written))
        assert score == pytest.approx(reward.score([PROMPT], [ANSWER])[0], rel=1e-4, abs=1e-5)
        # What is not written is not read.
        padded, shown = torch.cat([shares, shares[:2]]), torch.cat([written, ~written[:2]])
        assert float(soft.soft_score(PROMPT, padded, shown)) == score
        assert float(soft.soft_score(PROMPT, shares.flip(0), written)) != score


# Llama normalises in float32 whatever its weights are.
@pytest.mark.parametrize(("kind", "step", "error"), [("bert", 1e-5, 1e-8), ("llama", 1e-2, 1e-4)])
def test_a_networks_gradient_is_of_finite_differences(kind: str, step: float, error: float, tmp_path: Path) -> None:
    reward = network_reward(kind, tmp_path)
    reward.model.double()
    soft: Any = soft_reward(reward)
    logits = torch.randn(3, 28, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    written = torch.tensor([True, True, False])

    def score(logits: Tensor) -> Tensor:
        return soft.soft_score(PROMPT, logits.softmax(dim=-1), written)

    assert torch.autograd.gradcheck(score, (logits,), eps=step, atol=error, rtol=1e-2)
    (slope,) = torch.autograd.grad(score(logits), logits)
    assert bool((slope[:2] != 0).all()) and not bool(slope[2].any())


def counting(kind: str) -> WorldReward:
    automata = {
        "sum": Automaton(np.zeros((1, 4), np.int64), np.array([[1.0, 0.25, -2.0, 0.0]])),
        "keywords": keywords([[0, 1], [2]], 4),
    }
    return WorldReward(kind, automata[kind], WORDS, mean=0.0, std=1.0)


@pytest.mark.parametrize("kind", ["sum", "keywords"])
@given(seed=st.integers(0, 2**20), length=st.integers(0, 4))
@settings(max_examples=examples(80))
def test_a_worlds_reward_of_mixtures_is_its_expectation(kind: str, seed: int, length: int) -> None:
    reward, rng = counting(kind), np.random.default_rng(seed)
    soft: Any = soft_reward(reward)
    shares = rng.dirichlet(np.full(4, 0.7), size=length)
    expected = 0.0
    for text in itertools.product(range(4), repeat=length):
        shown = WORDS.text(list(text[: text.index(3)] if 3 in text else text))
        chance = float(np.prod([shares[place, word] for place, word in enumerate(text)]))
        expected += chance * reward.score([""], [shown])[0]
    written = torch.ones(length, dtype=torch.bool)
    mixtures = torch.from_numpy(shares.reshape(length, 4))
    assert float(soft.soft_score("", mixtures, written)) == pytest.approx(expected, abs=1e-12)
