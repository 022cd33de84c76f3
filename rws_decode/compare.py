"""Several strategies on the same prompts, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from rws_decode.common.page import pictures
from rws_decode.decode import decode
from rws_decode.job import Prompts, check_places, prepare
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Options, Savings, Shape
from rws_decode.steering.steer import drawing, steer
from rws_decode.steering.table import check_method, fitted, is_method
from rws_decode.strategies.protocol import Strategy, describe
from rws_decode.strategies.table import as_strategy
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.labels import constant_note, strategy_label
from rws_decode.trace.trace import Trace
from rws_theory.checks import whole
from rws_theory.show import clipped, shortened

if TYPE_CHECKING:
    import pandas

__all__ = ["Comparison", "compare"]

_OPTIONS, _SAVINGS = Options(), Savings()


@dataclass(frozen=True, eq=False)
class Comparison(Mapping[str, Decoding]):
    """The decodes of the same prompts by several strategies, by the strategies' labels, in the order given."""

    decodings: dict[str, Decoding]

    def __getitem__(self, strategy: str) -> Decoding:
        if strategy not in self.decodings:
            raise KeyError(f"{strategy!r}: compared were {', '.join(self.decodings)}")
        return self.decodings[strategy]

    def __iter__(self) -> Iterator[str]:
        return iter(self.decodings)

    def __len__(self) -> int:
        return len(self.decodings)

    def __repr__(self) -> str:
        prompts = len(next(iter(self.decodings.values())))
        said = [f"; {name}: {note}" for name, runs in self.decodings.items() if (note := constant_note(runs))]
        size = f"{prompts} prompt{'s' if prompts > 1 else ''}{''.join(said)}"
        return clipped(f"Comparison({shortened(self.decodings)} on {size})")

    def _repr_html_(self) -> str:
        return pictures().html(self)

    def to_frame(self) -> pandas.DataFrame:
        """Return a table of one row for each prompt and strategy, with the columns of `Decoding.to_frame`."""
        import pandas

        frames = [decoding.to_frame().assign(strategy=label) for label, decoding in self.decodings.items()]
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
    budget: int | None = None,
    **misplaced: Any,
) -> Comparison:
    """Decode the same prompts by several strategies, and return all decodes as one object.

    strategies: names with a number, such as "rws:8", or strategies as `decode.decode` takes them; a mapping gives each
    a label of its own. A text such as "best-of:4" names a way of `steer`, which draws tokens at temperature 1 where the
    options say 0. canvas: texts with gaps, in place of prompts. reward: of the strategies that need one, and of every
    final text. The rest as in `decode.decode`. progress: called with the label, the prompt's number and its trace as
    each is done. budget: forwards for each prompt; a way of steering without its number, "best-of", gets the most
    copies that they allow (`steering.table.within`).

    Guarantee: each strategy's decode is the one that `decode.decode`, or `steer`, gives alone. ValueError for no
    strategy, for two of one label, and as there.

    >>> from rws_decode.predictors import load_predictor
    >>> runs = compare(load_predictor("english"), "my fellow citizens,", ["default", "temperature:4"], Shape(8, 4, 8))
    >>> runs, runs["default"][0].text == runs["temperature:4"][0].text
    (Comparison(default, temperature:4 on 1 prompt), True)
    >>> runs.to_frame()[["strategy", "log_prob", "god_steps"]].shape
    (2, 3)
    """
    check_places(misplaced)
    for name, value in misplaced.items():
        raise ValueError(f"{name} is {value!r}: compare has no such argument, a strategy's numbers are in its text")
    if budget is not None:
        whole("budget", budget)
        steps = prepare(predictor, prompts, "default", shape, None, options, canvas=canvas).shape.steps
        strategies = _within(strategies, budget, steps)
    named = strategies if isinstance(strategies, Mapping) else _labelled(strategies)
    if not named:
        raise ValueError(f"strategies is {strategies!r}: at least one is needed, such as ['default', 'rws:8']")
    seed = options.seed if isinstance(options.seed, int) else tuple(options.seed)
    made = {label: _made(strategy, seed, reward) for label, strategy in named.items()}
    decodings: dict[str, Decoding] = {}
    for label, strategy in made.items():
        if isinstance(strategy, str):
            asked = drawing(strategy, options)
            decodings[label] = steer(
                predictor,
                prompts,
                strategy,
                shape,
                canvas=canvas,
                reward=cast("RewardModel", reward),
                options=asked,
                memory=savings.memory,
            )
            for row, trace in enumerate(decodings[label]):
                if progress is not None:
                    progress(label, row, trace)
            continue

        def finished(row: int, trace: Trace, label: str = label) -> None:
            if progress is not None:
                progress(label, row, trace)

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
    return Comparison(decodings)


def _within(strategies: Any, budget: int, steps: int) -> Any:
    """Return the strategies with the copies that a budget allows, in the list or mapping that they are given in."""
    if isinstance(strategies, Mapping):
        return dict(zip(strategies, _within([*strategies.values()], budget, steps), strict=True))
    if isinstance(strategies, str):
        return strategies  # refused
    return [fitted(each, budget, steps, "strategies") if isinstance(each, str) else each for each in strategies]


def _made(strategy: Strategy | str, seed: int | tuple[int, ...], reward: object) -> Strategy | str:
    """Return the strategy that a text names; the text of a steering method stays, checked, since `steer` reads it."""
    if not isinstance(strategy, str) or not is_method(strategy):
        return as_strategy(strategy, seed=seed)
    check_method(strategy, "strategies")
    if reward is None:
        raise ValueError(f"reward is None: {strategy} needs a reward model, such as load_reward('mini')")
    return strategy


def _labelled(strategies: Sequence[Strategy | str]) -> dict[str, Strategy | str]:
    if isinstance(strategies, str) or not isinstance(strategies, Sequence):
        raise ValueError(f"strategies is {strategies!r}: a list of strategies is needed, such as ['default', 'rws:8']")
    labels = [label_of(strategy) for strategy in strategies]
    if twice := {label for label in labels if labels.count(label) > 1}:
        raise ValueError(f"strategies hold {sorted(twice)[0]} twice: give a mapping, with a label for each")
    return dict(zip(labels, strategies, strict=True))


def label_of(strategy: Strategy | str) -> str:
    """Return how a strategy is called: the text that names it, or its name and first number.

    >>> from rws_decode.strategies.factors import RWS
    >>> label_of(RWS(8.0))
    'rws:8'
    """
    if isinstance(strategy, str):
        return strategy
    return strategy_label(describe(strategy))
