"""Strategies that choose among sets of positions by the canvas that each would leave: LookUM, Info-Gain, LoPA."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from rws_decode.common.arguments import check_seeds, per_seed
from rws_decode.common.later import Tensor, np, torch
from rws_decode.strategies.counted import (
    Counted,
    entropies,
    in_rows,
    least_odds,
    least_probability,
    near,
    ranks_in_rows,
)
from rws_decode.strategies.numbers import checked, number
from rws_decode.strategies.orders import Entropy
from rws_decode.strategies.protocol import Abilities, MaskedPositions


class Tried(NamedTuple):
    """H sets of positions that were evaluated, those of a row one after another.

    number: int64 [H], the hypothesis of its row, from 0; row: int64 [H], its prompt; chosen: bool [H, length]; left:
    float64 [H], nats, the mean entropy of the positions that it leaves masked.
    """

    number: Tensor
    row: Tensor
    chosen: Tensor
    left: Tensor


@dataclass(frozen=True, repr=False)
class Lookahead(Counted, ABC):
    """An order that tries sets of positions, each as many as the step commits, and takes the one of largest score.

    The first set holds the most confident positions, as confidence decoding takes them; `proposals` ranks the positions
    of the others, and `score` is the value of each set. Equal sets are tried once. hypotheses: sets of a row and step,
    at least 1; where all are equal, none is tried, and the order is the confidence. seed: of the proposals, one number
    or a tuple with one per row, as for `orders.RandomOrder`.

    Values of a trace: the score of the best set that holds the position; 1 less than the worst for a position in no
    set; the log-odds in a row without tries. Near-ties are those of the scores, and those at the cut of a set.
    """

    name: ClassVar[str]
    hypotheses: int = number("commits looked at in a step", metavar="N", usual=8, least=1, example="8")
    seed: int | tuple[int, ...] = checked(0, check_seeds)

    @property
    def abilities(self) -> Abilities:
        # A score holds a mean entropy afterwards, and those of two commits now at most: 7 each (orders.Entropy).
        return replace(Counted.abilities, doubts=True, hypotheses=self.hypotheses, sensitivity=21.0)

    def __post_init__(self) -> None:
        if isinstance(self.hypotheses, float) and self.hypotheses.is_integer():
            object.__setattr__(self, "hypotheses", int(self.hypotheses))
        super().__post_init__()

    @abstractmethod
    def proposals(self, view: MaskedPositions) -> Tensor:
        """Return the values that rank the positions in each hypothesis after the first, [hypotheses - 1, N]."""

    @abstractmethod
    def score(self, view: MaskedPositions, tried: Tried) -> Tensor:
        """Return the value of each set, float64 [H]; the largest of a row is taken, the first of equals."""

    def order(self, view: MaskedPositions) -> Tensor:
        """Return a value for each position, those of its row's best set the largest, float64 [N]."""
        if view.look is None:
            raise ValueError(f"view.look is None: {self.name} looks ahead, give it to decode")
        rows, row_index = view.row.unique(return_inverse=True)  # row_index: [N], among b rows
        keys = [view.log_odds, *(self.proposals(view) if self.hypotheses > 1 else ())]
        sets = torch.stack([leading(key, view, view.commits) for key in keys])  # [h, N]
        table = torch.zeros(len(sets), len(rows), view.length, dtype=torch.bool, device=row_index.device)
        table[:, row_index, view.position] = sets
        new = torch.zeros(len(sets), len(rows), dtype=torch.bool, device=row_index.device)
        for row in range(len(rows)):
            _, same = table[:, row].unique(dim=0, return_inverse=True)
            first = torch.full_like(same, len(sets)).scatter_reduce(0, same, torch.arange(len(sets)).to(same), "amin")
            new[first[: int(same.max()) + 1], row] = same.max() > 0
        which, number = new.T.nonzero(as_tuple=True)  # [H], row by row
        if not len(which):
            return view.log_odds
        chosen = table[number, which]
        score = self.score(view, Tried(number, rows[which], chosen, mean_left(view, rows[which], chosen)))
        return _values(view, row_index, sets, new, score)

    def doubts(self, low: MaskedPositions, high: MaskedPositions) -> Tensor:
        """Return the positions that rounding could put into a set that is tried, or take out of one, bool [N]."""
        ends = ([view.log_odds, *(self.proposals(view) if self.hypotheses > 1 else ())] for view in (low, high))
        doubted = [_crossing(least, most, low, low.commits) for least, most in zip(*ends, strict=True)]
        return torch.stack(doubted).any(dim=0)

    def uniform(self, view: MaskedPositions, numbers: int, columns: int, stream: int) -> Tensor:
        """Return uniform numbers in [0, 1) for each row and step, float64 [rows, numbers, columns].

        They follow from the row's seed, the step and `stream` alone, in any batch and on any device.
        """
        shape = (numbers, columns)
        table = per_seed(
            self.seed, view.rows, lambda seed: np.random.default_rng((seed, view.step, stream)).random(shape)
        )
        return torch.from_numpy(table).to(view.row.device)


def mean_left(view: MaskedPositions, row: Tensor, chosen: Tensor) -> Tensor:
    """Return the mean entropy of the positions that H hypotheses leave masked, in nats, float64 [H]."""
    assert view.look is not None
    scale = view.scale.new_ones(view.rows).index_put((view.row,), view.scale)[row]
    rest = (view.masked[row] & ~chosen).sum(dim=1).clamp(min=1)
    return view.look(row, chosen, scale).sum(dim=1) / rest


def leading(values: Tensor, view: MaskedPositions, k: int) -> Tensor:
    """Return the k first positions of each row, bool [N]: largest value, leftmost; those that wait come last."""
    place = torch.empty_like(view.row)
    place[values.argsort(descending=True, stable=True)] = torch.arange(len(place), device=place.device)
    return ranks_in_rows(-(place + len(place) * view.waits).double(), view.row) < k


def _crossing(low: Tensor, high: Tensor, view: MaskedPositions, k: int) -> Tensor:
    """Return which positions rounding could carry across the cut after the k leading ones of each row, bool [N].

    low, high: the least and greatest value of each. The cut is among the positions that wait, or among the others.
    """
    off = ((high - low) / 2).nan_to_num()  # two that are infinite are level
    middle = low + off
    return near(-middle, off, leading(middle, view, k), 2 * view.row + view.waits)


def gumbel(uniform: Tensor) -> Tensor:
    """Return -log(-log u), so that the largest of log w + gumbel is a sample in proportion to w."""
    return -torch.log(-torch.log(uniform))


def _values(view: MaskedPositions, row_index: Tensor, sets: Tensor, new: Tensor, score: Tensor) -> Tensor:
    """Return the value of each position, [N]. sets: [h, N]; new: [h, b], those tried; score: of each set."""
    table = torch.full(new.shape, -torch.inf, dtype=torch.float64, device=row_index.device)
    table.T[new.T] = score
    top, best = table.max(dim=0)
    worst = table.masked_fill(~new, torch.inf).amin(dim=0)
    value = torch.where(sets, table[:, row_index], -torch.inf).amax(dim=0)
    value = torch.where(value.isfinite(), value, worst[row_index] - 1)
    in_best = sets[best[row_index], torch.arange(len(row_index), device=row_index.device)]
    # Of equal sets the first is committed, whole: the positions of others get the next lower number of float64.
    below = torch.nextafter(top, torch.full_like(top, -torch.inf))[row_index]
    value = torch.where(in_best, top[row_index], torch.minimum(value, below))
    return torch.where(new.any(dim=0)[row_index], value, view.log_odds)


@dataclass(frozen=True, repr=False)
class LookUM(Lookahead):
    r"""Commit a set a with weight exp(-U(a) / alpha), U = mean_j H_j after a, over what is masked then.

    H_j is the entropy of position j, in nats, under the scaled logits. Path generator: the first set is the most
    confident one, the others are uniform samples from the `pool` most confident positions. Verifier: U,
    the paper's mean negative entropy. Selection: one of the sets, importance-weighted step by step (alpha > 0), or the
    best of them (0). hypotheses: the paper's paths, 2 to 3 in its experiments; each costs a forward. pool: 5 in the
    paper, and never fewer than a step commits.

    Left out: the paper's sequential Monte Carlo, which carries several canvases from step to step, its pool by a
    threshold of confidence, its verifier by confidence. The paper samples the first set too; it does not give alpha.

    >>> LookUM(2)
    LookUM(hypotheses=2, seed=0, pool=5, alpha=0.0)
    """

    pool: int = checked(5, example="5")
    alpha: float = checked(0.0, least=0, example="0.1")
    name = "lookum"
    about = "what leaves least uncertain, of --hypotheses commits looked at (LookUM)"

    def proposals(self, view: MaskedPositions) -> Tensor:
        """Return uniform numbers within the pool and -inf outside, [hypotheses - 1, N]."""
        inside = leading(view.log_odds, view, max(self.pool, view.commits))
        noise = self.uniform(view, self.hypotheses - 1, view.length, 0)[view.row, :, view.position].T
        return noise.masked_fill(~inside, -torch.inf)

    def doubts(self, low: MaskedPositions, high: MaskedPositions) -> Tensor:
        """Return the positions at the cut of the first set, or of the pool from which the others are sampled."""
        cuts = {low.commits, max(self.pool, low.commits) if self.hypotheses > 1 else low.commits}
        return torch.stack([_crossing(low.log_odds, high.log_odds, low, k) for k in cuts]).any(dim=0)

    def score(self, view: MaskedPositions, tried: Tried) -> Tensor:
        """Return minus the mean entropy left, with alpha times Gumbel noise, float64 [H]."""
        if self.alpha == 0:
            return -tried.left
        noise = gumbel(self.uniform(view, self.hypotheses, 1, 1))[tried.row, tried.number, 0]
        return self.alpha * noise - tried.left


@dataclass(frozen=True, repr=False)
class InformationGain(Lookahead):
    r"""Commit the set of largest J(a) = IG(a) - C(a): C = sum_{i in a} H_i, IG = mean H now - mean H after a.

    H_i is the entropy of position i, in nats, under the scaled logits; the means are over all masked positions of the
    answer, before and after the candidates of a are filled in. The mean now is the same for all sets and is left out.
    Each set after the first is sampled without replacement in proportion to exp(P_i / position_temperature), P_i the
    confidence. hypotheses: sets tried at a step, the paper's N (8 in its experiments); each costs a forward.

    Left out of the authors' code: the key-value cache, blocks filled at once where all positions are certain, a token
    sampled anew for each set, and the winner's forward as that of the next step, which would spare a forward a step.

    >>> InformationGain(8)
    InformationGain(hypotheses=8, seed=0, position_temperature=0.2)
    """

    position_temperature: float = checked(0.2, above=0)
    name = "information-gain"
    about = "what tells most of the rest, of --hypotheses commits looked at (Info-Gain)"

    def proposals(self, view: MaskedPositions) -> Tensor:
        """Return the confidence over the temperature plus Gumbel noise, [hypotheses - 1, N]."""
        noise = gumbel(self.uniform(view, self.hypotheses - 1, view.length, 0))
        return torch.sigmoid(view.log_odds) / self.position_temperature + noise[view.row, :, view.position].T

    def score(self, view: MaskedPositions, tried: Tried) -> Tensor:
        """Return J of each set but for the mean entropy now, float64 [H]."""
        now = torch.zeros(view.rows, view.length, dtype=torch.float64, device=view.row.device)
        now[view.row, view.position] = entropies(view.logits, view.scale)
        return -(now[tried.row] * tried.chosen).sum(dim=1) - tried.left


@dataclass(frozen=True, repr=False)
class LoPA(Counted):
    """Commit all positions of probability above tau, and one more or none: what leaves the least mean entropy.

    The branches of a step are the anchor, all positions above tau (or the one of least entropy where none is), and the
    anchor with one of the `hypotheses` - 1 positions of least entropy besides it. Each costs a forward. The branch is
    committed after which the masked positions of the answer have the least mean entropy; of equals the surest position,
    and the anchor last. These are the rule and the settings of the authors' scripts (zhijie-group/LoPA 433177a
    scale_dream_d2f.py, neg_entropy, selection_conf_alpha 0, branch_topp 1; arXiv 2512.16229), with tau 0.9 to 0.95 and
    a branching factor of 2 to 4, which as run gives 3 to 5 hypotheses. In the scripts the winner's forward is that of
    the next step, which spares one forward a step but the first, and several blocks are open at once.

    Near-ties are those at the threshold, of the entropies that make branches, and of what these leave.

    >>> LoPA(0.9)
    LoPA(threshold=0.9, hypotheses=3)
    """

    threshold: float = least_probability(usual=0.9)
    hypotheses: int = checked(3, example="3")
    name = "lopa"
    about = "all of --threshold or more, and one more looked at, or none (LoPA)"

    @property
    def abilities(self) -> Abilities:
        return replace(Counted.abilities, chooses=True, doubts=True, hypotheses=self.hypotheses)

    def choose(self, view: MaskedPositions) -> Tensor:
        """Return the positions of each row's best branch, bool [N]; those of the anchor without a look-ahead."""
        anchor, extra, branch, rest, least = self._branches(view, entropies(view.logits, view.scale))
        number_of = torch.arange(len(branch), device=rest.device).masked_fill(rest > least[branch], len(branch))
        first = torch.full((view.rows,), len(branch), device=rest.device).scatter_reduce(0, branch, number_of, "amin")
        anchor[extra[first[first < len(extra)]]] = True
        return anchor

    def doubts(self, low: MaskedPositions, high: MaskedPositions) -> Tensor:
        """Return the positions at the threshold, at the cut of the branches, and of branches that are nearly best."""
        entropy, row = entropies(high.logits, high.scale), high.row
        off = Entropy.abilities.sensitivity * high.leeway
        anchor, extra, branch, rest, least = self._branches(high, entropy)
        sure, may = (view.log_odds > least_odds(self.threshold) for view in (low, high))
        alone = (in_rows(sure, row, high.rows) == 0)[row] & near(entropy, off, anchor, row)
        others, chosen = torch.where(anchor, torch.inf, entropy), torch.zeros_like(anchor).index_fill(0, extra, True)
        doubted = (sure != may) | alone | (~anchor & near(others, off, chosen, row))
        reach = off.new_zeros(high.rows).scatter_reduce(0, row, off, "amax")
        level = rest <= (least + 2 * reach)[branch]
        level &= in_rows(level, branch, high.rows)[branch] > 1
        return doubted.index_put((extra,), doubted[extra] | level[: len(extra)])

    def _branches(self, view: MaskedPositions, entropy: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return the anchor, bool [N], the M positions besides it, and three arrays of the H branches.

        Each of the M makes a branch, and each row's anchor alone the last one. The arrays are their rows, int64 [H];
        the mean entropy that they leave, float64 [H]; the least of each row, float64 [rows].
        """
        row = view.row
        anchor = view.log_odds > least_odds(self.threshold)
        anchor |= (ranks_in_rows(-entropy, row) == 0) & (in_rows(anchor, row, view.rows) == 0)[row]
        place = ranks_in_rows(-entropy.masked_fill(anchor, torch.inf), row)
        extra = (~anchor & (place < self.hypotheses - 1)).nonzero()[:, 0]
        extra = extra[: 0 if view.look is None else None]
        extra = extra[place[extra].argsort(stable=True)]
        branch = torch.cat([row[extra], row[extra].unique()])  # a row's anchor stands last
        chosen = torch.zeros(view.rows, view.length, dtype=torch.bool, device=row.device)
        chosen = chosen.index_put((row, view.position), anchor)[branch]
        chosen[torch.arange(len(extra)), view.position[extra]] = True
        rest = mean_left(view, branch, chosen) if len(extra) else entropy[:0]
        least = torch.full((view.rows,), torch.inf, dtype=rest.dtype, device=rest.device)
        return anchor, extra, branch, rest, least.scatter_reduce(0, branch, rest, "amin")
