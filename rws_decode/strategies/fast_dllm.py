"""Fast-dLLM (Wu et al. 2025, arXiv 2505.22618): as many positions a step as are confident enough."""

from __future__ import annotations

from dataclasses import dataclass

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted, least_odds, ranks_in_rows
from rws_decode.strategies.numbers import number
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.checks import finite

__all__ = ["ParallelFactor", "Threshold"]


@dataclass(frozen=True, repr=False)
class Threshold(Counted):
    r"""Commit all positions of probability tau or more, and the most confident one in any case.

    threshold: tau in (0, 1), of the candidate's probability under the scaled logits; compared as log-odds, so that
    positions whose probability rounds to 1 are told from tau below 1 by their margin. A larger factor commits more:
    confidence rises with the scale, so that each position passes tau at most once. [MASK] has no share in the
    probability; with `Options(ranking="topk")` it has, as in the authors' code.

    >>> rule = Threshold(0.9)
    >>> odds = torch.tensor([3.0, 1.0, 2.5], dtype=torch.float64)
    >>> rule.count(MaskedPositions(0, 1, 3, torch.zeros(3, dtype=torch.int64), torch.arange(3), log_odds=odds)).tolist()
    [2]
    """

    threshold: float = number("the least probability of what is committed", metavar="P", usual=0.9)
    name = "threshold"

    def __post_init__(self) -> None:
        super().__post_init__()
        least_odds(self.threshold)

    def count(self, view: MaskedPositions) -> Tensor:
        """Return how many positions of each row have the probability, int64 [rows]."""
        passed = (view.log_odds >= least_odds(self.threshold)).long()
        return torch.zeros(view.rows, dtype=torch.int64, device=passed.device).index_add(0, view.row, passed)


@dataclass(frozen=True, repr=False)
class ParallelFactor(Counted):
    r"""Commit the n most confident positions, n as large as (n + 1) (1 - p_n) < f allows; at least one.

    p_n is the n-th largest confidence. Theorem 1 of Fast-dLLM: where (n + 1) (1 - p_n) <= 1, the greedy choice of the
    product of the marginals is that of every joint distribution with these marginals. parallel_factor: f, positive.
    The first n that fails ends the count, as in the authors' code, which also takes the last masked position where it
    is the one that fails.

    >>> rule = ParallelFactor(1.0)
    >>> odds = torch.logit(torch.tensor([0.9, 0.8, 0.7], dtype=torch.float64))
    >>> rule.count(MaskedPositions(0, 1, 3, torch.zeros(3, dtype=torch.int64), torch.arange(3), log_odds=odds)).tolist()
    [2]
    """

    parallel_factor: float = number("f of (n + 1)(1 - p_n) < f", metavar="F", usual=1.0)
    name = "parallel-factor"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("parallel_factor", self.parallel_factor, above=0)

    def count(self, view: MaskedPositions) -> Tensor:
        """Return how many positions of each row go, int64 [rows]."""
        order, rank = ranks_in_rows(view.log_odds, view)
        fails = ((rank + 2) * torch.sigmoid(-view.log_odds[order]) >= self.parallel_factor).long()
        # The first that fails: no position before it, of its row, fails.
        seen = torch.zeros(view.rows, int(rank.max()) + 1 if len(rank) else 1, dtype=torch.int64, device=rank.device)
        seen = seen.index_put((view.row[order], rank), 1 - fails)
        return seen.cumprod(dim=1).sum(dim=1)
