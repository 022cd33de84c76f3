"""The rewards of `english`, `era` and `keywords`: sums over words, so that reward-tilted distributions are exact."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

from rws_decode.checkpoints.files import Checkpoint, check_digests, models_directory
from rws_decode.common.reward_facts import Normalised
from rws_decode.text.dialogue import Dialogue
from rws_decode.text.words import Words
from rws_theory.worlds.tilts import Automaton, keywords

_WORLD = "english"
_WORDS = 32  # of the answers that a keyword reward is normalised for


class WorldReward(Normalised):
    """A reward that an automaton adds up over the words of an answer before its end; unknown words are left out.

    automaton: what each word id adds, and where it leads. words: the text of the ids. mean, std: the normalisation.
    bounds: (low, high) of the scores, None if they grow with the text. `world_reward` is the same reward on ids, the
    end of text and what follows it included, as `NGram.tilt` takes it. ValueError where the words are not the
    automaton's, and as in `Normalised`.

    >>> words = Words(["peace", "and", "war", "<end>"])
    >>> calm = Automaton(np.zeros((1, 4), int), np.array([[1.0, 0.0, -1.0, 0.0]]))
    >>> reward = WorldReward("calm", calm, words, mean=0.0, std=1.0)
    >>> reward.score(["after"], ["Peace, and peace"]), reward.world_reward.score([0, 3, 0])
    ([2.0], 1.0)
    """

    def __init__(
        self,
        name: str,
        automaton: Automaton,
        words: Words,
        mean: float,
        std: float,
        bounds: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(name, mean, std, bounds)
        read = automaton.reward.shape[1]
        if read != len(words):
            raise ValueError(f"words are {len(words)}: the automaton reads {read}, one is needed for each of them")
        self.words = words
        self.world_reward = automaton if words.end is None else _until(automaton, words.end)

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return the reward of each answer; it does not depend on the prompt.

        Of a prompt with gaps the decoder gives the completed rest: sums over words shift by a constant, as fixed words
        count; a keyword counts wherever it stands.
        """
        return [self.world_reward.score([i for i in self.words.ids(answer) if i >= 0]) for answer in answers]

    def unknown_words(self, text: str) -> list[str]:
        return self.words.unknown(text)


def era_reward(mean: float | None = None, std: float | None = None) -> WorldReward:
    """Return the reward of later words against earlier ones: each word adds (late - early) / (late + early).

    late, early: the word's shares of the later and of the earlier half of the fitted texts, one occurrence added; marks
    add 0. mean and std are those of texts of 32 words, sampled from `english` after its held-out prompts.
    """
    words, stored = _stored()
    era = stored["era"]
    score = np.array(era["scores"])
    automaton = Automaton(np.zeros((1, len(words)), np.int64), score[None])
    return WorldReward(
        "era", automaton, words, era["mean"] if mean is None else mean, era["std"] if std is None else std
    )


def keyword_reward(
    phrases: Sequence[str] | None = None, mean: float | None = None, std: float | None = None
) -> WorldReward:
    """Return the number of the phrases that an answer contains, each counted once; None: the five words of `english`.

    mean and std are those of 32 words sampled one by one at their frequency in the fitted texts. ValueError for no
    phrase, a word that `english` does not know, and too many of them (`automaton.keywords`).
    """
    words, stored = _stored()
    named = list(stored["keywords"]["words"] if phrases is None else phrases)
    for phrase in named:
        if words.unknown(phrase) or not words.ids(phrase):
            raise ValueError(f"keywords hold {phrase!r}: words of {_WORLD} are needed, such as keywords:peace,war")
    rows = list(dict.fromkeys(tuple(words.ids(phrase)) for phrase in named))
    if not rows:
        raise ValueError("keywords are none: name some, such as keywords:peace,war")
    with np.load(models_directory() / _WORLD / "world.npz", allow_pickle=False) as arrays:
        frequency = arrays["unigram"]
    places = np.array([_WORDS + 1 - len(row) for row in rows]).clip(min=0)
    once = np.array([reduce(lambda product, i: product * float(frequency[i]), row, 1.0) for row in rows])
    chance = 1.0 - (1.0 - once) ** places
    mean = float(chance.sum()) if mean is None else mean
    std = float(np.sqrt((chance * (1.0 - chance)).sum())) if std is None else std
    name = "keywords:" + ",".join(words.text(row) for row in rows)
    return WorldReward(name, keywords(rows, len(words)), words, mean, std, (0.0, float(len(rows))))


def _until(automaton: Automaton, end: int) -> Automaton:
    """Return the automaton that reads nothing more after the end of text: its last state adds 0."""
    states = len(automaton.following)
    following = np.vstack([automaton.following, np.full((1, automaton.following.shape[1]), states)])
    reward = np.vstack([automaton.reward, np.zeros((1, automaton.reward.shape[1]))])
    following[:, end] = states
    reward[:, end] = 0.0
    return Automaton(following, reward)


@cache
def _stored() -> tuple[Words, dict[str, Any]]:
    folder = models_directory() / _WORLD
    check_digests(Checkpoint(_WORLD, folder, "world"))
    words, stored = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("words.json", "rewards.json"))
    return Words(words), stored
