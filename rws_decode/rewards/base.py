"""What the decoder asks of a reward model, and the abilities that a reward model may have on top of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_theory.show import quoted

if TYPE_CHECKING:
    pass

# The rewards that are made for a mask predictor's texts, by its name; the first is its usual one.
OWN_REWARDS: dict[str, tuple[str, ...]] = {
    "mini": ("mini", "mini-judge", "exact"),
    "english": ("era", "keywords"),
    "antibody": ("human", "humanness"),
    "reactions": ("balanced", "valid", "qed"),
    "reactions-small": ("balanced", "valid", "qed"),
}


def reward_call(model: str) -> str:
    """Return the call that makes a reward for the texts of a mask predictor of that name."""
    return f"load_reward({OWN_REWARDS[model][0]!r})" if model in OWN_REWARDS else "CallableReward(function, mean, std)"


@runtime_checkable
class RewardModel(Protocol):
    """A model that scores an answer to a prompt, with the statistics that normalise its scores.

    `mean` and `std` (positive) are those of the raw scores on a reference set: mu_R and sigma_R of the paper's Step 2.

    A model may have besides: `bounds`, (low, high) of its raw scores, -inf and inf allowed, None if unknown: the
    narrower, the more often the decoder need not ask, and a score outside is an error; `reads_turns`, True where it
    reads a dialogue turn by turn; `ids(prompt, answer)`, the token ids that it reads, ValueError for too many, with
    `batch_size` texts at a time, laid out as `template` says.
    """

    @property
    def name(self) -> str: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...

    def score(self, prompts: list[Any], answers: list[str]) -> list[float]:
        """Return the raw score of each pair; the lists have the same length."""
        ...


class RewardSession(Protocol):
    """Scores the rows of one decode, and may remember what it read of each row.

    `tokens` and `tokens_saved`: for each row, the tokens run through the model so far, and those it could leave out.
    """

    tokens: list[int]
    tokens_saved: list[int]

    def score(self, rows: Sequence[int], prompts: Sequence[Any], answers: Sequence[str]) -> list[float]:
        """Return the raw score of each pair, where `rows` tells which row each pair belongs to."""
        ...


@runtime_checkable
class SessionReward(RewardModel, Protocol):
    """A reward model that scores at less cost if it sees a row's texts one after another."""

    def session(self, rows: int, *, cache: bool = True) -> RewardSession:
        """Return a new session for `rows` rows; with cache False it counts tokens and remembers nothing."""
        ...


def bounds_of(model: RewardModel) -> tuple[float, float]:
    """Return (low, high), between which all raw scores lie; (-inf, inf) if it knows none."""
    bounds: Any = getattr(model, "bounds", None)
    return (-math.inf, math.inf) if bounds is None else (float(bounds[0]), float(bounds[1]))


def prompts_for(model: RewardModel, prompts: Sequence[str | Dialogue]) -> list[str | Dialogue]:
    """Return prompts as a reward model reads them: a dialogue as its plain text, unless it reads turns.

    A dialogue of one turn is always its text.
    """
    turns = getattr(model, "reads_turns", False)
    dialogues = [as_dialogue(prompt) for prompt in prompts]
    return [dialogue if turns and len(dialogue.turns) > 1 else dialogue.text for dialogue in dialogues]


class _PlainSession(RewardSession):
    """A session of a model that remembers nothing; it counts no tokens."""

    def __init__(self, model: RewardModel, rows: int) -> None:
        self.tokens, self.tokens_saved = [0] * rows, [0] * rows
        self._model = model

    def score(self, rows: Sequence[int], prompts: Sequence[Any], answers: Sequence[str]) -> list[float]:
        return self._model.score(list(prompts), list(answers))


def session_of(model: RewardModel, rows: int, *, cache: bool = True) -> RewardSession:
    """Return a new session for `rows` rows; one that asks `score` each time if the model is no `SessionReward`.

    Prompts are given to it as `prompts_for` returns them; its scores are not checked (`check_scores`).
    """
    return model.session(rows, cache=cache) if isinstance(model, SessionReward) else _PlainSession(model, rows)


def score_checked(model: RewardModel, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
    """Return the model's raw scores; ValueError, naming model and prompt, for a missing or non-finite one."""
    return check_scores(model.name, prompts, model.score(prompts_for(model, prompts), list(answers)))


def check_scores(name: str, prompts: Sequence[str | Dialogue], scores: Any) -> list[float]:
    """Return the scores of some prompts' answers as floats; ValueError as in `score_checked`."""
    listed = isinstance(scores, Sequence | Iterator) or (hasattr(scores, "tolist") and scores.ndim)
    if not listed or isinstance(scores, str | bytes):
        raise ValueError(f"reward model {name} returned {quoted(scores)}: a list of a number for each pair is needed")
    numbers = [as_number(name, score) for score in scores]
    if len(numbers) != len(prompts):
        raise ValueError(f"reward model {name} returned {len(numbers)} scores for {len(prompts)} pairs")
    for score, prompt in zip(numbers, prompts, strict=True):
        if not math.isfinite(score):
            where = f"for prompt {as_dialogue(prompt).text[:60]!r}"
            raise ValueError(f"reward model {name} scored {score} {where}: a finite number is needed")
    return numbers


def as_number(name: str, score: Any) -> float:
    """Return a score as a float; ValueError, naming the reward model, if it is no number."""
    try:
        if isinstance(score, str | bytes):
            raise TypeError
        return float(score.item() if hasattr(score, "item") else score)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise ValueError(f"reward model {name} scored {quoted(score)}: a finite number is needed") from None
