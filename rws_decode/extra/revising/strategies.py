"""Strategies of other papers that mask committed tokens again, or replace them: ReMDM, P2, WINO and LLaDA2.1's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from rws_decode.common.arguments import check_seeds, per_seed
from rws_decode.common.later import Tensor, np, torch
from rws_decode.strategies.counted import Counted, in_rows, least_odds, least_probability, likely, ranks_in_rows
from rws_decode.strategies.numbers import checked, number
from rws_decode.strategies.protocol import Abilities, CommittedPositions, Evidence, MaskedPositions
from rws_theory.checks import one_of


def first_in_rows(value: Tensor, count: Tensor, view: CommittedPositions) -> Tensor:
    """Return the committed positions of least value, as many as `count` says, int64 [rows]; of equals the rightmost.

    value: [M]; the answer is bool [M].
    """
    rank = ranks_in_rows(-value.flip(0), view.row.flip(0)).flip(0)  # the rightmost first
    return rank < count[view.row]


Form = Literal["cap", "rescale", "confidence"]


@dataclass(frozen=True, repr=False)
class ReMDM(Counted):
    r"""Each committed token of the block is masked again with probability sigma; as many more positions are committed.

    With U committed and M masked positions and k to go, a = U / (U + M) before the step and b = (U + k) / (U + M) after
    it, sigma is at most sigma_max = min(1, (1 - b) / a). form "cap": sigma = min(eta, sigma_max); "rescale":
    eta sigma_max; "confidence": eta sigma_max exp(-p_i) / sum_j exp(-p_j), p_i the probability that token i had when it
    was committed. The paper unmasks each position with probability (b - (1 - sigma) a) / (1 - a), which is k + sigma U
    of them in the mean. Here k + R are committed, the most confident first, R the number that is masked again: the
    schedule holds at each step, and not in the mean alone. If R exceeds M - k, tokens of the largest numbers stay.

    eta: from 0 to 1; 0 masks nothing again, and 1 is that of the authors' code with "confidence". seed: one number for
    all rows or a tuple of one per row; position p of step t uses the p-th number of default_rng((seed, t)).random. (A
    number within rounding of sigma is not counted among near-ties.)

    >>> from rws_decode import Shape, decode, load_predictor
    >>> never, often = (decode(load_predictor("mini"), "the cat", ReMDM(eta), Shape(8, 8, 8))[0] for eta in (0.0, 0.9))
    >>> never.revisions, often.revisions > 0, often.steps_run
    (0, True, 8)
    """

    eta: float = number(
        "how readily committed tokens are masked again", metavar="N", usual=0.5, least=0, most=1, example="0.1"
    )
    form: Form = checked("cap", one_of, choices=get_args(Form))
    seed: int | tuple[int, ...] = checked(0, check_seeds)
    name = "remdm"
    about = "confidence; masks tokens again with probability --eta or less (ReMDM)"
    abilities = replace(Counted.abilities, revises="none")

    def revise(self, view: CommittedPositions) -> Tensor:
        sigma, limit = self._sigma(view)
        table = per_seed(
            self.seed, view.rows, lambda seed: np.random.default_rng((seed, view.step)).random(view.length)
        )
        uniform = torch.from_numpy(table).to(view.row.device)[view.row, view.position]
        again = uniform < sigma
        least = first_in_rows(uniform.masked_fill(~again, torch.inf), limit, view)
        return again & least

    def _sigma(self, view: CommittedPositions) -> tuple[Tensor, Tensor]:
        """Return sigma of each token, float64 [M], and how many tokens of a row may be masked again, int64 [rows]."""
        committed = view.row.bincount(minlength=view.rows)
        limit = (view.masked.row.bincount(minlength=view.rows) - view.commits).clamp(min=0)
        most = (limit.double() / committed.clamp(min=1)).clamp(max=1)[view.row]
        if self.form == "cap":
            return most.clamp(max=self.eta), limit
        if self.form == "rescale":
            return self.eta * most, limit
        share = torch.exp(-view.log_p_committed.exp())
        total = torch.zeros(view.rows, dtype=torch.float64, device=share.device).index_add(0, view.row, share)
        return self.eta * most * share / total[view.row], limit


@dataclass(frozen=True, repr=False)
class P2(Counted):
    r"""Keep the positions of largest score in the block, committed ones and candidates alike; mask the others.

    The score is log p of the candidate at a masked position, and eta log p of the token at a committed one, both under
    the scaled logits: self-planning. Of U committed positions and k to go, U + k stand after the step. eta: at least 0;
    at 0 no token is masked again, and the larger it is, the more are. Of equal scores a committed token stays.

    evidence: of log p of a committed token. "visible", the paper's: the logits at its position, which see it; an exact
    model gives 0 nats there, so that nothing is masked again. (The authors' code uses the most likely token of such a
    position, not the committed one.) "left-out": with the token masked, by one more row of a forward for each committed
    token and step.

    >>> from rws_decode import Shape, decode, load_predictor
    >>> runs = [decode(load_predictor("mini"), "the cat", P2(eta), Shape(8, 8, 8))[0] for eta in (0.0, 4.0)]
    >>> runs[0].revisions, runs[1].revisions > 0, runs[1].forwards
    (0, True, 8)
    """

    eta: float = number("how readily committed tokens are masked again", metavar="N", usual=0.5, least=0, example="1.0")
    evidence: Evidence = checked("visible", one_of, choices=get_args(Evidence)[1:])
    name = "p2"
    about = "the best of committed and masked stay, log p of the first times --eta (P2)"

    @property
    def abilities(self) -> Abilities:
        return replace(Counted.abilities, revises=self.evidence)

    def revise(self, view: CommittedPositions) -> Tensor:
        """Return the committed tokens that are not among the U + k of largest score of their row, bool [M]."""
        scores = self.eta * view.log_p if self.eta else torch.zeros_like(view.log_p)
        waiting = torch.nn.functional.logsigmoid(view.masked.log_odds)
        again = torch.zeros_like(view.row, dtype=torch.bool)
        stay = in_rows(~again, view.row, view.rows) + view.commits
        for row in view.row.unique().tolist():
            committed, masked = scores[view.row == row], waiting[view.masked.row == row]
            # A stable sort, committed tokens first: they are ahead of candidates of the same score.
            order = torch.cat([committed, masked]).argsort(descending=True, stable=True)
            lost = int((order[int(stay[row]) :] < len(committed)).sum())
            count = torch.zeros(view.rows, dtype=torch.int64, device=again.device)
            count[row] = lost
            again |= first_in_rows(scores, count, view)
        return again


@dataclass(frozen=True, repr=False)
class Wino(Counted):
    r"""Commit all positions of probability tau_1 or more; mask committed tokens of the block again below tau_2.

    A committed token is verified by its probability with the token left out and all others visible, before the step's
    own commits, for one more row of a forward each. (The paper approximates it by shadow masks within one forward.)
    Rules of the authors' code: at least one position is committed, and at most 70 % of the masked ones, or 5, and never
    more than 20; a step that commits one position masks none again; no step masks as many again as the last one
    committed, the least likely first. Tokens that cannot be masked again are not verified, nor are a block's last
    commits. So a block takes at most a step for each token. threshold: tau_1; verify: tau_2; both probabilities, under
    the scaled logits.

    >>> from rws_decode import Shape, decode, load_predictor
    >>> mini = load_predictor("mini")
    >>> (run,) = decode(mini, mini.prompts[0], Wino(0.05), Shape(16, 16, 16))
    >>> run.revisions > 0, run.forwards > run.steps_run
    (True, True)
    """

    threshold: float = least_probability(usual=0.9)
    verify: float = checked(0.9, above=0, below=1, example="0.9")
    name = "wino"
    about = "all of probability --threshold or more; doubtful ones go again (WINO)"
    abilities = replace(Counted.abilities, counts=True, revises="left-out", asks_evidence=True)

    def count(self, view: MaskedPositions) -> Tensor:
        passed = likely(view, self.threshold)
        most = (view.row.bincount(minlength=view.rows) * 7 // 10).clamp(min=5, max=20)
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


@dataclass(frozen=True, repr=False)
class Edit(Counted):
    r"""Commit all positions of probability tau or more, and replace the block's tokens by surer ones.

    A committed token is replaced by the best one at its position, or the sampled one, if that is another and has more
    than `edit` of the probability, by logits that see all tokens. (So an exact model, where a visible token is certain,
    replaces none.) A block without masks takes at most `after` more forwards, and is done with the first that replaces
    nothing (github.com/ZHZisZZ/dllm, pipelines/llada21/sampler.py).

    edit: from 0 to 1; at 1 nothing is replaced, and a full block still takes a forward. threshold: tau, as of
    `Threshold`. A factor scales both probabilities: RWS changes when positions are committed, and which tokens are
    replaced. The factor of the step that fills a block holds for its further forwards, which ask no reward.

    >>> from rws_decode import Shape, decode, load_predictor
    >>> mini = load_predictor("mini")
    >>> (run,) = decode(mini, mini.prompts[0], Edit(0.5, threshold=0.2), Shape(32, 32, 32))
    >>> run.revisions > 0, run.forwards > run.steps_run
    (True, True)
    """

    edit: float = number(
        "the probability above which a token replaces another", metavar="P", default=0.9, least=0, most=1, example="0.9"
    )
    threshold: float = least_probability(default=0.95)
    after: int = checked(16, least=0, example="16")
    name = "edit"
    about = "all of --threshold or more; tokens give way above --edit (LLaDA2.1)"

    @property
    def abilities(self) -> Abilities:
        return replace(Counted.abilities, counts=True, edits=self.after)

    def count(self, view: MaskedPositions) -> Tensor:
        return likely(view, self.threshold)

    def edits(self, log_odds: Tensor) -> Tensor:
        return torch.sigmoid(log_odds) > self.edit
