"""At which steps of a run another reward could have changed what is unmasked: found from its trace, with proof."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rws_decode.predictors.base import MaskPredictor
from rws_decode.replay.step_logits import step_logits
from rws_decode.strategies.protocol import abilities_of, factor_alone
from rws_decode.strategies.table import as_strategy
from rws_decode.trace.data import check_known
from rws_decode.trace.labels import run_label
from rws_decode.trace.trace import Trace
from rws_theory.selection import Piece, selection_path
from rws_theory.show import clipped

_MOST = 2**26  # logits of a run whose leverage `compare` tells: seconds
_NEEDED = {"sampling_temperature": 0, "ranking": "log-odds", "end_of_text": "none", "key_cache": "none"}


@dataclass(frozen=True, eq=False)
class Leverage:
    """At which of the R steps of a run a factor decides what is unmasked (docs/theory.md, eq. (T99) to (T101)).

    label: the strategy; factor: float64 [R], the run's factors; low, high: the attainable range, the factors that
    rewards can lead to; reference: the run's mean factor. attainable: bool [R], some attainable factor unmasks other
    positions than another one; varied: bool [R], some factor between the run's least and greatest does; observed: bool
    [R], the step's own factor unmasks other positions than the reference. unmasked, moved: int64 [R], the positions
    that the reference unmasks, and how many of them some attainable factor leaves out. pieces: of each step, what is
    unmasked at the factors from `low` to `high`. certified: all of that is proved.

    No reward changes what a run unmasks before its first attainable step, nor its tokens.
    """

    label: str
    factor: NDArray[np.float64]
    low: float
    high: float
    attainable: NDArray[np.bool_]
    varied: NDArray[np.bool_]
    observed: NDArray[np.bool_]
    unmasked: NDArray[np.int64]
    moved: NDArray[np.int64]
    pieces: tuple[tuple[Piece, ...], ...]
    certified: bool

    def __repr__(self) -> str:
        return clipped(f"Leverage({self.line()})")

    @property
    def steps(self) -> int:
        return len(self.factor)

    @property
    def reference(self) -> float:
        return _mean(self.factor)

    def others(self, step: int) -> list[tuple[float, float]]:
        """Return the attainable factors, from and to, that unmask other positions at a step than the reference."""
        usual = _at(self.pieces[step], self.reference).selected
        return [(piece.lower, piece.upper) for piece in self.pieces[step] if piece.selected != usual]

    @property
    def variation(self) -> float:
        """Return the coefficient of variation of the factor within the run: its SD as a share of its mean."""
        return float(self.factor.std() / self.factor.mean())

    @property
    def positions(self) -> float:
        """Return the share of positions that some attainable factor would not have unmasked at their step."""
        return float(self.moved.sum() / self.unmasked.sum())

    @property
    def first(self) -> int | None:
        """Return the first attainable step, from 0, None where there is none: no reward changes this run's text."""
        return int(self.attainable.argmax()) if self.attainable.any() else None

    @property
    def later(self) -> float:
        """Return the share of tokens that are unmasked at the first attainable step or later: no other can change."""
        return 0.0 if self.first is None else float(self.unmasked[self.first :].sum() / self.unmasked.sum())

    def line(self) -> str:
        """Return in a line by how much the factor varied, and at how many steps that, and any reward, could matter."""
        least, most = self.factor.min(), self.factor.max()
        factor = f"{self.label}: the factor is {least:.3g} to {most:.3g} (CV {100 * self.variation:.1f} %)"
        decided = f"within this range it decides what is unmasked at {self.varied.sum()} of {self.steps} steps"
        return f"{factor}; {decided}, within that of all rewards at {self.attainable.sum()}"


def leverage(trace: Trace, predictor: MaskPredictor, factors: tuple[float, float] | None = None) -> Leverage:
    """Return at which steps of a greedy run a reward could have changed what is unmasked.

    At each step, the logits are computed again by one forward of the predictor, and all sets of most confident
    positions over the range follow from `rws_theory.selection_path`. So the result is about exact ranks: rounding in
    the decode is not counted.

    factors: the attainable range, (least, greatest) factor; None takes that of any reward, from s_R sqrt(eps) to
    s_R sqrt(1 + eps) for RWS. The run's own factors are always inside. ValueError for a run that samples tokens, ranks
    otherwise than by log-odds, keeps keys, or has a strategy that does more than scale; for one that reads no reward,
    unless `factors` are given.

    >>> from rws_decode import Shape, decode, load_predictor, load_reward
    >>> english = load_predictor("english")
    >>> (run,) = decode(english, english.prompts[0], "rws:8", Shape(16, 8, 16), reward=load_reward("era"))
    >>> found = leverage(run, english)
    >>> found
    Leverage(rws:8: the factor is 3.45 to 4.56 (CV 9.6 %); within this range it decides what is unmasked at 1 of 8...)
    >>> found.first, round(found.later, 3), found.certified
    (1, 0.875, True)
    """
    low, high = _range(trace, factors)
    least, most = float(trace.factor.min()), float(trace.factor.max())
    low, high, reference = min(low, least), max(high, most), _mean(trace.factor)
    flags, counts, pieces, certified = [], [], [], True
    for step in range(trace.steps_run):
        logits = step_logits(trace, predictor, step)
        path = selection_path(logits.logits, int(logits.chosen.sum()), low, high)
        usual, own = (set(_at(path.pieces, factor).selected) for factor in (reference, logits.factor))
        between = {piece.selected for piece in path.pieces if piece.upper >= least and piece.lower <= most}
        common = set.intersection(*(set(piece.selected) for piece in path.pieces))
        flags.append((len({piece.selected for piece in path.pieces}) > 1, len(between) > 1, usual != own))
        counts.append((len(usual), len(usual - common)))
        places = logits.positions
        pieces.append(
            tuple(replace(each, selected=tuple(places[list(each.selected)].tolist())) for each in path.pieces)
        )
        certified &= path.certified
    attainable, varied, observed = np.array(flags, np.bool_).reshape(-1, 3).T
    unmasked, moved = np.array(counts, np.int64).reshape(-1, 2).T
    counted = (attainable, varied, observed, unmasked, moved)
    return Leverage(run_label(trace), trace.factor, low, high, *counted, tuple(pieces), certified)


def leverage_line(trace: Trace, predictor: MaskPredictor) -> str:
    """Return what `compare` prints of a run in 80 columns: "" without leverage, how to ask above 2^26 logits."""
    try:
        _range(trace, None)
    except ValueError:  # it reads no reward, or does more than scale
        return ""
    logits = step_logits(trace, predictor, 0).logits.shape[1] * int(trace.eligible.sum())
    if logits > _MOST:
        return f"{run_label(trace)}: {logits:,} logits, rws_decode.leverage tells where a reward could matter\n"
    return f"{textwrap.fill(leverage(trace, predictor).line(), 80)}\n"


def _mean(factors: NDArray[np.float64]) -> float:
    return float(np.clip(factors.mean(), factors.min(), factors.max()))  # that of equal numbers can be a digit off


def _range(trace: Trace, factors: tuple[float, float] | None) -> tuple[float, float]:
    """Return the attainable range; ValueError for a run that has no leverage."""
    check_known(trace, "leverage", whole=True)
    for name, needed in _NEEDED.items():
        if (value := getattr(trace, name)) != needed:
            raise ValueError(f"trace has {name} {value!r}: leverage needs a run with {needed!r}")
    if not np.isfinite(trace.factor).all():
        raise ValueError("trace does not tell each step's factor: decode with Savings(certain=False)")
    label = run_label(trace)
    try:
        named = as_strategy(label)
    except ValueError:  # an object that no text names, such as a schedule
        named = None
    if named is not None and not factor_alone(named):
        raise ValueError(f"trace is of {label}, which does more than scale the logits: leverage needs a factor alone")
    if factors is not None:
        low, high = map(float, factors)
        if not 0 < low <= high < math.inf:
            raise ValueError(f"factors is {factors}: (least, greatest) is needed, two positive numbers")
        return low, high
    able, strategy = abilities_of(named), cast("Any", named)
    if not able.factor_range or able.asks_at_steps:
        raise ValueError(f"trace is of {label}: no reward alone gives its factor, give factors=(least, greatest)")
    if "eps" in trace.strategy:  # which no label tells
        strategy = replace(strategy, eps=trace.strategy["eps"])
    return strategy.factor_range(-math.inf, math.inf)


def _at(pieces: Sequence[Piece], factor: float) -> Piece:
    return next(piece for piece in pieces if factor <= piece.upper)
