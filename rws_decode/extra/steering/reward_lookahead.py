"""Searches by the reward: several commits tried in a step, completed, and the best kept (lookahead, and TReASURe)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.extra.steering.ensemble import Ensemble
from rws_decode.extra.steering.protocol import Choice, Copies
from rws_decode.step.completion import Candidates, TokenSampler, greedy
from rws_decode.step.step import in_block
from rws_decode.strategies.numbers import check_numbers, finite_or_infinite, number
from rws_decode.strategies.protocol import MaskedPositions

__all__ = ["RewardLookahead", "TreeSearch"]


@dataclass(frozen=True)
class RewardLookahead:
    """Try the `width` most likely commits of a step, complete each greedily after it, and take the best of them.

    A commit is a token at a position of the block, ranked by log p; if a step has more positions, the most confident
    others are committed too. Commits are compared by log p + beta V, V the raw reward of the greedy completion by a
    forward after the commit; beta = inf compares rewards alone, the likelier commit winning ties. Width 1 is confidence
    decoding. Nothing is sampled.
    """

    width: int = number("commits tried in a step", metavar="N", usual=8, least=1, example="RewardLookahead(8)")
    beta: float = number("weight of the raw reward", metavar="B", default=math.inf, check=finite_or_infinite)
    name = "reward-lookahead"
    about = "of N commits the one after which the text scores best"
    draws = False
    orders = False
    __post_init__ = check_numbers

    @property
    def copies(self) -> int:
        return self.width

    def forwards(self, steps: int) -> int:
        """Return the most forwards of a prompt: the chosen commit's logits are those of the next step."""
        return 1 + self.width * (steps - 1)

    def reward_calls(self, steps: int) -> int:
        """Return the most texts of a prompt: one for each commit that is tried."""
        return self.width * steps

    def run(self, ensemble: Ensemble) -> Choice:
        while ensemble.unfinished:
            log_p, position, token = self._commits(ensemble)
            commit_first(ensemble, self.name, position.flatten(), token.flatten())
            values = ensemble.values()
            score = values if math.isinf(self.beta) else log_p.cpu().numpy() + self.beta * values
            ensemble.resample(np.repeat(score.argmax(axis=1)[:, None], self.width, axis=1))
        return Choice(np.zeros(len(ensemble.rngs), np.int64))

    def _commits(self, ensemble: Ensemble) -> tuple[Tensor, Tensor, Tensor]:
        """Return log p, position and token of a prompt's likeliest commits, [P, width]; the best again if few."""
        look, block = ensemble.look(), in_block(ensemble.state, ensemble.decoder.plan)
        commits = []
        for prompt in range(len(ensemble.rngs)):
            slot = prompt * self.width
            own = (look.row == slot) & block[slot][look.position]
            log_p = look.logits[own].double().log_softmax(dim=-1)
            top = log_p.flatten().topk(min(self.width, log_p.numel()))
            likely = torch.where(top.values.isfinite(), top.indices, top.indices[0])
            likely = torch.cat([likely, likely[:1].expand(self.width - len(likely))])
            commits.append(
                (log_p.flatten()[likely], look.position[own][likely // log_p.shape[1]], likely % log_p.shape[1])
            )
        log_p, position, token = (torch.stack(part) for part in zip(*commits, strict=True))
        return log_p, position, token


def commit_first(ensemble: Ensemble, name: str, position: Tensor, token: Tensor) -> None:
    """Run a step that commits a token at a position of each copy, int64 [slots], and others by confidence.

    name: of the method, which the trace has as its own base.
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
        return torch.where(view.position == self.position[view.row], torch.inf, view.log_odds)


class FirstToken(TokenSampler):
    """A given token at one position of each row, the best ones elsewhere. position, token: int64 [rows]."""

    def __init__(self, ensemble: Ensemble, position: Tensor, token: Tensor) -> None:
        super().__init__(0.0, 0, len(position))
        self._ensemble, self._position, self._token = ensemble, position, token

    def draw(self, logits: Tensor, row: Tensor) -> Candidates:
        best = greedy(logits)
        own = self._ensemble.look().position == self._position[row]
        return best._replace(token=torch.where(own, self._token[row], best.token))


Text = tuple[int, ...]


@dataclass(frozen=True)
class TreeSearch(Copies):
    """Keep N canvases; try the `children` best tokens at a position sampled for each, and keep the N best texts.

    TReASURe (Yu et al. 2025, 2509.23146). A child's text is its parent's greedy completion with that token, so that it
    costs a reward call and no forward: a step takes N forwards for N times `children` texts. Equal children count once;
    if they are fewer than N, the best is kept more than once, and has more positions tried. The likelier token wins
    ties. If a step commits more positions, the most confident others are committed too. No guarantee: the answer's
    distribution is not p exp(beta R) / Z, whatever N.
    """

    n: int = number("canvases kept", metavar="N", usual=8, least=1)
    children: int = number(
        "tokens tried at a position", metavar="K", default=4, least=1, example="TreeSearch(8, children=4)"
    )
    name = "tree-search"
    about = "N canvases kept of their children of most reward (TReASURe)"
    draws = False

    def reward_calls(self, steps: int) -> int:
        """Return the most texts of a prompt: one for each child."""
        return self.n * self.children * steps

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end; the copies are in falling order of their text's reward."""
        best = np.zeros(len(ensemble.rngs), np.int64)
        while ensemble.unfinished:
            chosen = self._best_children(ensemble)
            ancestors, positions, tokens = chosen.transpose(2, 0, 1)
            ensemble.resample(ancestors)
            commits = (torch.from_numpy(part.flatten()) for part in (positions, tokens))
            commit_first(ensemble, self.name, *commits)
        return Choice(best)

    def _best_children(self, ensemble: Ensemble) -> NDArray[np.int64]:
        """Return copy, position and token of the N best children, int64 [P, N, 3], the best first."""
        look, block = ensemble.look(), in_block(ensemble.state, ensemble.decoder.plan)
        before = ensemble.state.canvas.ids.gather(1, ensemble.state.canvas.answer)
        completed = before.index_put((look.row, look.position), look.logits.argmax(dim=-1))
        children: list[dict[Text, tuple[tuple[int, int, int], Text]]] = [{} for _ in ensemble.rngs]
        for slot, prompt in enumerate(ensemble.prompt.tolist()):
            places = ((look.row == slot) & block[slot][look.position]).nonzero()[:, 0]
            place = places[int(ensemble.rngs[prompt].integers(len(places)))]
            position = int(look.position[place])
            best = look.logits[place].topk(min(self.children, look.logits.shape[1]))
            for token in best.indices[best.values.isfinite()].tolist():
                child, text = before[slot].tolist(), completed[slot].tolist()
                child[position] = text[position] = token
                children[prompt].setdefault(tuple(child), ((slot % self.n, position, token), tuple(text)))
        families = list(zip(ensemble.rows.tolist(), children, strict=True))
        pairs = list(dict.fromkeys((row, text) for row, own in families for _, text in own.values()))
        raw, _ = ensemble.scorer.score([row for row, _ in pairs], [list(text) for _, text in pairs])
        values = dict(zip(pairs, raw, strict=True))
        commits = []
        for row, own in families:
            ranked = sorted(own.values(), key=lambda child, row=row: -values[row, child[1]])[: self.n]
            commits.append([commit for commit, _ in ranked + ranked[:1] * (self.n - len(ranked))])
        return np.array(commits, np.int64)
