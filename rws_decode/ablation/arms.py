"""Decode prompts by one arm of an ablation, the strategy or a twin, here or in another process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace
from typing import Any

from rws_decode.ablation.twins import ShuffledScores
from rws_decode.ablation.verdict import WITHOUT
from rws_decode.decode import decode
from rws_decode.final_text import outcomes
from rws_decode.job import encode_prompts
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.rewards.callable import CallableReward, as_reward
from rws_decode.settings import Options, Savings, Shape
from rws_decode.steering import is_method, steering
from rws_decode.trace.labels import constant_note
from rws_decode.trace.trace import Trace

# Returns predictor, reward and judge, as `ablate` takes them, in each process of an executor. It is a function at the
# top of a module or a frozen dataclass: equal ones load once.
Load = Callable[[], tuple[MaskPredictor, Any, Any]]
_LOADING, _HELD = threading.Lock(), dict[Load, tuple[MaskPredictor, Any, Any]]()  # the last models of this process


@dataclass(frozen=True)
class Models:
    """A predictor, the reward that decodes read, and the judge, or None.

    function: the reward where it is a plain function, and measured its mean and SD, once they are known.
    """

    predictor: MaskPredictor
    reward: RewardModel
    judge: RewardModel | None
    function: Any = None

    @classmethod
    def of(cls, predictor: MaskPredictor, reward: Any, judge: Any, measured: tuple[float, float] | None) -> Models:
        """Return models as given; ValueError for a reward that is None, or none."""
        made = as_reward(reward, predictor.name)
        if made is None:
            raise ValueError("reward is None: the reward that the strategy reads is needed, a model or a function")
        function = None if made is reward else reward  # without mean and SD
        if function is not None and measured is not None:
            made, function = CallableReward(function, *measured, name=made.name), None
        return cls(predictor, made, as_reward(judge, predictor.name), function)

    def scored(self, model: RewardModel, prompts: Sequence[Any], tokens: Sequence[list[int]]) -> list[float]:
        """Return the raw scores of answers, tokens of each."""
        encoded = [encode_prompts(self.predictor, [text], len(tokens[0]))[0] for text in prompts]
        found = outcomes(self.predictor, model, encoded, dict(enumerate(tokens)))
        return [self.raw(found[place]["final_reward"]) for place in range(len(prompts))]

    def raw(self, final: dict[str, Any] | None) -> float:
        if final is None:
            raise ValueError(f"predictor {self.predictor.name} has no text of an answer: a reward needs one")
        return float(final["raw"])


@dataclass(frozen=True)
class Task:
    """Some prompts, numbers `rows` of the ablation's, and how they are decoded: a strategy or the name of a method."""

    arm: str
    rows: tuple[int, ...]
    prompts: tuple[Any, ...]
    how: Any
    shape: Shape | None
    options: Options
    savings: Savings
    seed: int
    measured: tuple[float, float] | None = None

    @property
    def steered(self) -> bool:
        return isinstance(self.how, str) and is_method(self.how)

    def traces(self, models: Models) -> Sequence[Trace]:
        options = replace(self.options, seed=tuple(self.seed + row for row in self.rows))
        if not self.steered:
            plain = models.function is not None and self.arm == WITHOUT  # its texts give mean and SD
            return decode(
                models.predictor,
                list(self.prompts),
                self.how,
                self.shape,
                reward=models.function if plain else models.reward,
                options=options,
                savings=replace(self.savings, certain=False),
            )
        methods, model = steering(f"strategy is {self.how}"), models.reward
        if self.arm == "shuffled rewards":
            model = ShuffledScores(models.reward, self.seed)
        options = methods.drawing(self.how, options)
        found: Sequence[Trace] = methods.steer(
            models.predictor, list(self.prompts), self.how, self.shape, reward=model, options=options
        )
        return found

    def results(self, models: Models) -> list[dict[str, Any]]:
        """Return each text with its scores and cost; for the strategy also factors and rewards, with a note."""
        task = self if self.steered else replace(self, options=replace(self.options, record="tokens"))
        traces = task.traces(models)
        tokens = [trace.tokens.tolist() for trace in traces]
        judged = [None] * len(traces) if models.judge is None else models.scored(models.judge, self.prompts, tokens)
        if self.arm == "shuffled rewards" and self.steered:
            scores = models.scored(models.reward, self.prompts, tokens)
        else:
            scores = [models.raw(trace.final_reward) for trace in traces]
        note = None if self.steered else constant_note(traces)
        return [
            {
                "prompt": row,
                "arm": self.arm,
                "reward": score,
                "judge": judge,
                "log_prob": None if trace.log_prob is None else trace.log_prob / trace.length,
                "text": trace.text,
                "tokens": trace.tokens.tolist(),
                "forwards": trace.forwards,
                "reward_calls": trace.reward_calls,
                **(_scales(trace, note) if self.arm == "strategy" and not self.steered else {}),
            }
            for row, trace, score, judge in zip(self.rows, traces, scores, judged, strict=True)
        ]


def run_tasks(
    tasks: Sequence[Task],
    models: Models,
    elsewhere: tuple[Executor, Load] | None,
    keep: Callable[[list[dict[str, Any]]], None],
) -> None:
    """Hand the results of all tasks to `keep`, each as soon as it is there; an error is raised when all have ended.

    elsewhere: an executor and what loads the models there, once for each process; None for this thread and `models`.
    """
    if elsewhere is None:
        for task in tasks:
            keep(task.results(models))
        return
    executor, load = elsewhere
    waiting = [executor.submit(_elsewhere, load, task) for task in tasks]
    errors = []
    for done in as_completed(waiting):
        if (error := done.exception()) is None:
            keep(done.result())
        else:
            errors.append(error)
    if errors:
        raise errors[0]


def _elsewhere(load: Load, task: Task) -> list[dict[str, Any]]:
    return task.results(Models.of(*_loaded(load), task.measured))


def _loaded(load: Load) -> tuple[MaskPredictor, Any, Any]:
    with _LOADING:
        if load not in _HELD:
            _HELD.clear()  # first, as two networks may not fit
            _HELD[load] = load()
        return _HELD[load]


def _scales(trace: Trace, note: str | None) -> dict[str, Any]:
    """Return factors and normalised rewards by step, NaN where no reward was asked, and a note on these."""
    return {"factors": trace.factor.tolist(), "rewards": trace.reward_normalised.tolist(), "note": note}
