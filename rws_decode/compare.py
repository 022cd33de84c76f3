"""Several strategies on the same prompts, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from rws_decode.common.page import Page, notebook_html, picture
from rws_decode.decode import decode
from rws_decode.job import Prompts, check_arguments, check_places, prepare
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel, reward_call
from rws_decode.settings import Options, Savings, Shape
from rws_decode.steering import is_method, steering
from rws_decode.strategies.protocol import Strategy, describe
from rws_decode.strategies.table import as_strategy
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.labels import constant_note, strategy_label
from rws_decode.trace.trace import Trace
from rws_theory.checks import finite, one_of, whole
from rws_theory.show import clipped, quoted, shortened

if TYPE_CHECKING:
    import pandas

__all__ = ["Comparison", "compare"]

BudgetOf = Literal["forwards", "reward_calls", "seconds"]
_OPTIONS, _SAVINGS = Options(), Savings()


@dataclass(frozen=True, eq=False)
class Comparison(Mapping[str, Decoding]):
    """The decodes of the same prompts by several strategies, by the strategies' labels, in the order given.

    seconds: that each decode took by the clock, over all prompts; the first one's has what is loaded at first use.
    """

    decodings: dict[str, Decoding]
    seconds: dict[str, float]

    def __getitem__(self, strategy: str) -> Decoding:
        if not isinstance(strategy, str) or strategy not in self.decodings:
            known, first = shortened(self.decodings), next(iter(self.decodings))
            raise KeyError(f"{quoted(strategy)}: compared were {known}; the first prompt is runs[{first!r}][0]")
        return self.decodings[strategy]

    def __iter__(self) -> Iterator[str]:
        return iter(self.decodings)

    def __len__(self) -> int:
        return len(self.decodings)

    def __repr__(self) -> str:
        prompts = len(next(iter(self.decodings.values())))
        notes = [f"; {name}: {note}" for name, runs in self.decodings.items() if (note := constant_note(runs))]
        size = f"{prompts} prompt{'s' if prompts > 1 else ''}{''.join(notes)}"
        return clipped(f"Comparison({shortened(self.decodings)} on {size})")

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    def view(self, prompt: int = 0) -> Page:
        """Return a page to scrub of a prompt's runs in lock-step, each compared with the first; prompt: its number."""
        return picture("runs_page", "runs.view()")([runs[prompt] for runs in self.decodings.values()])

    def to_frame(self) -> pandas.DataFrame:
        """Return a table of one row for each prompt and strategy, with the columns of `Decoding.to_frame`, and seconds.

        The seconds are those of the strategy's decode, divided by the number of prompts.
        """
        import pandas

        frames = [
            decoding.to_frame().assign(strategy=label, seconds=self.seconds[label] / len(decoding))
            for label, decoding in self.decodings.items()
        ]
        return pandas.concat(frames, ignore_index=True).sort_values("prompt", kind="stable", ignore_index=True)


def compare(
    predictor: MaskPredictor,
    prompts: Prompts | None = None,
    strategies: Sequence[Strategy | str] | Mapping[str, Strategy | str] = (),
    shape: Shape | None = None,
    *,
    canvas: Prompts | Sequence[int] | None = None,
    reward: RewardModel | Callable[..., float] | None = None,
    options: Options = _OPTIONS,
    savings: Savings = _SAVINGS,
    progress: Callable[[str, int, Trace], None] | None = None,
    budget: float | None = None,
    budget_of: BudgetOf = "forwards",
    **misplaced: Any,
) -> Comparison:
    """Decode the same prompts by several strategies, and return all decodes as one object.

    strategies: names with a number, such as "rws:8", or strategies as `decode.decode` takes them; a mapping gives each
    a label of its own. A text such as "best-of:4" names a way of `steer`, which samples at temperature 1 where the
    options say 0. canvas: texts with gaps, in place of prompts. reward: of the strategies that need one, and of every
    final text. The rest as in `decode.decode`. progress: called with the label, the prompt's number and its trace as
    each is done.

    budget: what each prompt may cost; a way of steering without its number, "best-of", gets the most copies that fit,
    and all else is decoded as it is. budget_of: "forwards", the canvases that the predictor runs, or "reward_calls",
    the texts scored (a gradient is one): the most that a method can take, as if no two canvases and no two texts were
    equal, which cost once. "seconds": by the clock here, over all prompts divided by their number; the copies are found
    by decoding with 1, 2, 4, ... of them, and may be others in another run.

    Guarantee: each strategy's decode is the one that `decode.decode`, or `steer`, gives alone. ValueError for no
    strategy, for two of one label, and as there.

    >>> from rws_decode.predictors import load_predictor
    >>> runs = compare(load_predictor("english"), "my fellow citizens,", ["default", "temperature:4"], Shape(8, 4, 8))
    >>> runs, runs["default"][0].text == runs["temperature:4"][0].text
    (Comparison(default, temperature:4 on 1 prompt), True)
    >>> runs.to_frame()[["strategy", "log_prob", "god_steps"]].shape
    (2, 3)
    """
    check_arguments(predictor, options, shape, savings)
    check_places(misplaced)
    for name, value in misplaced.items():
        raise ValueError(f"{name} is {quoted(value)}: compare has no such argument, a strategy's text has its numbers")

    def steered(text: str) -> Any:
        methods = steering(f"strategy is {text}")
        return methods.steer(
            predictor,
            prompts,
            text,
            shape,
            canvas=canvas,
            reward=cast("RewardModel", reward),
            options=methods.drawing(text, options),
            memory=savings.memory,
        )

    def seconds_of(text: str) -> float:
        run = steered(text)
        return run.cost.seconds / len(run)

    one_of("budget_of", budget_of, get_args(BudgetOf))
    if budget is not None:
        finite("budget", budget, above=0) if budget_of == "seconds" else whole("budget", budget)
        steps = prepare(predictor, prompts, "default", shape, None, options, canvas=canvas).shape.steps
        strategies = steering(f"budget is {budget}").within_budget(strategies, budget, budget_of, steps, seconds_of)
    named = strategies if isinstance(strategies, Mapping) else _labelled(strategies)
    if not named:
        raise ValueError(f"strategies is {quoted(strategies)}: at least one is needed, such as ['default', 'rws:8']")
    name = getattr(predictor, "name", "")
    made = {label: _made(strategy, options.seed, reward, name) for label, strategy in named.items()}
    decodings: dict[str, Decoding] = {}
    seconds: dict[str, float] = {}
    for label, strategy in made.items():
        began, finished = time.perf_counter(), None if progress is None else partial(progress, label)
        if isinstance(strategy, str):
            decodings[label] = steered(strategy)
            if finished is not None:
                for row, trace in enumerate(decodings[label]):
                    finished(row, trace)
        else:
            decodings[label] = decode(
                predictor,
                prompts,
                strategy,
                shape,
                canvas=canvas,
                reward=reward,
                options=options,
                savings=savings,
                finished=finished,
            )
        seconds[label] = time.perf_counter() - began
    return Comparison(decodings, seconds)


def _made(strategy: Strategy | str, seed: int | tuple[int, ...], reward: object, model: str) -> Strategy | str:
    """Return the strategy that a text names; the text of a steering method stays, checked, since `steer` reads it."""
    if not isinstance(strategy, str) or not is_method(strategy):
        return as_strategy(strategy, seed=seed)
    steering(f"strategy is {strategy}").check_method(strategy, "strategies")
    if reward is None:
        raise ValueError(f"reward is None: {strategy} needs a reward model, such as {reward_call(model)}")
    return strategy


def _labelled(strategies: Sequence[Strategy | str]) -> dict[str, Strategy | str]:
    if isinstance(strategies, str) or not isinstance(strategies, Sequence):
        raise ValueError(f"strategies is {quoted(strategies)}: a list is needed, such as ['default', 'rws:8']")
    for number, each in enumerate(strategies):
        if not isinstance(each, str) and not isinstance(getattr(each, "name", None), str):
            right = "a strategy or a name such as 'rws:8' is needed, and one shape of all, such as shape=Shape(8)"
            raise ValueError(f"strategies[{number}] is {quoted(each)}: {right}")
    labels = [each if isinstance(each, str) else strategy_label(describe(each)) for each in strategies]
    if twice := {label for label in labels if labels.count(label) > 1}:
        raise ValueError(f"strategies hold {sorted(twice)[0]} twice: give a mapping, with a label for each")
    return dict(zip(labels, strategies, strict=True))
