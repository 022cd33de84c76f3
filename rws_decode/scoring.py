"""Rewards of completed answers, each text of a row scored once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rws_decode.canvas import Prompt
from rws_decode.guidance import Strategy
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel, score_checked
from rws_theory.gain import normalise

__all__ = ["Scorer", "scorer_for"]

Floats = NDArray[np.float64]


class Scorer:
    """Scores of a batch's answers: `known`, text to raw score, per row."""

    def __init__(self, predictor: MaskPredictor, model: RewardModel, prompts: Sequence[str]) -> None:
        self.predictor = predictor
        self.model = model
        self.prompts = list(prompts)
        self.known: list[dict[str, float]] = [{} for _ in prompts]
        self.asked = [0 for _ in prompts]

    def score(self, rows: Sequence[int], answers: Sequence[list[int]]) -> tuple[Floats, Floats]:
        """Return raw and normalised rewards of the answers of some rows, [len(rows)] each, new texts in one batch."""
        texts = [self.predictor.decode_answer(ids) or "" for ids in answers]
        new = [(row, text) for row, text in zip(rows, texts, strict=True) if text not in self.known[row]]
        if new:
            scores = score_checked(self.model, [self.prompts[row] for row, _ in new], [text for _, text in new])
            for (row, text), score in zip(new, scores, strict=True):
                self.known[row][text] = score
        for row in rows:
            self.asked[row] += 1
        raw = np.array([self.known[row][text] for row, text in zip(rows, texts, strict=True)])
        return raw, np.asarray(normalise(raw, self.model.mean, self.model.std))

    def calls(self, row: int) -> int:
        """Return the number of texts scored for a row."""
        return len(self.known[row])

    def saved(self, row: int) -> int:
        """Return the number of scores reused for a row."""
        return self.asked[row] - len(self.known[row])


def scorer_for(
    predictor: MaskPredictor, strategy: Strategy, reward: RewardModel | None, prompts: Sequence[Prompt]
) -> Scorer | None:
    """Return a scorer where the strategy needs rewards, else None; ValueError where it needs what there is not."""
    if not strategy.needs_reward:
        return None
    if reward is None:
        raise ValueError(f"reward is None: strategy {strategy.name} needs a reward model")
    texts = [prompt.text for prompt in prompts if prompt.text is not None]
    if len(texts) < len(prompts) or predictor.decode_answer([]) is None:
        raise ValueError(f"reward {reward.name} reads text: predictor {predictor.name} has no tokenizer")
    return Scorer(predictor, reward, texts)
