"""Tree search by the reward: positions drawn, their best tokens tried, the best texts kept (TReASURe)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.steering.ensemble import Ensemble
from rws_decode.steering.protocol import Choice, Copies
from rws_decode.steering.reward_lookahead import commit_first
from rws_decode.step.step import in_block
from rws_decode.strategies.numbers import number
from rws_theory.checks import whole

__all__ = ["TreeSearch"]


@dataclass(frozen=True)
class TreeSearch(Copies):
    """Keep N canvases; try the `children` best tokens at a position drawn for each, and keep the N best texts.

    TReASURe (Yu et al. 2025, 2509.23146). A child's text is its parent's greedy completion with that token, so that it
    costs a reward call and no forward: a step takes N forwards for N times `children` texts. Equal children count once;
    where they are fewer than N, the best is kept more than once, and has more positions tried. The likelier token wins
    ties. Where a step commits more positions, the most confident others go with it.

    No guarantee: the law of the answer is not the tilt, and goes further from it as N grows.

    n: N, at least 1; children: at least 1. ValueError for others.
    """

    n: int = number("canvases kept", metavar="N", usual=8, range="at least 1")
    children: int = number("tokens tried at a position", metavar="K", default=4, range="at least 1")
    name = "tree-search"
    draws = False

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("children", self.children, example="TreeSearch(8, children=4)")

    def reward_calls(self, steps: int) -> int:
        """Return the most texts of a prompt: one for each child."""
        return self.n * self.children * steps

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end; the copies stand in falling order of their text's reward."""
        best = np.zeros(len(ensemble.rngs), np.int64)
        while ensemble.unfinished:
            kept = self._kept(ensemble)
            ancestors, positions, tokens = kept.transpose(2, 0, 1)
            ensemble.resample(ancestors)
            commits = (torch.from_numpy(part.flatten()) for part in (positions, tokens))
            commit_first(ensemble, self.name, *commits)
        return Choice(best)

    def _kept(self, ensemble: Ensemble) -> NDArray[np.int64]:
        """Return copy, position and token of the children that are kept, int64 [P, N, 3], the best first."""
        seen, block = ensemble.look(), in_block(ensemble.state, ensemble.decoder.plan)
        before = ensemble.state.canvas.ids.gather(1, ensemble.state.canvas.answer)
        completed = before.index_put((seen.row, seen.position), seen.logits.argmax(dim=-1))
        children: list[dict[tuple[int, ...], tuple[int, int, int]]] = [{} for _ in ensemble.rngs]
        texts: list[list[tuple[int, ...]]] = [[] for _ in ensemble.rngs]
        for slot, prompt in enumerate(ensemble.prompt.tolist()):
            places = ((seen.row == slot) & block[slot][seen.position]).nonzero()[:, 0]
            at = places[int(ensemble.rngs[prompt].integers(len(places)))]
            position = int(seen.position[at])
            best = seen.logits[at].topk(min(self.children, seen.logits.shape[1]))
            for token in best.indices[best.values.isfinite()].tolist():
                child, text = before[slot].tolist(), completed[slot].tolist()
                child[position] = text[position] = token
                if tuple(child) not in children[prompt]:
                    children[prompt][tuple(child)] = (slot % self.n, position, token)
                    texts[prompt].append(tuple(text))
        pairs = list(dict.fromkeys((int(ensemble.rows[p]), text) for p, own in enumerate(texts) for text in own))
        raw, _ = ensemble.scorer.score([row for row, _ in pairs], [list(text) for _, text in pairs])
        values = dict(zip(pairs, raw, strict=True))
        kept = np.zeros((len(texts), self.n, 3), np.int64)
        for prompt, (own, made) in enumerate(zip(texts, children, strict=True)):
            order = np.argsort([-values[int(ensemble.rows[prompt]), text] for text in own], kind="stable")[: self.n]
            order = np.concatenate([order, np.repeat(order[:1], self.n - len(order))])
            kept[prompt] = np.array(list(made.values()))[order]
        return kept
