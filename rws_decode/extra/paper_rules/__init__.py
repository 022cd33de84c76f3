"""Rules of other papers beside Fast-dLLM's threshold: its other rule, EB-Sampler, KLASS, DUS, and d2Cache's order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from rws_decode.common.later import Tensor, torch
from rws_decode.strategies.counted import Counted, entropies, least_odds, least_probability, ranks_in_rows
from rws_decode.strategies.factors import Confidence
from rws_decode.strategies.numbers import check_numbers, checked, number
from rws_decode.strategies.orders import Entropy
from rws_decode.strategies.protocol import Abilities, MaskedPositions


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

    parallel_factor: float = number("f of (n + 1)(1 - p_n) < f", metavar="F", usual=1.0, above=0)
    name = "parallel-factor"
    about = "as many as (n + 1)(1 - p_n) < --parallel-factor (Fast-dLLM)"
    abilities = replace(Counted.abilities, counts=True)

    def count(self, view: MaskedPositions) -> Tensor:
        rank = ranks_in_rows(view.log_odds, view.row)
        fails = ((rank + 2) * torch.sigmoid(-view.log_odds) >= self.parallel_factor).long()
        # The first that fails: no position before it, of its row, fails.
        passing = torch.zeros(view.rows, int(rank.max()) + 1 if len(rank) else 1, dtype=torch.int64, device=rank.device)
        return passing.index_put((view.row, rank), 1 - fails).cumprod(dim=1).sum(dim=1)


@dataclass(frozen=True, repr=False)
class EntropyBound(Counted):
    r"""Commit the largest set, the most confident first, with sum H(p_i) - max H(p_i) <= gamma; at least one.

    H is the entropy, in nats, of each position's distribution under the scaled logits. The bound is on the total
    correlation of the set, sum H(p_i) - H(joint), the loss of sampling its tokens independently: the joint entropy is
    at least the largest H(p_i). Public copies of the rule take the least entropy first, or the most confident. gamma:
    at least 0; with 0, more than one position is committed only if all but one are certain. (The order of equally sure
    positions that are left out is not counted among near-ties.)

    >>> z = torch.tensor([[0.0, 9.0], [0.0, 8.0], [0.0, 0.1]], dtype=torch.float64)
    >>> zero, scaled = torch.zeros(3, dtype=torch.int64), {"scale": torch.ones(3), "leeway": torch.zeros(3)}
    >>> view = MaskedPositions(0, 1, 3, zero, torch.arange(3), z, zero, log_odds=z[:, 1], **scaled)
    >>> [EntropyBound(gamma).count(view).tolist() for gamma in (0.0, 0.01, 1.0)]
    [[1], [3], [3]]
    """

    gamma: float = number(
        "nats of entropy that a step may leave open", metavar="NATS", usual=0.1, least=0, example="0.1"
    )
    name = "entropy-bound"
    about = "as many as an entropy of --gamma nats allows (EB-Sampler)"
    abilities = replace(Counted.abilities, counts=True)

    def count(self, view: MaskedPositions) -> Tensor:
        rank = ranks_in_rows(view.log_odds, view.row)
        entropy = (entropies(view.logits, view.scale) - Entropy.abilities.sensitivity * view.leeway).clamp(min=0)
        width = int(rank.max()) + 1 if len(rank) else 1
        grid = torch.full((view.rows, width), torch.inf, dtype=torch.float64, device=rank.device)
        grid = grid.index_put((view.row, rank), entropy)
        bound = grid.cumsum(dim=1) - grid.cummax(dim=1).values
        return (bound <= self.gamma).sum(dim=1)


@dataclass(frozen=True, repr=False)
class Klass(Counted):
    r"""Commit all positions of probability tau or more whose distribution moved by less than eps in the last steps.

    It moved by KL(p_t || p_{t-1}), p = softmax(c z) with the present factor c; `rest` steps in turn must stay below
    `divergence`, eps in nats. If no position is both, the most confident one is committed. The first `rest` steps of a
    decode commit one position each; a later block is compared with the steps before it, where the authors' code waits
    in each block. threshold: tau. Their code's own values are 0.9, 0.01 and 2; their scripts for LLaDA have tau from
    0.6 to 0.9 and eps from 0.01 to 0.015, with a step for each token.

    >>> z = torch.tensor([[0.0, 5.0], [0.0, 5.0]], dtype=torch.float64)
    >>> moved = torch.tensor([[0.0, 5.0], [0.0, 1.0]], dtype=torch.float64)
    >>> zero, at = torch.zeros(2, dtype=torch.float64), torch.tensor([0, 1])
    >>> view = MaskedPositions(2, 1, 2, at * 0, at, z, at * 0 + 1, log_odds=z[:, 1], scale=zero + 1, leeway=zero)
    >>> Klass(0.9).choose(view._replace(before=(z, z))), Klass(0.9).choose(view._replace(before=(z, moved)))
    (tensor([True, True]), tensor([ True, False]))
    """

    threshold: float = least_probability(usual=0.9)
    divergence: float = checked(0.01, above=0)
    rest: int = checked(2, example="2")
    name = "klass"
    about = "all of probability --threshold or more, moved < 0.01 nats in 2 steps (KLASS)"

    @property
    def abilities(self) -> Abilities:
        return replace(Counted.abilities, chooses=True, memory=self.rest)

    def choose(self, view: MaskedPositions) -> Tensor:
        """Return the positions that are confident and at rest, bool [N]; none before `rest` steps are done."""
        chosen = view.log_odds >= least_odds(self.threshold)
        if len(view.before) < self.rest:
            return torch.zeros_like(chosen)
        scale, logits = view.scale[:, None], (view.logits, *view.before)
        steps = [(each.double() * scale).log_softmax(dim=-1) for each in logits]
        for now, before in pairwise(steps):
            p = now.exp()
            moves = torch.where(p > 0, p * (now - before), 0.0)
            # Log p moves by twice the leeway, a ratio by four times: p by a factor of at most 2 sinh + 1.
            reach = 4 * view.leeway + 2 * torch.sinh(2 * view.leeway) * moves.abs().sum(dim=-1)
            chosen &= moves.sum(dim=-1) - reach < self.divergence
        return chosen


@dataclass(frozen=True, repr=False)
class CertaintyPrior(Counted):
    r"""The positions of largest P_i D_i first: D_i = sum_j K(i - j) known_j / sum_j K(i - j), K(d) = exp(-d^2 / 2 s^2).

    P_i is the confidence under the scaled logits, D_i the density of known positions around i: the committed ones; as
    many before the answer, for the prompt; and as many after it, known once the answer's last position is. sigma: s,
    positive, in tokens; a small s commits near known tokens, a large one by confidence alone. The authors' code divides
    by one sum for all positions; its order can be another if s is above a quarter of the answer.

    >>> odds, at = torch.tensor([2.0, 2.0], dtype=torch.float64), torch.tensor([1, 3])
    >>> masked = torch.tensor([[False, True, True, True]])
    >>> view = MaskedPositions(1, 1, 4, at * 0, at, masked=masked, log_odds=odds)
    >>> near, far = CertaintyPrior(1.0).order(view).tolist()
    >>> near > far
    True
    """

    sigma: float = number("how far a known word is near", metavar="TOKENS", usual=8.0, above=0)
    name = "certainty-prior"
    about = "confidence near known words, within --sigma tokens (d2Cache)"
    # A probability moves by at most 1 / 4 of its log-odds, which move by 2.
    abilities = replace(Counted.abilities, sensitivity=0.5)

    def order(self, view: MaskedPositions) -> Tensor:
        n = view.length
        known = (~view.masked).double()
        after = known[:, -1:].expand(-1, n)
        known = torch.cat([torch.ones_like(known), known, after], dim=1)  # [B, 3 n]
        place = torch.arange(3 * n, dtype=torch.float64, device=known.device)
        kernel = torch.exp(-((place[n : 2 * n, None] - place) ** 2) / (2 * self.sigma**2))  # [n, 3 n]
        density = (known @ kernel.T) / kernel.sum(dim=1)
        return torch.sigmoid(view.log_odds) * density[view.row, view.position]


@dataclass(frozen=True)
class Dilated(Confidence):
    """Commit every `stride`-th position of a block, then those between at half the distance, and so on down to 1.

    A block of 32 takes 5 steps with stride 16, half of it, as published (omerlux/DUS abd7723 generate.py, "dilated",
    base 2, nothing masked again; arXiv 2506.19037). Positions are counted from the answer's first, so blocks whose size
    the stride divides all go alike. The authors join a last group that is smaller than the one before it to that one;
    here it stays a step, which matters only where the block is no multiple of the stride.

    >>> at = torch.arange(8)
    >>> view = MaskedPositions(0, 1, 8, at * 0, at)
    >>> Dilated(4).choose(view).nonzero()[:, 0].tolist(), Dilated(4).choose(view._replace(position=at + 1)).sum().item()
    ([0, 4], 2)
    """

    stride: int = number("positions between the first commits", metavar="N", usual=16, least=1)
    name = "dus"
    about = "every --stride-th position, then those between, and so on (DUS)"
    abilities = Abilities(chooses=True)
    __post_init__ = check_numbers

    def choose(self, view: MaskedPositions) -> Tensor:
        group, stride, number_of = torch.full_like(view.position, -1), self.stride, 0
        while stride:
            group = torch.where((group < 0) & (view.position % stride == 0), number_of, group)
            stride, number_of = stride // 2, number_of + 1
        first = torch.full((view.rows,), number_of, device=group.device)
        first = first.scatter_reduce(0, view.row, group, "amin")
        return group == first[view.row]
