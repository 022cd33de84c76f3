"""What an order of greedy steps can reach: the best text over all orders, exactly or by a beam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from paper_figures.statistics.intervals import Interval, ratio_interval
from paper_figures.statistics.resampling import finite_arrays
from rws_decode.canvas.layout import lay_out
from rws_decode.common.threads import torch_threads
from rws_decode.job import encode_prompts
from rws_decode.predictors.base import MaskPredictor
from rws_decode.settings import Shape
from rws_decode.step.completion import greedy, masked_logits
from rws_theory.checks import whole

_MOST = 200_000  # canvases and subsets of one step
_AT_ONCE = 32  # canvases of one forward: more leave the processor's cache, and take longer


@dataclass(frozen=True, eq=False)
class OrderCeiling:
    """The best text that greedy steps can write in any order.

    value: its value; tokens: int64 [n]; commit_step: int64 [n], from 0; canvases: how many different ones were looked
    at; exact: whether no canvas was left out, so that no order reaches more. Else `value` is a lower bound of that.
    """

    value: float
    tokens: NDArray[np.int64]
    commit_step: NDArray[np.int64]
    canvases: int
    exact: bool

    def __repr__(self) -> str:
        kind = "the best of all orders" if self.exact else "a lower bound of the best"
        return f"OrderCeiling({self.value:.3f}, {kind}, {self.canvases} canvases)"


def order_ceiling(
    predictor: MaskPredictor,
    prompt: str | Sequence[int],
    value: Callable[[NDArray[np.int64]], ArrayLike],
    shape: Shape,
    *,
    beam: int | None = None,
) -> OrderCeiling:
    """Return the best text over all orders of greedy steps, max over orders o of value(text of o).

    A step commits as many positions of its block as the schedule says, each with its best word given the canvas; the
    order is free. So the canvases of step t + 1 follow from those of step t, whatever led to them: all of them are
    kept, each once. beam: keep that many of each step, those whose greedy completion has the greatest value.

    prompt: text or ids, with gaps or without. value: takes whole texts, int64 [N, n], and returns their values, [N]. Of
    equal values the text whose ids come first is taken. ValueError for gaps of another length than the shape's, and
    where a step has over 200,000 ways to go on: then a beam, or a smaller one, is needed.

    >>> from rws_decode import load_predictor
    >>> english = load_predictor("english")
    >>> ids = english.encode_prompt("peace")
    >>> def log_p(texts): return np.array([english.log_prob(ids, text) for text in texts])
    >>> order_ceiling(english, ids, log_p, Shape(4, 2, 4))
    OrderCeiling(-6.576, the best of all orders, 13 canvases)
    """
    if beam is not None:
        whole("beam", beam, 1)
    ((ids, _),) = encode_prompts(predictor, [prompt], shape.length)
    canvases = np.full((1, shape.length), predictor.mask_id)
    when = np.full(canvases.shape, -1)
    drafts, looked, exact = _completions(predictor, ids, canvases), 1, True
    for step, (start, stop, commits) in enumerate(shape.plan):
        masked = start + np.stack([np.flatnonzero(row == predictor.mask_id) for row in canvases[:, start:stop]])
        if len(masked) * comb(masked.shape[1], commits) > _MOST:
            small = "beam=16" if beam is None else f"one below {beam}"
            raise ValueError(f"beam is {beam}: step {step} has over {_MOST:,} ways to go on, give {small}")
        chosen = np.array(list(combinations(range(masked.shape[1]), commits)))
        parent = np.repeat(np.arange(len(canvases)), len(chosen))
        position = masked[:, chosen].reshape(len(parent), commits)
        canvases, when = canvases[parent], when[parent]
        row = np.arange(len(parent))[:, None]
        canvases[row, position], when[row, position] = drafts[parent][row, position], step
        canvases, first = np.unique(canvases, axis=0, return_index=True)
        when, looked = when[first], looked + len(first)
        drafts = canvases if step == len(shape.plan) - 1 else _completions(predictor, ids, canvases)
        if beam is not None and len(canvases) > beam:
            # Canvases that promise one text would crowd out others: the first of each text comes before the rest.
            texts, first, inverse = np.unique(drafts, axis=0, return_index=True, return_inverse=True)
            worth, again = np.asarray(value(texts), dtype=float)[inverse.reshape(-1)], np.ones(len(drafts), dtype=bool)
            again[first] = False
            best = np.lexsort((-worth, again))[:beam]
            canvases, when, drafts, exact = canvases[best], when[best], drafts[best], False
    values = np.asarray(value(canvases), dtype=float)
    best = int(values.argmax())
    return OrderCeiling(float(values[best]), canvases[best], when[best], looked, exact)


def _completions(predictor: MaskPredictor, ids: list[int], canvases: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return canvases with the best word at each mask, as a greedy step sees them."""
    texts = canvases.copy()
    with torch_threads(), torch.inference_mode():
        for begin in range(0, len(canvases), _AT_ONCE):
            part = torch.from_numpy(canvases[begin : begin + _AT_ONCE]).to(predictor.device)
            canvas = lay_out(predictor, [ids] * len(part), part.shape[1])
            canvas.ids.scatter_(1, canvas.answer, part)
            step = masked_logits(predictor, canvas, part == predictor.mask_id)
            row, position = begin + step.row.cpu().numpy(), step.position.cpu().numpy()
            texts[row, position] = greedy(step.logits).token.cpu().numpy()
    return texts


def share_of_room(reached: ArrayLike, start: ArrayLike, ceiling: ArrayLike, rng: np.random.Generator) -> Interval:
    """Return which share of the way from `start` to `ceiling` was gone: mean(reached - start) / mean(ceiling - start).

    All three have shape (prompts,). The interval is that of `ratio_interval` over prompts, infinite where a
    resample has no headroom. ValueError where the mean of `ceiling` is no greater than that of `start`.

    >>> start, ceiling = np.zeros(4), np.array([2.0, 1.0, 3.0, 2.0])
    >>> share_of_room(ceiling / 4, start, ceiling, np.random.default_rng(0)).mean
    0.25
    """
    arrays = finite_arrays(reached=reached, start=start, ceiling=ceiling)
    gone, room = arrays[0] - arrays[1], arrays[2] - arrays[1]
    if not room.mean() > 0:
        raise ValueError(f"ceiling has mean {arrays[2].mean():.3g} and start {arrays[1].mean():.3g}: no room is left")
    return ratio_interval(gone, room, rng) or Interval(float(gone.mean() / room.mean()), -np.inf, np.inf)
