"""When scaling all logits raises the expected reward for certain: exactly if the reward never contradicts p."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.show import figures

__all__ = ["Fall", "Level", "ScalingReward", "scaling_raises_reward"]


class Level(NamedTuple):
    """The states of one probability weight, and the lowest and the highest reward among them."""

    weight: Any
    lowest: Any
    highest: Any


@dataclass(frozen=True)
class Fall:
    """Two states, by index, on which scaling lowers the reward: given one of them, E[R] falls at every scale.

    ``likelier`` has the smaller reward. ``before`` is E_p[R] and ``after`` E_{p^2}[R] given these two, exact.
    """

    likelier: int
    better: int
    before: Fraction
    after: Fraction

    def __repr__(self) -> str:
        means = f"E[R] from {figures(float(self.before))} to {figures(float(self.after))} at c = 2"
        return f"Fall(given states {self.likelier} and {self.better}: {means})"


@dataclass(frozen=True)
class ScalingReward:
    """The result of :func:`scaling_raises_reward`; true in an `if` exactly if ``raises`` is.

    raises: E_{p^c}[R] does not fall with c, at any c and under any conditioning. strict: and on all states together it
    rises strictly. levels: the proof of ``raises``: by rising weight, no level's lowest reward is below the highest of
    the one before. fall: the proof of the contrary, two states; None where it ``raises``.
    """

    raises: bool
    strict: bool
    levels: tuple[Level, ...]
    fall: Fall | None

    def __bool__(self) -> bool:
        return self.raises

    def __repr__(self) -> str:
        if self.fall is not None:
            return f"ScalingReward(can fall: {self.fall!r})"
        how = "rises with c" if self.strict else "is the same at every c"
        count = f"{len(self.levels)} level{'s' if len(self.levels) > 1 else ''} of p"
        return f"ScalingReward(never falls: E[R] {how}; {count})"


def scaling_raises_reward(p: ArrayLike | Sequence[Any], reward: ArrayLike | Sequence[Any]) -> ScalingReward:
    """Decide whether scaling the logits of p raises the mean of a reward R at every scale and under every conditioning.

    That is so exactly if p(x) < p(y) never comes with R(x) > R(y), over the states of positive probability
    (docs/theory.md, eq. (T82)). Else E_{p^c}[R] given two states falls at every c: ``fall`` has them. Each step of a
    decoder conditions p on the tokens that are committed. So a guarantee for every step exists only where the reward
    ranks outcomes as p does.

    Exact: float64 values are taken as the rationals they are; int and Fraction are welcome. p: weights of the states,
    >= 0 and not all 0; they need not sum to 1. reward: as many finite numbers. ValueError for others.

    >>> scaling_raises_reward([1, 2, 2, 5], [0, 1, 3, 3])
    ScalingReward(never falls: E[R] rises with c; 3 levels of p)
    >>> scaling_raises_reward([2, 1], [0, 1])
    ScalingReward(can fall: Fall(given states 0 and 1: E[R] from 0.33333 to 0.2 at c = 2))
    """
    weights, rewards = _numbers(p, "p"), _numbers(reward, "reward")
    if len(weights) != len(rewards):
        raise ValueError(f"p and reward must have the same length, got {len(weights)} and {len(rewards)}")
    if any(w < 0 for w in weights) or not any(weights):
        raise ValueError("p must hold weights >= 0, not all of them 0: give probabilities, not logits")
    states = sorted((x for x, w in enumerate(weights) if w), key=lambda x: weights[x])
    levels: list[Level] = []
    best: int | None = None  # the state of the highest reward so far
    worst: tuple[Any, int, int] | None = None
    for weight, group in groupby(states, key=lambda x: weights[x]):
        members = list(group)
        low, high = (extreme(members, key=lambda x: rewards[x]) for extreme in (min, max))
        if best is not None and rewards[low] < rewards[best]:
            drop = Fraction(rewards[best]) - Fraction(rewards[low])
            worst = (drop, low, best) if worst is None or drop > worst[0] else worst
        best = high if best is None or rewards[high] > rewards[best] else best
        levels.append(Level(weight, rewards[low], rewards[high]))
    if worst is None:
        strict = len(levels) > 1 and levels[0].lowest < levels[-1].highest
        return ScalingReward(True, strict, tuple(levels), None)
    _, likelier, better = worst
    two = [(Fraction(weights[x]), Fraction(rewards[x])) for x in (likelier, better)]
    before, after = (sum(w**c * worth for w, worth in two) / sum(w**c for w, _ in two) for c in (1, 2))
    return ScalingReward(False, False, (), Fall(likelier, better, Fraction(before), Fraction(after)))


def _numbers(values: ArrayLike | Sequence[Any], name: str) -> list[Any]:
    """Return a sequence of finite numbers as exact ones: int, Fraction, or float as the rational it is."""
    exact = isinstance(values, (list, tuple)) and all(isinstance(v, (Rational, float, np.floating)) for v in values)
    array = np.asarray(values, dtype=object) if exact else np.asarray(values)
    if array.ndim != 1 or array.size == 0 or (array.dtype.kind not in "fiu" and not exact):
        raise ValueError(f"{name} must be one sequence of real numbers, shape (states,), got shape {array.shape}")
    numbers = array.tolist()
    if not all(isinstance(v, Rational) or math.isfinite(v) for v in numbers):
        raise ValueError(f"{name} must hold finite numbers, got {next(v for v in numbers if not math.isfinite(v))}")
    return numbers
