"""P2, path planning (Peng et al. 2025, arXiv 2502.03540): the least certain tokens are masked again, the rest stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted
from rws_decode.strategies.numbers import number
from rws_decode.strategies.protocol import CommittedPositions, Evidence
from rws_decode.strategies.revising.rows import first_in_rows, in_rows
from rws_theory.checks import finite, one_of

__all__ = ["P2"]


@dataclass(frozen=True, repr=False)
class P2(Counted):
    r"""Keep the positions of largest score in the block, committed ones and candidates alike; mask the others.

    The score is log p of the candidate at a masked position, and eta log p of the token at a committed one, both under
    the scaled logits: self-planning. Of U committed positions and k to go, U + k stand after the step. eta: at least 0;
    at 0 no token is masked again, and the larger it is, the more are. Of equal scores a committed token stays.

    evidence: what log p of a committed token is. "visible", the paper's: the logits at its position, which see it; an
    exact world gives 0 nats there, so that nothing is masked again. (The authors' code takes the most likely token of
    such a position, and not the one that stands there.) "left-out": the token masked and all others as they
    are, at the cost of a forward of one more row for each committed token and step.

    >>> from rws_decode import Shape, decode, load_predictor
    >>> runs = [decode(load_predictor("mini"), "the cat", P2(eta), Shape(16, 16, 16))[0] for eta in (0.0, 4.0)]
    >>> runs[0].revisions, runs[1].revisions > 0, runs[1].forwards
    (0, True, 16)
    """

    eta: float = number("how readily committed tokens are masked again", metavar="N", usual=0.5)
    evidence: Evidence = "visible"
    name = "p2"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("eta", self.eta, least=0, example="1.0")
        one_of("evidence", self.evidence, get_args(Evidence)[1:])

    def revise(self, view: CommittedPositions) -> Tensor:
        """Return the committed tokens that are not among the U + k of largest score of their row, bool [M]."""
        held = self.eta * view.log_p if self.eta else torch.zeros_like(view.log_p)
        waiting = torch.nn.functional.logsigmoid(view.masked.log_odds)
        again = torch.zeros_like(view.row, dtype=torch.bool)
        stay = in_rows(~again, view.row, view.rows) + view.commits
        for row in view.row.unique().tolist():
            ours, theirs = held[view.row == row], waiting[view.masked.row == row]
            # A stable sort, committed tokens first: they are ahead of candidates of the same score.
            order = torch.cat([ours, theirs]).argsort(descending=True, stable=True)
            lost = int((order[int(stay[row]) :] < len(ours)).sum())
            count = torch.zeros(view.rows, dtype=torch.int64, device=again.device)
            count[row] = lost
            again |= first_in_rows(held, count, view)
        return again
