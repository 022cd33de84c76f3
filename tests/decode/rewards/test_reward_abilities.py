"""What a reward model may do on top of `RewardModel`, and the default without it."""

from __future__ import annotations

import math

import pytest

from rws_decode.rewards import CallableReward, RewardModel, SequenceClassifierReward, SessionReward
from rws_decode.rewards.base import (
    Bounded,
    ReadsTokens,
    ReadsTurns,
    bounds_of,
    prompts_for,
    reads_whole,
    score_checked,
    session_of,
)
from rws_decode.testing.networks import bert_classifier, word_tokenizer
from rws_decode.text.dialogue import Dialogue

TURNS = Dialogue(("a", "b", "c"))


class Plain:
    """A reward model with nothing on top."""

    name, mean, std = "plain", 0.0, 1.0

    def score(self, prompts: list[str], answers: list[str]) -> list[float]:
        return [float(len(prompt) + len(answer)) for prompt, answer in zip(prompts, answers, strict=True)]


def test_a_reward_without_abilities_has_the_defaults() -> None:
    plain = Plain()
    assert isinstance(plain, RewardModel)
    assert not any(isinstance(plain, ability) for ability in (Bounded, ReadsTurns, ReadsTokens, SessionReward))
    assert bounds_of(plain) == (-math.inf, math.inf)
    assert prompts_for(plain, [TURNS]) == [TURNS.text] and reads_whole(plain, TURNS, "d " * 10_000)
    session = session_of(plain, 2)
    assert session.score([1, 0], ["a", "bc"], ["d", ""]) == score_checked(plain, ["a", "bc"], ["d", ""]) == [2.0, 2.0]
    assert session.tokens == session.tokens_saved == [0, 0]


@pytest.mark.parametrize(
    ("bounds", "known"), [(None, (-math.inf, math.inf)), ((0, 3), (0.0, 3.0)), ((-math.inf, 2), (-math.inf, 2.0))]
)
def test_bounds_are_those_that_the_model_states(bounds: tuple[float, float] | None, known: tuple[float, float]) -> None:
    assert bounds_of(CallableReward(lambda prompt, answer: 1.0, bounds=bounds)) == known


@pytest.mark.parametrize("turns", [True, False])
def test_turns_are_given_where_the_model_reads_them(turns: bool) -> None:
    model = Plain()
    model.reads_turns = turns  # type: ignore[attr-defined]
    assert prompts_for(model, [TURNS, Dialogue(("a",)), "b"]) == [TURNS if turns else TURNS.text, "a", "b"]


def test_a_network_says_what_it_reads() -> None:
    model = SequenceClassifierReward(bert_classifier(), word_tokenizer(), mean=0, std=1)
    assert isinstance(model, ReadsTokens) and model.template == "pair" and bounds_of(model) == model.bounds
    assert reads_whole(model, "the cat", "sat") and not reads_whole(model, "the " * 200, "sat")
