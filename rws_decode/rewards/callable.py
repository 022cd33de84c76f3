"""Any function of prompt and answer as a reward model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rws_decode.rewards.base import as_number, check_statistics
from rws_decode.text.dialogue import Dialogue, as_dialogue

__all__ = ["CallableReward"]


class CallableReward:
    """A reward model from any function of (prompt, answer), two texts; a dialogue is given as its plain text.

    mean, std: the normalisation; ValueError unless mean is finite and std positive and finite. bounds: (low, high),
    if all scores are known to lie between.

    >>> CallableReward(lambda prompt, answer: len(answer)).score(["a", "b"], ["xyz", ""])
    [3.0, 0.0]
    """

    def __init__(
        self,
        function: Callable[[str, str], float],
        mean: float = 0.0,
        std: float = 1.0,
        name: str = "callable",
        bounds: tuple[float, float] | None = None,
    ) -> None:
        check_statistics(name, mean, std)
        if bounds is not None and not (len(bounds) == 2 and bounds[0] <= bounds[1]):
            raise ValueError(f"bounds of reward model {name} are {bounds}: (low, high) with low <= high is needed")
        self.bounds = bounds
        self.name = name
        self.mean = float(mean)
        self.std = float(std)
        self._function = function

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return the function's value for each pair."""
        texts = [as_dialogue(prompt).text for prompt in prompts]
        return [as_number(self.name, self._function(*pair)) for pair in zip(texts, answers, strict=True)]
