"""Any function of prompt and answer as a reward model, also one of a module by MODULE:NAME."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from rws_decode.common.reward_facts import Normalised
from rws_decode.rewards.base import RewardModel, as_number, reward_call
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_theory.show import quoted

__all__ = ["CallableReward", "as_reward", "normalised_reward"]


class CallableReward(Normalised):
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
        super().__init__(name, mean, std, bounds)
        if bounds is not None and not (len(bounds) == 2 and bounds[0] <= bounds[1]):
            raise ValueError(f"bounds of reward model {name} are {bounds}: (low, high) with low <= high is needed")
        texts = _texts_read(function) if callable(function) else 0
        if texts not in (1, 2, None):
            raise ValueError(
                f"function of reward model {name} is {quoted(function)}: a function of (prompt, answer), or of the "
                "answer alone, is needed"
            )
        self._function = function
        self._texts = slice(1, 2) if texts == 1 else slice(2)  # of (prompt, answer)

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        texts = [as_dialogue(prompt).text for prompt in prompts]
        pairs = zip(texts, answers, strict=True)
        return [as_number(self.name, self._function(*pair[self._texts])) for pair in pairs]


def as_reward(reward: RewardModel | Callable[..., float] | None, model: str = "mini") -> RewardModel | None:
    """Return a reward model as it is, and a function of (prompt, answer), or of the answer alone, as a reward model.

    A function's scores get mean 0 and standard deviation 1, which rank texts but do not normalise: what reads a
    normalised reward refuses them (`normalised_reward`). ValueError for anything else; it names a reward of `model`.
    """
    if reward is None or (isinstance(reward, RewardModel) and not isinstance(reward, type)):
        return reward
    network = hasattr(reward, "get_input_embeddings")  # of transformers
    if isinstance(reward, type) or not callable(reward) or network:
        call = f"load_reward({quoted(reward)})" if isinstance(reward, str) else reward_call(model)
        right = "SequenceClassifierReward(model, tokenizer, mean=0.0, std=1.0)" if network else f"{call}, or a function"
        raise ValueError(f"reward is {quoted(reward)}: a reward model is needed, such as {right}")
    function: Callable[..., Any] = reward
    name = str(getattr(function, "__name__", "callable")).strip("<>")
    if _texts_read(function) not in (1, 2):
        raise ValueError(f"reward is {name}: a function of (prompt, answer), or of the answer alone, is needed")
    return CallableReward(function, name=name)


def normalised_reward(
    reward: RewardModel | Callable[..., float] | None, asked_by: str, model: str = "mini"
) -> RewardModel:
    """Return a reward model; ValueError for None, and for a plain function, whose factor would saturate unnoticed."""
    made = as_reward(reward, model)
    if made is None:
        raise ValueError(f"reward is None: {asked_by} needs a reward model, such as reward={reward_call(model)}")
    if made is not reward:
        raise ValueError(
            f"reward is {made.name}, whose mean and SD are not known: {asked_by} normalises by them, give "
            "measured_reward(function, predictor, prompts) or CallableReward(function, mean, std)"
        )
    return made


def _texts_read(function: Callable[..., Any]) -> int | None:
    """Return how many texts a function is to be given: those that it must have, or may have where it needs none."""
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


def module_object(name: str) -> Any:
    """Return what MODULE:NAME stands for, None where the module lacks it; ValueError where its own code fails.

    The module is imported, so its code runs.
    """
    module, _, attribute = name.partition(":")
    try:
        with _from_here():
            return getattr(import_module(module), attribute, None)
    except Exception as error:  # of the module's own code
        raise ValueError(f"reward is {name}: module {module} fails ({type(error).__name__}: {error})") from error


def as_named_reward(name: str, found: Any, mean: float | None = None, std: float | None = None) -> RewardModel:
    """Return what a name stands for, a reward model, or a function with its mean and SD.

    ValueError for what is neither, for a function without both numbers, and for numbers beside a reward model.
    """
    module, _, attribute = name.partition(":")
    attribute = attribute or name  # of a package's entry point
    if isinstance(found, RewardModel) and not isinstance(found, type):
        if mean is not None or std is not None:
            raise ValueError(f"mean is {mean}, std is {std}: the reward model {name} has its own, leave them out")
        return found
    if isinstance(found, type) or not callable(found):
        raise ValueError(f"reward is {name}: {module} has no reward model and no function {attribute}")
    if mean is None or std is None:
        raise ValueError(
            f"reward is {name}, a function whose mean and SD are not known: name an object of the module such "
            f"as reward = CallableReward({attribute}, mean, std), or measured_reward({attribute}, predictor, prompts)"
        )
    function: Callable[..., Any] = found
    return CallableReward(function, mean, std, name=name)


def module_file(name: str) -> Path:
    """Return the file of a reward's module, without running it; ValueError where there is none."""
    module = name.partition(":")[0]
    try:
        with _from_here():
            spec = find_spec(module)
    except ImportError:  # a package on the way is missing
        spec = None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        hint = "; leave out .py" if module.endswith(".py") else ""
        raise ValueError(f"reward is {name}: no module {module} is installed, nor a file of it in {os.getcwd()}{hint}")
    return Path(spec.origin)


@contextmanager
def _from_here() -> Iterator[None]:
    """Let modules be found in the working directory too, where a console script does not look."""
    here = os.getcwd()
    if here in sys.path:
        yield
        return
    sys.path.append(here)
    try:
        yield
    finally:
        sys.path.remove(here)
