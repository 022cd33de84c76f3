"""Any function of prompt and answer as a reward model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any, NoReturn

from rws_decode.common.reward_facts import reward_html
from rws_decode.rewards.base import RewardModel, as_number, check_statistics
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_theory.show import figures, quoted

__all__ = ["CallableReward", "as_reward", "refuse_unnormalised"]


class CallableReward:
    """A reward model from any function of (prompt, answer), two texts, or of the answer alone.

    A function that must be given one text is given the answer; a dialogue is given as its plain text. mean, std: the
    normalisation; ValueError unless mean is finite and std positive and finite. bounds: (low, high), if all scores are
    known to lie between.

    >>> reward = CallableReward(lambda prompt, answer: len(answer), mean=20.0, std=5.0)
    >>> reward
    CallableReward('callable', mean=20, std=5)
    >>> reward.score(["a", "b"], ["xyz", ""])
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
        texts = _texts_read(function)
        if texts not in (1, 2, None):
            raise ValueError(
                f"function of reward model {name} is {function!r}: a function of (prompt, answer), or of the answer "
                "alone, is needed"
            )
        self.bounds = bounds
        self.name = name
        self.mean = float(mean)
        self.std = float(std)
        self._function = function
        self._texts = slice(1, 2) if texts == 1 else slice(2)  # of (prompt, answer)

    def __repr__(self) -> str:
        bounds = "" if self.bounds is None else f", bounds={self.bounds}"
        return f"CallableReward({quoted(self.name)}, mean={figures(self.mean)}, std={figures(self.std)}{bounds})"

    def _repr_html_(self) -> str:
        return reward_html(self, "prompt and answer, as two texts")

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return the function's value for each pair."""
        texts = [as_dialogue(prompt).text for prompt in prompts]
        pairs = zip(texts, answers, strict=True)
        return [as_number(self.name, self._function(*pair[self._texts])) for pair in pairs]


def as_reward(reward: RewardModel | Callable[..., float] | None) -> RewardModel | None:
    """Return a reward model as it is, and a function of (prompt, answer), or of the answer alone, as a reward model.

    A function's scores get mean 0 and standard deviation 1, which rank texts but do not normalise: what reads a
    normalised reward refuses them (`refuse_unnormalised`). ValueError for anything else.

    >>> as_reward(len).score(["why?"], ["so"])
    [2.0]
    """
    if reward is None or (isinstance(reward, RewardModel) and not isinstance(reward, type)):
        return reward
    if isinstance(reward, type) or not callable(reward):
        named = repr(reward) if isinstance(reward, str) else "'mini'"
        raise ValueError(f"reward is {reward!r}: a reward model is needed, such as load_reward({named}), or a function")
    function: Callable[..., Any] = reward
    name = str(getattr(function, "__name__", "callable")).strip("<>")
    if _texts_read(function) not in (1, 2):
        raise ValueError(f"reward is {name}: a function of (prompt, answer), or of the answer alone, is needed")
    return CallableReward(function, name=name)


def refuse_unnormalised(reward: RewardModel | None, asked_by: str) -> NoReturn:
    """Raise ValueError for a plain function where a normalised reward is read: its factor would saturate unsaid."""
    name = "the function" if reward is None else reward.name
    raise ValueError(
        f"reward is {name}, whose mean and deviation are not known: {asked_by} normalises by them, give "
        "measured_reward(function, predictor, prompts) or CallableReward(function, mean, std)"
    )


def _texts_read(function: Callable[..., Any]) -> int | None:
    """Return how many texts a function is to be given: those that it must have, or may have where it needs none.

    >>> _texts_read(lambda answer, weight=2.0: 0.0), _texts_read(lambda *texts: 0.0), _texts_read(lambda: 0.0)
    (1, 2, 0)
    """
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not say
        return None
    empty, placed, any_number = Parameter.empty, [], False
    for parameter in parameters:
        if parameter.kind == Parameter.KEYWORD_ONLY and parameter.default is empty:
            return None
        any_number |= parameter.kind == Parameter.VAR_POSITIONAL
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            placed.append(parameter)
    needed = sum(parameter.default is empty for parameter in placed)
    return needed or (2 if any_number else min(len(placed), 2))
