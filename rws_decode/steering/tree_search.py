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

__all__ = ["TreeSearch"]

Text = tuple[int, ...]


@dataclass(frozen=True)
class TreeSearch(Copies):
    """Keep N canvases; try the `children` best tokens at a position drawn for each, and keep the N best texts.

    TReASURe (Yu et al. 2025, 2509.23146). A child's text is its parent's greedy completion with that token, so that it
    costs a reward call and no forward: a step takes N forwards for N times `children` texts. Equal children count once;
    where they are fewer than N, the best is kept more than once, and has more positions tried. The likelier token wins
    ties. Where a step commits more positions, the most confident others go with it.

    No guarantee: the law of the answer is not the tilt, whatever N.

    n: N, at least 1; children: at least 1. ValueError for others.
    """

    n: int = number("canvases kept", metavar="N", usual=8, least=1)
    children: int = number(
        "tokens tried at a position", metavar="K", default=4, least=1, example="TreeSearch(8, children=4)"
    )
    name = "tree-search"
    draws = False

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
        children: list[dict[Text, tuple[tuple[int, int, int], Text]]] = [{} for _ in ensemble.rngs]
        for slot, prompt in enumerate(ensemble.prompt.tolist()):
            places = ((seen.row == slot) & block[slot][seen.position]).nonzero()[:, 0]
            at = places[int(ensemble.rngs[prompt].integers(len(places)))]
            position = int(seen.position[at])
            best = seen.logits[at].topk(min(self.children, seen.logits.shape[1]))
            for token in best.indices[best.values.isfinite()].tolist():
                child, text = before[slot].tolist(), completed[slot].tolist()
                child[position] = text[position] = token
                children[prompt].setdefault(tuple(child), ((slot % self.n, position, token), tuple(text)))
        made = list(zip(ensemble.rows.tolist(), children, strict=True))
        pairs = list(dict.fromkeys((row, text) for row, own in made for _, text in own.values()))
        raw, _ = ensemble.scorer.score([row for row, _ in pairs], [list(text) for _, text in pairs])
        values = dict(zip(pairs, raw, strict=True))
        kept = []
        for row, own in made:
            ranked = sorted(own.values(), key=lambda child, row=row: -values[row, child[1]])[: self.n]
            kept.append([commit for commit, _ in ranked + ranked[:1] * (self.n - len(ranked))])
        return np.array(kept, np.int64)
