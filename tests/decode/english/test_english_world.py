"""The 4-gram model of speeches: its conditionals, and its rewards of words."""

import json

import numpy as np
import pytest
import torch

from rws_decode import RewardModel, WorldPredictor, load_reward
from rws_decode.checkpoints import models_directory
from rws_decode.rewards import WorldReward, bounds_of


def test_conditionals_of_one_mask_follow_from_bayes_rule_at_full_size(english: WorldPredictor) -> None:
    canvas = english.canvas("we ask the congress [MASK:1] the treaty with spain")
    found = english.logits(canvas, None)[0, 4, :-1].numpy()
    ids = canvas[0].tolist()
    joint = np.array([english.world.log_prob([*ids[:4], word, *ids[5:]]) for word in range(3000)])
    assert np.abs(found - (joint - np.logaddexp.reduce(joint))).max() < 1e-9


def test_some_positions_of_padded_rows_are_those_of_each_row_alone(english: WorldPredictor) -> None:
    ids, mask = english.words.ids("we have the honor to be"), english.mask_id
    rows = [[*ids, mask, mask], [*ids[:2], mask, ids[3], mask]]
    for left in (False, True):
        canvas = torch.full((2, 8), mask)
        real = torch.zeros(2, 8, dtype=torch.bool)
        for number, row in enumerate(rows):
            where = slice(8 - len(row), 8) if left else slice(0, len(row))
            canvas[number, where], real[number, where] = torch.tensor(row), True
        found = english.logits(canvas, real)
        for number, row in enumerate(rows):
            alone = english.logits(torch.tensor([row]), None)[0]
            assert torch.allclose(found[number, real[number]], alone, rtol=0, atol=1e-9)
            assert not found[number, ~real[number]].any()


STORED = json.loads((models_directory() / "english" / "rewards.json").read_text(encoding="utf-8"))


def world_reward(name: str) -> WorldReward:
    reward = load_reward(name)
    assert isinstance(reward, WorldReward) and isinstance(reward, RewardModel)
    return reward


def test_era_adds_up_what_each_word_before_the_end_adds() -> None:
    reward, scores = world_reward("era"), STORED["era"]["scores"]
    words, rng = reward.words, np.random.default_rng(0)
    rows = rng.integers(0, len(words) - 1, size=(20, 24))
    rows[:10, rng.integers(1, 20)] = words.end  # some with an end of text before the last word
    for ids in rows.tolist():
        shown = ids[: ids.index(words.end)] if words.end in ids else ids
        total = reward.score(["why?"], [words.text(shown)])[0]
        assert total == pytest.approx(sum(scores[word] for word in shown), abs=1e-12)
        assert reward.world_reward.score(ids) == total
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
    assert reward.world_reward.score([few[0], reward.words.end, few[1]]) == 1
    assert world_reward("keywords").name == "keywords:" + ",".join(STORED["keywords"]["words"])
