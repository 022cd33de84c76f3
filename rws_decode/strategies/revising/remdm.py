"""ReMDM (Wang et al. 2025, arXiv 2503.00307): a share of the committed tokens is masked again at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from rws_decode.common.arguments import check_seeds, per_row
from rws_decode.common.later import Tensor, np, torch
from rws_decode.strategies.counted import Counted
from rws_decode.strategies.numbers import number
from rws_decode.strategies.protocol import CommittedPositions, Evidence
from rws_decode.strategies.revising.rows import first_in_rows, in_rows
from rws_theory.checks import finite, one_of

__all__ = ["Form", "ReMDM"]

Form = Literal["cap", "rescale", "confidence"]


@dataclass(frozen=True, repr=False)
class ReMDM(Counted):
    r"""Each committed token of the block is masked again with probability sigma; as many more positions are committed.

    With U committed and M masked positions and k to go, a = U / (U + M) before the step and b = (U + k) / (U + M) after
    it, sigma is at most sigma_max = min(1, (1 - b) / a). form "cap": sigma = min(eta, sigma_max); "rescale":
    eta sigma_max; "confidence": eta sigma_max exp(-p_i) / sum_j exp(-p_j), p_i the probability that token i had when it
    was committed. The paper unmasks each position with probability (b - (1 - sigma) a) / (1 - a), which is k + sigma U
    of them in the mean. Here k + R go, the most confident first, R the number that is masked again: the schedule
    holds at each step, and not in the mean alone. Should R pass M - k, those of the largest draws stay.

    eta: from 0 to 1; 0 masks nothing again, and 1 is what the authors' code has with "confidence". seed: one number for
    all rows or a tuple of one per row; position p of step t goes by the p-th number of default_rng((seed, t)).random.
    (A draw within rounding of sigma is not counted among near-ties.)

    >>> from rws_decode import Shape, decode, load_predictor
    >>> never, often = (decode(load_predictor("mini"), "the cat", ReMDM(eta), Shape(8, 8, 8))[0] for eta in (0.0, 0.9))
    >>> never.revisions, often.revisions > 0, often.steps_run
    (0, True, 8)
    """

    eta: float = number("how readily committed tokens are masked again", metavar="N", usual=0.5)
    form: Form = "cap"
    seed: int | tuple[int, ...] = 0
    name = "remdm"
    evidence: ClassVar[Evidence] = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("eta", self.eta, least=0, most=1, example="0.1")
        one_of("form", self.form, get_args(Form))
        check_seeds("seed", self.seed)

    def revise(self, view: CommittedPositions) -> Tensor:
        """Return whether each token is masked again, bool [M]."""
        sigma, left = self._sigma(view)
        seeds = per_row("seed", self.seed, view.rows).tolist()
        drawn = {seed: np.random.default_rng((seed, view.step)).random(view.length) for seed in set(seeds)}
        table = torch.from_numpy(np.stack([drawn[seed] for seed in seeds]))
        uniform = table.to(view.row.device)[view.row, view.position]
        again = uniform < sigma
        least = first_in_rows(uniform.masked_fill(~again, torch.inf), left, view)
        return again & least

    def _sigma(self, view: CommittedPositions) -> tuple[Tensor, Tensor]:
        """Return sigma of each token, float64 [M], and how many tokens of a row may be masked again, int64 [rows]."""
        everywhere = torch.ones_like(view.row, dtype=torch.bool)
        committed = in_rows(everywhere, view.row, view.rows)
        left = in_rows(torch.ones_like(view.masked.row, dtype=torch.bool), view.masked.row, view.rows) - view.commits
        left = left.clamp(min=0)
        most = (left.double() / committed.clamp(min=1)).clamp(max=1)[view.row]
        if self.form == "cap":
            return most.clamp(max=self.eta), left
        if self.form == "rescale":
            return self.eta * most, left
        share = torch.exp(-view.log_p_committed.exp())
        total = torch.zeros(view.rows, dtype=torch.float64, device=share.device).index_add(0, view.row, share)
        return self.eta * most * share / total[view.row], left
