"""A masked model on which RWS earns less reward than confidence decoding, proved in rational arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from rws_theory.show import Exact, one_line

__all__ = ["LessReward", "rws_less_reward_example"]

Weights = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class LessReward:
    """A two-position masked model, a reward, and the outcome of both decodings; all numbers exact.

    `weights[i][j]` is the weight of the sequence (i, j), `rewards[i][j]` its reward. `candidate` is the first greedy
    completion and `normalised_squared` its r^2 (r > 0). `factor_above` is an integer proved to be at most RWS's first
    factor. `odds_at_one` are F = (1 - P) / P of both positions at c = 1. `advantage` is a rational proved to be above
    F_b(c) / F_a(c) for every c >= `factor_above`, where confidence decoding commits a first and RWS b. `confidence` and
    `rws` are the outputs, with their rewards and E_p[R | first commit].
    """

    weights: Weights
    rewards: Weights
    reward_scale: int
    eps: Fraction
    mean: Fraction
    variance: Fraction
    candidate: tuple[int, int]
    normalised_squared: Fraction
    factor_above: int
    odds_at_one: tuple[Fraction, Fraction]
    advantage: Fraction
    confidence: tuple[int, int]
    rws: tuple[int, int]
    confidence_reward: int
    rws_reward: int
    confidence_expected: Fraction
    rws_expected: Fraction

    __repr__ = one_line

    @property
    def proved(self) -> bool:
        """Whether RWS provably ends with strictly less reward than confidence decoding."""
        a, b = self.odds_at_one
        return a != b and self.advantage < 1 and self.rws_reward < self.confidence_reward

    @property
    def step_proved(self) -> bool:
        """Whether RWS's first commit provably lowers E_p[R], against before and against confidence decoding's."""
        return self.proved and self.rws_expected < min(self.mean, self.confidence_expected)


def rws_less_reward_example() -> LessReward:
    """Return the smallest model on which RWS provably earns less reward than confidence decoding, from its table.

    The reward is 1 if the first token is 0. Confidence decoding secures it. RWS at s_R = 8 commits the other position
    first, which takes the expected reward from 4/7 to 1/3, and ends with reward 0. Smallest means first by positions,
    then tokens, then total weight (docs/theory.md, section 9). All is rational; the irrational factor and confidences
    are bounded by rationals (eq. (T45) and (T46)).

    >>> example = rws_less_reward_example()
    >>> example.proved, example.step_proved, example.confidence, example.rws
    (True, True, (0, 1), (1, 0))
    """
    weights, rewards = ((1, 2, 1), (2, 0, 1), (0, 0, 0)), ((1, 1, 1), (0, 0, 0), (0, 0, 0))
    reward_scale, eps = 8, Fraction(1, 100_000)
    cells = [(weight, value) for row in zip(weights, rewards, strict=True) for weight, value in zip(*row, strict=True)]
    total, mean = sum(weight for weight, _ in cells), _mean(*zip(*cells, strict=True))
    variance = _mean([weight for weight, _ in cells], [value**2 for _, value in cells]) - mean**2

    columns = tuple(zip(*weights, strict=True))
    rows_then_columns = ([sum(row) for row in weights], [sum(column) for column in columns])
    first, second = (_largest(marginal) for marginal in rows_then_columns)
    odds = tuple(Fraction(total - max(marginal), max(marginal)) for marginal in rows_then_columns)
    squared = (rewards[first][second] - mean) ** 2 / variance
    rho = Fraction(isqrt(squared.numerator * 10**12 // squared.denominator), 10**6)
    least = reward_scale**2 * ((1 + rho) / (2 + rho) + eps)  # c^2 is at least this: docs/theory.md, eq. (T45)
    factor_above = isqrt(least.numerator // least.denominator)
    a, b = (0, 1) if odds[0] < odds[1] else (1, 0)
    advantage = _advantage(rows_then_columns[a], rows_then_columns[b], factor_above)

    # Committing position 1 first leaves a row of the table, position 2 first a column.
    by_row = ((first, _largest(weights[first])), _mean(weights[first], rewards[first]))
    by_column = ((_largest(columns[second]), second), _mean(columns[second], [row[second] for row in rewards]))
    (confidence, confidence_expected), (other, other_expected) = (by_row, by_column)[a], (by_row, by_column)[b]
    return LessReward(
        weights=weights,
        rewards=rewards,
        reward_scale=reward_scale,
        eps=Exact(eps),
        mean=Exact(mean),
        variance=Exact(variance),
        candidate=(first, second),
        normalised_squared=Exact(squared),
        factor_above=factor_above,
        odds_at_one=(Exact(odds[0]), Exact(odds[1])),
        advantage=Exact(advantage),
        confidence=confidence,
        rws=other,
        confidence_reward=rewards[confidence[0]][confidence[1]],
        rws_reward=rewards[other[0]][other[1]],
        confidence_expected=Exact(confidence_expected),
        rws_expected=Exact(other_expected),
    )


def _advantage(a: list[int], b: list[int], c: int) -> Fraction:
    """Return sum_k (y_k / x)^c, the bound of docs/theory.md, eq. (T46), on F_b / F_a.

    Where its premise fails the answer is 1, which proves nothing.
    """
    x, *_ = sorted((Fraction(weight, max(a)) for weight in a), reverse=True)[1:]
    ratios = sorted((Fraction(weight, max(b)) for weight in b), reverse=True)[1:]
    if ratios[0] > x:
        return Fraction(1)
    return sum(((y / x) ** c for y in ratios), Fraction(0))


def _mean(weights: Sequence[int], rewards: Sequence[int]) -> Fraction:
    return Fraction(sum(w * value for w, value in zip(weights, rewards, strict=True)), sum(weights))


def _largest(values: Sequence[int]) -> int:
    return max(range(len(values)), key=values.__getitem__)
