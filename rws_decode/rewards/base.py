"""What the decoder asks of a reward model, and any function as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

__all__ = ["CallableReward", "RewardModel", "check_statistics", "score_checked"]


@runtime_checkable
class RewardModel(Protocol):
    """A score of an answer to a prompt, with the statistics that normalise it.

    `mean` and `std` (positive) are those of the raw scores on a reference set: mu_R and sigma_R of the paper's Step 2.
    """

    @property
    def name(self) -> str: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...

    def score(self, prompts: list[str], answers: list[str]) -> list[float]:
        """Return the raw score of each pair; the lists have one length."""
        ...


class CallableReward:
    """A reward model from any function of (prompt, answer).

    mean, std: the normalisation; ValueError unless mean is finite and std positive and finite.

    >>> CallableReward(lambda prompt, answer: len(answer)).score(["a", "b"], ["xyz", ""])
    [3.0, 0.0]
    """

    def __init__(
        self, function: Callable[[str, str], float], mean: float = 0.0, std: float = 1.0, name: str = "callable"
    ) -> None:
        check_statistics(name, mean, std)
        self.name = name
        self.mean = float(mean)
        self.std = float(std)
        self._function = function

    def score(self, prompts: list[str], answers: list[str]) -> list[float]:
        """Return the function's value for each pair."""
        return [float(self._function(prompt, answer)) for prompt, answer in zip(prompts, answers, strict=True)]


def check_statistics(name: str, mean: float, std: float) -> None:
    """Raise ValueError, naming the reward model, unless mean is finite and std is positive and finite."""
    if not math.isfinite(mean):
        raise ValueError(f"mean of reward model {name} is {mean}: it must be finite")
    if not (math.isfinite(std) and std > 0):
        raise ValueError(f"std of reward model {name} is {std}: it must be positive and finite")


def score_checked(model: RewardModel, prompts: Sequence[str], answers: Sequence[str]) -> list[float]:
    """Return the model's raw scores; ValueError, naming model and prompt, for a missing or non-finite one.

    >>> score_checked(CallableReward(lambda prompt, answer: float("nan"), name="odd"), ["why?"], [""])
    Traceback (most recent call last):
    ...
    ValueError: reward model odd scored nan for prompt 'why?': a finite number is needed
    """
    scores = [float(score) for score in model.score(list(prompts), list(answers))]
    if len(scores) != len(prompts):
        raise ValueError(f"reward model {model.name} returned {len(scores)} scores for {len(prompts)} pairs")
    for score, prompt in zip(scores, prompts, strict=True):
        if not math.isfinite(score):
            where = f"for prompt {prompt[:60]!r}"
            raise ValueError(f"reward model {model.name} scored {score} {where}: a finite number is needed")
    return scores
