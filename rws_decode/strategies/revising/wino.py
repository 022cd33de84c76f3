"""WINO (Hong et al. 2025, arXiv 2507.18578): draft many tokens at a low threshold, verify them at a high one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted, least_odds
from rws_decode.strategies.numbers import number
from rws_decode.strategies.protocol import CommittedPositions, Evidence, MaskedPositions
from rws_decode.strategies.revising.rows import first_in_rows, in_rows

__all__ = ["Wino"]


@dataclass(frozen=True, repr=False)
class Wino(Counted):
    r"""Commit all positions of probability tau_1 or more; mask committed tokens of the block again below tau_2.

    A committed token is verified by its probability with the token left out and all others visible, before the step's
    own commits, for one more row of a forward each. (The paper approximates it by shadow masks within one forward.)
    Rules of the authors' code: at least one position goes, and at most 70 % of the masked ones, or 5, and never more
    than 20; a step that commits one position masks none again; and no step masks as many again as the last one
    committed, the least likely first. Where none can be masked again, none is verified. So a block ends within a step
    for each of its tokens. The last commits are not verified, as the block is done then.

    threshold: tau_1; verify: tau_2; both probabilities, under the scaled logits.

    >>> from rws_decode import Shape, decode, load_predictor
    >>> mini = load_predictor("mini")
    >>> (run,) = decode(mini, mini.prompts[0], Wino(0.05), Shape(32, 32, 32))
    >>> run.revisions > 0, run.forwards > run.steps_run
    (True, True)
    """

    threshold: float = number("the least probability of what is committed", metavar="P", usual=0.9)
    verify: float = 0.9
    name = "wino"
    evidence: ClassVar[Evidence] = "left-out"

    def __post_init__(self) -> None:
        super().__post_init__()
        least_odds(self.threshold)
        least_odds(self.verify, "verify")

    def count(self, view: MaskedPositions) -> Tensor:
        """Return how many positions of each row go, int64 [rows]."""
        passed = in_rows(view.log_odds >= least_odds(self.threshold), view.row, view.rows)
        masked = in_rows(torch.ones_like(view.row, dtype=torch.bool), view.row, view.rows)
        most = (masked * 7 // 10).clamp(min=5, max=20)
        return torch.minimum(passed.clamp(min=1), most)

    def asks_evidence(self, view: CommittedPositions) -> Tensor:
        """Return the tokens of rows of which some may be masked again, bool [M]."""
        return ((self.count(view.masked) > 1) & (self._accepted(view) > 1))[view.row]

    def revise(self, view: CommittedPositions) -> Tensor:
        """Return the tokens that fail, bool [M], fewer in a row than the last step committed."""
        odds = view.log_p - torch.log(-torch.expm1(view.log_p))
        fails = (odds < least_odds(self.verify)) & self.asks_evidence(view)
        return fails & first_in_rows(view.log_p, (self._accepted(view) - 1).clamp(min=0), view)

    def _accepted(self, view: CommittedPositions) -> Tensor:
        """Return how many positions the step before committed, int64 [rows]."""
        return in_rows(view.committed == view.step - 1, view.row, view.rows)
