"""Win rates of the first texts: over both orders, and in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from paper_figures.judging.verdicts import Comparison, Outcome
from paper_figures.statistics.metrics import Interval, bootstrap_interval, share_interval

__all__ = ["JudgeRates", "Tally", "judge_rates"]

_POINTS = {"win": 1.0, "draw": 0.5, "loss": 0.0}


@dataclass(frozen=True)
class Tally:
    """Wins, draws and losses of the first texts, what was invalid, and W / (W + D + L) with Wilson's interval.

    win: None where nothing was valid. Invalid ones are in no rate.
    """

    wins: int
    draws: int
    losses: int
    invalid: int
    win: Interval | None


@dataclass(frozen=True)
class JudgeRates:
    """What comparisons come to, for the first text of each pair.

    both: over both orders, a disagreement being a draw. forward, backward: the first text shown as answer 1, as answer
    2, over the same comparisons, those valid in both orders (their `invalid` counts that order alone). score:
    (W + D/2) / N with a bootstrap interval over comparisons; it equals the mean of the two orders' (W + D/2) / N, and
    thus the average of both orders that the paper prints, draws counted half. identical: pairs of the same text,
    draws without a question. agreement: the share of valid asked comparisons whose orders agree. first_chosen: how
    often answer 1 was the better one in them, 0.5 for a judge whom the order does not sway. None where there are none.
    """

    both: Tally
    score: Interval | None
    forward: Tally
    backward: Tally
    identical: int
    agreement: float | None
    first_chosen: float | None


def judge_rates(comparisons: Sequence[Comparison], rng: np.random.Generator, level: float = 0.95) -> JudgeRates:
    """Return the rates of comparisons; an invalid one is counted and left out of all rates.

    rng: of the bootstrap. Intervals take comparisons as independent draws of prompts. ValueError for a bad level.

    >>> from paper_figures.judging import Verdict
    >>> one, two = (Verdict(choice, choice, "judge", 1, 9, 1, 0.1, False) for choice in ("1", "2"))
    >>> found = judge_rates([Comparison(one, two), Comparison(one, one)], np.random.default_rng(0))
    >>> (found.both.wins, found.both.draws), found.score.mean, found.forward.win.mean, found.backward.win.mean
    ((1, 1), 0.75, 1.0, 0.5)
    """
    valid = [comparison for comparison in comparisons if comparison.outcome != "invalid"]
    asked = [comparison for comparison in valid if comparison.forward.choice != "tie"]
    points = [_POINTS[comparison.outcome] for comparison in valid]

    def tally(outcome: Callable[[Comparison], Outcome]) -> Tally:
        said = [outcome(comparison) for comparison in valid]
        invalid = sum(outcome(comparison) == "invalid" for comparison in comparisons)
        win = share_interval(said.count("win"), len(said), level) if said else None
        return Tally(said.count("win"), said.count("draw"), said.count("loss"), invalid, win)

    firsts = [verdict.choice == "1" for held in asked for verdict in (held.forward, held.backward)]
    agree = [held.forward_outcome == held.backward_outcome for held in asked]
    return JudgeRates(
        tally(lambda held: held.outcome),
        bootstrap_interval(points, rng, level) if points else None,
        tally(lambda held: held.forward_outcome),
        tally(lambda held: held.backward_outcome),
        len(valid) - len(asked),
        float(np.mean(agree)) if asked else None,
        float(np.mean(firsts)) if asked else None,
    )
