"""Win rates of the first texts: over both orders, and in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from paper_figures.extra.judging.verdicts import Outcome, PairVerdict
from paper_figures.statistics.intervals import Interval, bootstrap_interval, share_interval

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
    """Rates over judged pairs, for the first text of each.

    both: over both orders; orders that disagree are a draw. forward, backward: the first text shown as answer 1, as
    answer 2, over the same pairs, those valid in both orders (their `invalid` counts that order alone). score:
    (W + D/2) / N with a bootstrap interval over pairs. It equals the mean of the two orders' (W + D/2) / N, which is
    the average over orders that the paper prints, with draws counted half. identical: pairs of the same text, draws
    without a question. agreement: the share of valid asked pairs whose orders agree. first_chosen: how often answer 1
    was the better one in them; 0.5 for a judge that the order does not sway. None where there are none.
    """

    both: Tally
    score: Interval | None
    forward: Tally
    backward: Tally
    identical: int
    agreement: float | None
    first_chosen: float | None


def judge_rates(pairs: Sequence[PairVerdict], rng: np.random.Generator) -> JudgeRates:
    """Return the rates of judged pairs; an invalid one is counted and left out of all rates.

    rng: of the bootstrap. Intervals take pairs as independent samples of prompts.

    >>> from paper_figures.extra.judging import Verdict
    >>> one, two = (Verdict(choice, choice, "judge", 1, 9, 1, 0.1, False) for choice in ("1", "2"))
    >>> rates = judge_rates([PairVerdict(one, two), PairVerdict(one, one)], np.random.default_rng(0))
    >>> (rates.both.wins, rates.both.draws), rates.score.mean, rates.forward.win.mean, rates.backward.win.mean
    ((1, 1), 0.75, 1.0, 0.5)
    """
    valid = [pair for pair in pairs if pair.outcome != "invalid"]
    decided = [pair for pair in valid if pair.forward.choice != "tie"]
    points = [_POINTS[pair.outcome] for pair in valid]

    def tally(outcome: Callable[[PairVerdict], Outcome]) -> Tally:
        outcomes = [outcome(pair) for pair in valid]
        invalid = sum(outcome(pair) == "invalid" for pair in pairs)
        win = share_interval(outcomes.count("win"), len(outcomes)) if outcomes else None
        return Tally(outcomes.count("win"), outcomes.count("draw"), outcomes.count("loss"), invalid, win)

    firsts = [verdict.choice == "1" for pair in decided for verdict in (pair.forward, pair.backward)]
    agree = [pair.forward_outcome == pair.backward_outcome for pair in decided]
    return JudgeRates(
        tally(lambda pair: pair.outcome),
        bootstrap_interval(points, rng) if points else None,
        tally(lambda pair: pair.forward_outcome),
        tally(lambda pair: pair.backward_outcome),
        len(valid) - len(decided),
        float(np.mean(agree)) if decided else None,
        float(np.mean(firsts)) if decided else None,
    )
