from __future__ import annotations

import json

import numpy as np
import pytest

from rws_decode import load_reward
from rws_decode.checkpoints.files import models_directory
from rws_decode.rewards.base import Bounded, RewardModel, bounds_of
from rws_decode.rewards.world import WorldReward
from rws_decode.text.words import END, Words
from rws_theory.worlds.ngram import NGram
from rws_theory.worlds.tilts import Automaton, keywords

STORED = json.loads((models_directory() / "english" / "rewards.json").read_text(encoding="utf-8"))


def world_reward(name: str) -> WorldReward:
    reward = load_reward(name)
    assert isinstance(reward, WorldReward) and isinstance(reward, RewardModel) and isinstance(reward, Bounded)
    return reward


def texts(words: Words, seed: int, count: int = 20) -> list[list[int]]:
    """Return rows of word ids, some with an end of text before the last word."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(words) - 1, size=(count, 24))
    rows[: count // 2, rng.integers(1, 20)] = len(words) - 1
    return rows.tolist()


def before_end(words: Words, ids: list[int]) -> list[int]:
    return ids[: ids.index(words.end)] if words.end in ids else ids


def test_era_adds_up_what_each_word_before_the_end_adds() -> None:
    reward, scores = world_reward("era"), STORED["era"]["scores"]
    words = reward.words
    for ids in texts(words, 0):
        shown = before_end(words, ids)
        told = reward.score(["why?"], [words.text(shown)])[0]
        assert told == pytest.approx(sum(scores[word] for word in shown), abs=1e-12)
        assert reward.world_reward.score(ids) == told
    assert max(map(abs, scores)) < 1
    assert [scores[words.ids(mark)[0]] for mark in ".,;:?!"] == [0] * 6 and scores[-1] == 0
    assert reward.std > 0 and bounds_of(reward) == (-np.inf, np.inf)
    late, early = reward.score([""] * 2, ["our economy and our jobs", "whilst the specie and the treaty"])
    assert late > 1 > -1 > early


def test_keywords_counts_each_phrase_once() -> None:
    reward = world_reward("keywords:peace,united states,war")
    rng = np.random.default_rng(1)
    few = reward.words.ids("peace war united states the")
    for _ in range(50):
        ids = [few[i] for i in rng.integers(0, 5, size=8)]
        text = reward.words.text(ids)
        count = sum(f" {phrase} " in f" {text} " for phrase in ("peace", "war", "united states"))
        assert reward.score([""], [text]) == [count] and reward.world_reward.score(ids) == count
    assert bounds_of(reward) == (0, 3)
    end = reward.words.end
    assert reward.world_reward.score([few[0], end, few[1]]) == 1
    assert world_reward("keywords").name == "keywords:" + ",".join(STORED["keywords"]["words"])


@pytest.mark.parametrize("name", ["keywords:zyzzyva", "keywords:", "keywords:peace,,war"])
def test_keywords_that_the_world_cannot_write_are_refused(name: str) -> None:
    with pytest.raises(
        ValueError, match=r"^keywords hold '.*': words of english are needed, such as keywords:peace,war"
    ):
        load_reward(name)


def test_a_text_of_other_words_has_the_score_of_those_that_are_known() -> None:
    reward = world_reward("era")
    assert reward.score(["", ""], ["economy zyzzyva jobs", ""]) == reward.score(["", ""], ["economy jobs", ""])


def test_a_tilt_by_a_reward_is_the_law_that_its_texts_would_have() -> None:
    words = Words(["peace", "war", "and", END])
    world = NGram.fit([words.ids("peace and war and peace and peace and war")], order=3, vocabulary=4)
    reward = WorldReward("both", keywords([[0], [1]], 4), words, 0.0, 1.0)
    tilt = world.tilt(reward.world_reward, 1.5)
    rows = np.stack(np.meshgrid(*[range(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3).tolist()
    scores = reward.score([""] * 64, [words.text(before_end(words, row)) for row in rows])
    weight = np.array([world.log_prob(row) for row in rows]) + 1.5 * np.array(scores)
    assert tilt.log_partition(3) == pytest.approx(float(np.logaddexp.reduce(weight)), abs=1e-9)


def test_words_of_another_size_than_the_automatons_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^words are 2: the automaton reads 3, one is needed for each of them"):
        WorldReward("x", Automaton(np.zeros((1, 3), int), np.zeros((1, 3))), Words(["a", END]), 0.0, 1.0)
