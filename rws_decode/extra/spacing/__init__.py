"""Keep a minimum spacing between the positions that a step commits: default+spacing:3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rws_decode.common.later import Floats, Tensor, torch
from rws_decode.strategies.counted import near, ranks_in_rows
from rws_decode.strategies.protocol import (
    Abilities,
    MaskedPositions,
    Strategy,
    abilities_of,
    asks_reward,
    check_abilities,
    doubts_of,
    factors_of,
    gives_order,
    order_of,
)
from rws_theory.checks import whole
from rws_theory.show import one_line


@dataclass(frozen=True, repr=False)
class Spaced:
    """A strategy whose commits of a step keep a minimum spacing; factor and reward are the strategy's own."""

    of: Strategy
    spacing: int
    name = "spacing"

    def __post_init__(self) -> None:
        whole("spacing", self.spacing, example="3")
        able = check_abilities(self.of)
        if able.changes or able.memory or able.hypotheses or isinstance(self.of, Spaced):
            raise ValueError(
                f"spacing is {self.spacing}: strategy {self.of.name} masks again, compares steps, looks ahead or keeps "
                "one already, use one that ranks or counts, as in default+spacing:3"
            )

    __repr__ = one_line

    @property
    def needs_reward(self) -> bool:
        return self.of.needs_reward

    def asks_reward(self, step: int) -> bool:
        return asks_reward(self.of, step)

    def factor(self, view: MaskedPositions) -> Floats:
        return factors_of(self.of, view)


@dataclass(frozen=True, repr=False)
class Spacing(Spaced):
    """The first positions in a strategy's order that are `spacing` or more from one another, as many as a step commits.

    The best position is chosen, the leftmost of equals; then the best at least `spacing` positions from all chosen
    ones; and so on. If none is as far, the best of the furthest is chosen, so that the schedule holds. Positions that
    end text wait for the others. Distances are those of positions in the answer, blocks and gaps included. 1 is no
    rule.

    of: a strategy with a factor or an order. ValueError for one that masks again, compares steps or looks ahead.
    Values of a trace: 0 for chosen positions; for others, minus the least gap to a position chosen in their place.
    Near-ties compare chosen positions with others; which chosen position excludes which is taken as exact.

    >>> from rws_decode.strategies.factors import Confidence
    >>> odds, at = torch.tensor([3.0, 2.75, 1.0, 0.5], dtype=torch.float64), torch.arange(4)
    >>> view = MaskedPositions(0, 1, 4, at * 0, at, log_odds=odds, commits=2, waits=at < 0)
    >>> Spacing(Confidence(), 3).order(view).tolist()
    [0.0, -0.25, -2.0, 0.0]
    """

    @property
    def abilities(self) -> Abilities:
        return Abilities(asks_at_steps=True, sensitivity=abilities_of(self.of).sensitivity)

    def order(self, view: MaskedPositions) -> Tensor:
        """Return 0 for the chosen positions, less for the others, float64 [N]."""
        own = order_of(self.of, view) if gives_order(self.of) else view.log_odds
        value, open_ = _grid(view, own)
        late, chosen = _grid(view, view.waits)[0], torch.zeros_like(open_)
        near, lead = torch.full_like(value, self.spacing), torch.full_like(value, -torch.inf)
        for _ in range(view.commits):
            free = open_ & ~chosen & ~late
            free = torch.where(free.any(dim=1, keepdim=True), free, open_ & ~chosen)
            far = free & (near == near.masked_fill(~free, -1.0).amax(dim=1, keepdim=True))
            pick, top = _best(value, far)
            chosen, near = chosen | pick, torch.minimum(near, _distance(pick))
            gap = (value - top).nan_to_num(nan=0.0, neginf=-torch.inf)  # two that are infinite are level
            lead = torch.where(far, torch.maximum(lead, gap), lead)
        least = torch.finfo(torch.float64).tiny  # an equal position that is not chosen ranks below
        lead = lead.clamp(max=-least).masked_fill(chosen, 0.0)
        return lead[_rows(view), view.position]


@dataclass(frozen=True, repr=False)
class SpacingChoice(Spaced):
    """Of the positions that a strategy counts or chooses, the most confident ones `spacing` or more from one another.

    A step then commits fewer positions; a block's last step commits all masks, as for every strategy that counts. of: a
    strategy that counts or chooses. ValueError as for `Spacing`.
    """

    abilities = Abilities(chooses=True, doubts=True, asks_at_steps=True)

    def choose(self, view: MaskedPositions) -> Tensor:
        (value, _), (free, _) = _grid(view, view.log_odds), _grid(view, self._wanted(view))
        chosen = torch.zeros_like(free)
        while bool(free.any()):
            pick, _ = _best(value, free)
            chosen, free = chosen | pick, free & (_distance(pick) >= self.spacing)
        return chosen[_rows(view), view.position]

    def doubts(self, low: MaskedPositions, high: MaskedPositions) -> Tensor:
        """Return the positions whose count or choice is uncertain, and those too close to an equal one, bool [N]."""
        rule: Any = self.of
        doubted, wanted = self._wanted(low) != self._wanted(high), self._wanted(high)
        if abilities_of(rule).chooses:
            doubted |= doubts_of(rule, low, high)
        else:
            off = ((high.log_odds - low.log_odds) / 2).nan_to_num()  # two that are infinite are level
            doubted |= near(-low.log_odds - off, off, wanted, low.row)
        (floor, _), (roof, _), (may, _) = (_grid(low, each) for each in (low.log_odds, high.log_odds, wanted | doubted))
        place = torch.arange(low.length, device=floor.device)
        close = ((place[:, None] - place).abs() < self.spacing) & (place[:, None] != place)
        level = (floor[:, None] <= roof[:, :, None]) & (roof[:, None] >= floor[:, :, None])
        struck = may & (close & level & may[:, None]).any(dim=2)
        return doubted | struck[_rows(low), low.position]

    def _wanted(self, view: MaskedPositions) -> Tensor:
        rule: Any = self.of
        if abilities_of(rule).chooses:
            return rule.choose(view)
        return ranks_in_rows(view.log_odds, view.row) < rule.count(view)[view.row]


def with_spacing(strategy: Strategy, positions: int) -> Strategy:
    """Return the strategy with that minimum spacing of a step's commits: itself for 1, else `Spacing`, `SpacingChoice`.

    ValueError for less than 1, and for a strategy that masks again, compares steps or looks ahead.

    >>> from rws_decode.strategies.factors import RWS
    >>> with_spacing(RWS(8.0), 3), with_spacing(RWS(8.0), 1)
    (Spacing(of=RWS(reward_scale=8.0, eps=1e-05), spacing=3), RWS(reward_scale=8.0, eps=1e-05))
    """
    if whole("spacing", positions, example="3") == 1:
        return strategy
    return (SpacingChoice if abilities_of(strategy).own_count else Spacing)(strategy, positions)


def _rows(view: MaskedPositions) -> Tensor:
    return view.row.unique_consecutive(return_inverse=True)[1]


def _grid(view: MaskedPositions, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return values of the N positions by row and position, [b, n], 0 elsewhere, and their places, bool [b, n]."""
    row = _rows(view)
    nowhere = values.new_zeros(int(row.max()) + 1 if len(row) else 0, view.length)
    places = (row, view.position)
    return nowhere.index_put(places, values), torch.zeros_like(nowhere).bool().index_put(places, values == values)


def _best(value: Tensor, among: Tensor) -> tuple[Tensor, Tensor]:
    """Return the position of largest value in each row, the leftmost of equals, bool [b, n], and that value, [b, 1]."""
    top = value.masked_fill(~among, -torch.inf).amax(dim=1, keepdim=True)
    first = (among & (value == top)).to(torch.uint8).argmax(dim=1, keepdim=True)
    return torch.zeros_like(among).scatter(1, first, among.any(dim=1, keepdim=True)), top


def _distance(pick: Tensor) -> Tensor:
    """Return the distance of each position from its row's pick, float64 [b, n], infinite if there is none."""
    place = torch.arange(pick.shape[1], dtype=torch.float64, device=pick.device)
    distance = (place - pick.to(torch.uint8).argmax(dim=1, keepdim=True)).abs()
    return distance.masked_fill(~pick.any(dim=1, keepdim=True), torch.inf)
