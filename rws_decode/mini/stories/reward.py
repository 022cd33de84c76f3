"""The exact coherence reward: minus the number of rules that an answer breaks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from math import inf

from rws_decode.common.reward_facts import reward_html
from rws_decode.mini.stories.answers import judge
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_theory.show import figures


class ExactReward:
    """A reward model (`rws_decode.rewards.RewardModel`) that knows the truth: minus the number of violations.

    >>> exact_reward().score(["sort : two one"], ["one two ."])
    [0.0]
    """

    name = "exact"
    bounds = (-inf, 0.0)

    def __init__(self, mean: float, std: float) -> None:
        self.mean = mean
        self.std = std

    def __repr__(self) -> str:
        return f"ExactReward(mean={figures(self.mean)}, std={figures(self.std)})"

    def _repr_html_(self) -> str:
        return reward_html(self, "prompt and answer, by the rules of the story language")

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return minus the number of violations of each answer."""
        texts = [as_dialogue(prompt).text for prompt in prompts]
        return [float(-len(judge(text, answer).violations)) for text, answer in zip(texts, answers, strict=True)]


def exact_reward() -> ExactReward:
    """Load the exact reward with the mean and deviation measured on the held-out reference set of the reward recipe."""
    stored = json.loads(files("rws_decode.mini.models").joinpath("exact.json").read_text(encoding="utf-8"))
    return ExactReward(float(stored["mean"]), float(stored["std"]))
