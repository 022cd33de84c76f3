"""What the decoder asks of a reward model, and any function as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from rws_decode.canvas.dialogue import Dialogue, as_dialogue

__all__ = [
    "CallableReward",
    "RewardModel",
    "RewardSession",
    "SessionReward",
    "check_scores",
    "check_statistics",
    "prompts_for",
    "score_checked",
]


@runtime_checkable
class RewardModel(Protocol):
    """A score of an answer to a prompt, with the statistics that normalise it.

    `mean` and `std` (positive) are those of the raw scores on a reference set: mu_R and sigma_R of the paper's Step 2.
    An attribute `bounds`, (low, high) or None, says between which raw scores all lie, -inf and inf allowed: the
    narrower, the more often a reward need not be asked (`savings.Savings`). A score outside them is an error. Where an
    attribute `reads_turns` is True, a prompt of several turns is given as the `dialogue.Dialogue` that it is, else as
    its plain text.
    """

    @property
    def name(self) -> str: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...

    def score(self, prompts: list[Any], answers: list[str]) -> list[float]:
        """Return the raw score of each pair; the lists have one length."""
        ...


class RewardSession(Protocol):
    """Scores of the rows of one decode, by a reward model that remembers what it read of each row.

    `tokens` and `tokens_saved`: per row, the tokens run through the model so far, and those it did not have to run.
    """

    tokens: list[int]
    tokens_saved: list[int]

    def score(self, rows: Sequence[int], prompts: Sequence[Any], answers: Sequence[str]) -> list[float]:
        """Return the raw score of each pair, given for the row that it belongs to."""
        ...


@runtime_checkable
class SessionReward(RewardModel, Protocol):
    """A reward model whose scores come cheaper where it sees a row's texts one after another."""

    def session(self, rows: int, *, cache: bool = True) -> RewardSession:
        """Return a new session for `rows` rows; cache False: one that counts tokens and remembers nothing."""
        ...


class CallableReward:
    """A reward model from any function of (prompt, answer), two texts: a dialogue's is its plain one.

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
        return [_number(self.name, self._function(*pair)) for pair in zip(texts, answers, strict=True)]


def check_statistics(name: str, mean: float, std: float) -> None:
    """Raise ValueError, naming the reward model, unless mean is finite and std is positive and finite."""
    if not math.isfinite(mean):
        raise ValueError(f"mean of reward model {name} is {mean}: it must be finite")
    if not (math.isfinite(std) and std > 0):
        raise ValueError(f"std of reward model {name} is {std}: it must be positive and finite")


def prompts_for(model: RewardModel, prompts: Sequence[str | Dialogue]) -> list[str | Dialogue]:
    """Return prompts as a reward model reads them: a dialogue as its plain text, unless the model reads turns.

    A dialogue of one turn is always its text.

    >>> prompts_for(CallableReward(len), ["why?", Dialogue(("a", "b", "c"))])
    ['why?', 'a answer : b question : c']
    """
    turns = getattr(model, "reads_turns", False)
    dialogues = [as_dialogue(prompt) for prompt in prompts]
    return [dialogue if turns and len(dialogue.turns) > 1 else dialogue.text for dialogue in dialogues]


def score_checked(model: RewardModel, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
    """Return the model's raw scores; ValueError, naming model and prompt, for a missing or non-finite one.

    >>> score_checked(CallableReward(lambda prompt, answer: float("nan"), name="odd"), ["why?"], [""])
    Traceback (most recent call last):
    ...
    ValueError: reward model odd scored nan for prompt 'why?': a finite number is needed
    """
    return check_scores(model.name, prompts, model.score(prompts_for(model, prompts), list(answers)))


def check_scores(name: str, prompts: Sequence[str | Dialogue], scores: Sequence[float]) -> list[float]:
    """Return scores of some prompts' answers as floats; ValueError, naming model and prompt, as in `score_checked`.

    >>> check_scores("even", ["why?"], [2])
    [2.0]
    """
    found = [_number(name, score) for score in scores]
    if len(found) != len(prompts):
        raise ValueError(f"reward model {name} returned {len(found)} scores for {len(prompts)} pairs")
    for score, prompt in zip(found, prompts, strict=True):
        if not math.isfinite(score):
            where = f"for prompt {as_dialogue(prompt).text[:60]!r}"
            raise ValueError(f"reward model {name} scored {score} {where}: a finite number is needed")
    return found


def _number(name: str, score: Any) -> float:
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"reward model {name} scored {score!r}: a finite number is needed") from None
