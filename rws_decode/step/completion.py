"""What the stages of a step hand on: the completed answers, how many positions go, what was chosen, what was done."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from rws_decode.step.cached_reward import Rewards
from rws_decode.strategies.protocol import MaskedPositions


class Seats(NamedTuple):
    """How many positions of each row go, and which of them wait for the others, bool [N] or None."""

    k: int | Tensor
    waits: Tensor | None


class Commits(Protocol):
    """How many positions of each row go in a step."""

    def of(self, value: Tensor, odds: bool, scale: Tensor) -> Seats:
        """Return the numbers, and which positions wait. value: what ranks the N positions, log-odds or probabilities.

        scale: float64 [N], the factors.
        """
        ...

    def uncertain(self, low: Tensor, high: Tensor, odds: bool, scale: Tensor, error: Tensor) -> Tensor | int:
        """Return how many positions logits that are off by their error would add or take away, int64 [b].

        low, high: the least and greatest ranking value of each position; error: of its logits; [N].
        """
        ...


class Scheduled(NamedTuple):
    """As many positions of each row as the schedule says, one number or int64 [b], whatever their confidence."""

    k: int | Tensor

    def of(self, value: Tensor, odds: bool, scale: Tensor) -> Seats:
        """Return the numbers; no position waits."""
        return Seats(self.k, None)

    def uncertain(self, low: Tensor, high: Tensor, odds: bool, scale: Tensor, error: Tensor) -> int:
        """Return 0."""
        return 0


class Completion(NamedTuple):
    """Step 1's outcome for b rows: every masked position with a token, and what ranks those of the block.

    tokens, before: int64 [b, n], the answers completed, and as they were; columns: int64 [b, n], theirs in the canvas,
    which has `width`. computed: bool [b, n], positions that got a candidate; unsure: bool [b, n], where rounding could
    change it; block, deferred: bool [b, n], the block's masked positions, and those of them that wait for the others.
    view: the block's N masked positions; row: int64 [N], which of the b rows each is in; published: [N, V], the logits
    that are ranked; error: float64 [N], of the logits. commits: how many positions of a row go.
    """

    rows: Tensor
    tokens: Tensor
    before: Tensor
    columns: Tensor
    width: int
    computed: Tensor
    unsure: Tensor
    block: Tensor
    deferred: Tensor
    view: MaskedPositions
    row: Tensor
    published: Tensor
    error: Tensor
    commits: Commits

    def grid(self, values: Tensor) -> Tensor:
        """Return values of the N positions where these stand, [b, n], 0 elsewhere."""
        nowhere = torch.zeros(self.block.shape, dtype=values.dtype, device=values.device)
        return nowhere.index_put((self.row, self.view.position), values)


class Ranked(NamedTuple):
    """What confidence under some factors says of N positions.

    log_odds: float64 [N], exact at the cut; value: float64 [N], what the options rank by; k: how many positions of each
    row go; deferred: bool [b, n], those that go only once no other is left.
    """

    log_odds: Tensor
    value: Tensor
    k: int | Tensor
    deferred: Tensor


class Choice(NamedTuple):
    """What a step commits.

    completion: what was chosen from; scale: float64 [N], the factor of each position; ranked: by confidence; value:
    float64 [N], what ranks them, confidence or the strategy's own order; chosen: bool [b, n]; ties: int64 [b].
    """

    completion: Completion
    scale: Tensor
    ranked: Ranked
    value: Tensor
    chosen: Tensor
    ties: Tensor


class Done(NamedTuple):
    """What a step did to b rows. reward: None where it was not asked; factor: float64 [b]; choice: what it committed.

    The rest are what layers around the step did. masked_again: bool [b, n]; near: int64 [b], how many of these rounding
    could add or take away; forwards: int64 [b], of each row; calls: of the batch.
    """

    reward: Rewards | None
    factor: Tensor
    choice: Choice
    masked_again: Tensor
    near: Tensor
    forwards: Tensor
    calls: int = 1
