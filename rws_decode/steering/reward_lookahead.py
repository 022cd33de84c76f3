"""Reward lookahead: try several commits, complete each, and take the one whose completed text has the best reward."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rws_decode.steering.ensemble import Ensemble
from rws_decode.steering.protocol import Choice
from rws_decode.step.completion import Candidates, TokenSampler, greedy
from rws_decode.step.step import in_block
from rws_decode.strategies.numbers import check_numbers, finite_or_infinite, number
from rws_decode.strategies.protocol import MaskedPositions

__all__ = ["RewardLookahead"]


@dataclass(frozen=True)
class RewardLookahead:
    """Try the `width` most likely commits of a step, complete each greedily after it, and take the best of them.

    A commit is a token at a position of the block, ranked by log p; where a step has more positions, the most confident
    others go with it. Commits are compared by log p + beta V, V the raw reward of the greedy completion by a forward
    after the commit; beta = inf compares rewards alone, the likelier commit winning ties. Width 1 is confidence
    decoding. Nothing is drawn.

    width: at least 1; beta: per unit of the raw reward. ValueError for others.
    """

    width: int = number("commits tried in a step", metavar="N", usual=8, least=1, example="RewardLookahead(8)")
    beta: float = number("weight of the raw reward", metavar="B", default=math.inf, check=finite_or_infinite)
    name = "reward-lookahead"
    draws = False
    orders = False
    __post_init__ = check_numbers

    @property
    def copies(self) -> int:
        """How many commits a step tries."""
        return self.width

    def forwards(self, steps: int) -> int:
        """Return the most forwards of a prompt: the chosen commit's logits are those of the next step."""
        return 1 + self.width * (steps - 1)

    def reward_calls(self, steps: int) -> int:
        """Return the most texts of a prompt: one for each commit that is tried."""
        return self.width * steps

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end, all copies from one state in each step."""
        while ensemble.unfinished:
            log_p, position, token = self._commits(ensemble)
            commit_first(ensemble, self.name, position.flatten(), token.flatten())
            values = ensemble.values()
            score = values if math.isinf(self.beta) else log_p.cpu().numpy() + self.beta * values
            ensemble.resample(np.repeat(score.argmax(axis=1)[:, None], self.width, axis=1))
        return Choice(np.zeros(len(ensemble.rngs), np.int64))

    def _commits(self, ensemble: Ensemble) -> tuple[Tensor, Tensor, Tensor]:
        """Return log p, position and token of a prompt's likeliest commits, [P, width]; the best again if few."""
        seen, block = ensemble.look(), in_block(ensemble.state, ensemble.decoder.plan)
        commits = []
        for prompt in range(len(ensemble.rngs)):
            slot = prompt * self.width
            at = (seen.row == slot) & block[slot][seen.position]
            log_p = seen.logits[at].double().log_softmax(dim=-1)
            top = log_p.flatten().topk(min(self.width, log_p.numel()))
            likely = torch.where(top.values.isfinite(), top.indices, top.indices[0])
            likely = torch.cat([likely, likely[:1].expand(self.width - len(likely))])
            commits.append(
                (log_p.flatten()[likely], seen.position[at][likely // log_p.shape[1]], likely % log_p.shape[1])
            )
        log_p, position, token = (torch.stack(part) for part in zip(*commits, strict=True))
        return log_p, position, token


def commit_first(ensemble: Ensemble, name: str, position: Tensor, token: Tensor) -> None:
    """Run a step that commits a token at a position of each copy, int64 [slots]; others go by confidence.

    name: of the method, which is its own base in the trace.
    """
    position, token = position.to(ensemble.state.masked.device), token.to(ensemble.state.masked.device)
    sampler = FirstToken(ensemble, position, token)
    ensemble.decoder = replace(ensemble.decoder, strategy=FirstCommit(position, name), sampler=sampler)
    ensemble.step()


@dataclass(frozen=True, eq=False)
class FirstCommit:
    """One position of each row first, the others by confidence. position: int64 [rows]."""

    position: Tensor
    name: str
    needs_reward = False

    def order(self, view: MaskedPositions) -> Tensor:
        """Return the log-odds, inf at the row's own position, float64 [N]."""
        return torch.where(view.position == self.position[view.row], torch.inf, view.log_odds)


class FirstToken(TokenSampler):
    """A given token at one position of each row, the best ones elsewhere. position, token: int64 [rows]."""

    def __init__(self, ensemble: Ensemble, position: Tensor, token: Tensor) -> None:
        super().__init__(0.0, 0, len(position))
        self._ensemble, self._position, self._given = ensemble, position, token

    def draw(self, logits: Tensor, row: Tensor) -> Candidates:
        """Return a token for each position. logits: [N, V]; row: int64 [N]."""
        best = greedy(logits)
        own = self._ensemble.look().position == self._position[row]
        return best._replace(token=torch.where(own, self._given[row], best.token))
