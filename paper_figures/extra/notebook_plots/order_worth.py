"""What an order costs: exact divergences of three orders in a small chain, and in the recorded study. Notebook 11."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

import rws_decode
from paper_figures.exhibits.shared.exhibit import figure, styled
from paper_figures.recorded import FOLDERS, read_recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.statistics.leaks import mean_of, sampler_values
from rws_decode import Shape
from rws_decode.common.page import Page
from rws_decode.common.palette import LOOKS
from rws_decode.extra.pages.case_pages import OrdersCase, orders_page
from rws_decode.extra.spacing import Spacing, with_spacing
from rws_decode.predictors import CallablePredictor
from rws_decode.strategies.factors import Confidence
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.worlds.markov import MarkovChain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

LENGTH = 8
WORDS, DISTANCES = (1, 2, 3, 4), (1, 2, 3)
MEMORIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TEXTS = np.array(list(product((0, 1), repeat=LENGTH)))
_COMMON = np.array([0.7, 0.3])
_WORLD = "english:era"
# The text and the random order, among all, whose steps the page shows.
SHOWN = int("00110001", 2)
_EXAMPLE = 12_345


def chain(memory: float) -> MarkovChain:
    """Return the chain after a prompt that ends in a: each word is the last one with probability `memory`, else new.

    A new word is a, 0, with probability 0.7, and b, 1, with 0.3.
    """
    rows = (1 - memory) * np.tile(_COMMON, (2, 1)) + memory * np.eye(2)
    return MarkovChain(np.log(rows[0]), np.log(rows))


def beliefs(memory: float, canvas: NDArray[np.int64]) -> Floats:
    """Return p(x_i = v | revealed) of canvases [B, 8] with 2 where masked, [B, 8, 2]: sums of p over the 256 texts.

    They are rounded to 12 digits, so that positions that are equally sure by symmetry are equal.
    """
    p = np.exp(chain(memory).table(LENGTH).log_p.ravel())
    allowed = ((canvas[:, None] == TEXTS) | (canvas[:, None] == 2)).all(axis=-1) * p
    sums = allowed @ np.eye(2)[TEXTS].reshape(len(TEXTS), -1)
    return (sums / allowed.sum(axis=1, keepdims=True)).round(12).reshape(-1, LENGTH, 2)


def predictor_of(memory: float) -> CallablePredictor:
    """Return the exact predictor of a chain's texts of eight words, whose ids are 0 and 1."""

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        closed = np.pad(beliefs(memory, canvas.numpy()), ((0, 0), (0, 0), (0, 1)))  # the mask is no word
        with np.errstate(divide="ignore"):
            return torch.from_numpy(np.log(closed))

    return CallablePredictor(logits, mask_id=2, vocab_size=3, max_length=LENGTH, encode=lambda text: [], name="chain")


def shape_of(words: int) -> Shape:
    """Return the shape of eight words with so many a step; where they do not divide 8, later steps have fewer."""
    return Shape(LENGTH, -(-LENGTH // words), LENGTH)


def laws(memory: float, words: int, strategies: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the sum of q over all 256 texts, and KL(p || q) in nats, of strategies that sample no positions."""
    log_p, predictor = chain(memory).table(LENGTH).log_p.ravel(), predictor_of(memory)
    log_q = [
        rws_decode.strategy_log_prob(predictor, [[]], TEXTS, each, shape_of(words)).log_prob for each in strategies
    ]
    each = zip(strategies, log_q, strict=True)
    return {name: (float(np.exp(q).sum()), float(np.exp(log_p) @ (log_p - q))) for name, q in each}


Commits = Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]


def commits_of(values: Callable[[NDArray[np.bool_]], Floats], rows: int, words: int, distance: int) -> Commits:
    """Yield what is masked before each step and what the step commits, bool [rows, 8]: the largest of `values` first.

    values: of what is masked, [rows, 8]. A spacing is kept as by `with_spacing`; the leftmost of equals goes first.
    """
    masked, rule = np.ones((rows, LENGTH), dtype=bool), with_spacing(Confidence(), distance)
    for _, _, count in shape_of(words).plan:
        order = np.where(masked, values(masked), -np.inf)
        if isinstance(rule, Spacing):
            row, position = (torch.from_numpy(axis) for axis in masked.nonzero())
            odds, waits = torch.from_numpy(order[masked]), torch.zeros_like(row) > 0
            view = MaskedPositions(0, rows, LENGTH, row, position, log_odds=odds, commits=count, waits=waits)
            order[masked] = rule.order(view).numpy()
        chosen = np.zeros_like(masked)
        np.put_along_axis(chosen, (-order).argsort(axis=1, kind="stable")[:, :count], True, axis=1)
        yield masked, chosen
        masked = masked & ~chosen


def of_confidence(memory: float, words: int, distance: int) -> tuple[float, NDArray[np.int64]]:
    """Return KL(p || q) of confidence, nats, over all texts, and the steps at which it commits the text that is shown.

    It is what `strategy_log_prob` gives of every text, a hundred times faster.
    """
    log_p, believed = chain(memory).table(LENGTH).log_p.ravel(), np.zeros((len(TEXTS), LENGTH, 2))
    log_ratio, steps = log_p.copy(), np.zeros(LENGTH, dtype=np.int64)

    def sure(masked: NDArray[np.bool_]) -> Floats:
        believed[:] = beliefs(memory, np.where(masked, 2, TEXTS))
        return believed.max(axis=-1)

    for step, (_, chosen) in enumerate(commits_of(sure, len(TEXTS), words, distance)):
        of_words = np.take_along_axis(believed, TEXTS[..., None], axis=-1)[..., 0]
        log_ratio -= np.where(chosen, np.log(of_words), 0.0).sum(axis=1)
        steps[chosen[SHOWN]] = step
    return float(np.exp(log_p) @ log_ratio), steps


def set_entropies(memory: float) -> Floats:
    """Return the entropy of the words at each set of positions, nats, [2^8]; bit i of a set is position i."""
    p, entropies = np.exp(chain(memory).table(LENGTH).log_p), np.zeros(2**LENGTH)
    for bits in range(1, 2**LENGTH):
        marginal = p.sum(axis=tuple(i for i in range(LENGTH) if not bits >> i & 1))
        entropies[bits] = -np.sum(marginal * np.log(marginal))
    return entropies


def of_orders(ranks: NDArray[np.float64], words: int, distance: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return w with KL(p || q) = sum_A w[A] H(X_A), the mean over given orders, and the steps of the first of them.

    By (T87) a step that reveals S after R costs sum_{i in S} H(X_i | R) - H(X_S | R), and H(X_S | R) is H(X_{R, S}) -
    H(X_R). ranks: [orders, 8], the largest first.
    """
    bits, weights, steps = 1 << np.arange(LENGTH), np.zeros(2**LENGTH), np.zeros(LENGTH, dtype=np.int64)

    def add(sets: NDArray[np.int64], times: float) -> None:
        weights[:] += times / len(ranks) * np.bincount(sets, minlength=2**LENGTH)

    for step, (masked, chosen) in enumerate(commits_of(lambda _: ranks, len(ranks), words, distance)):
        before = ~masked @ bits
        for i in range(LENGTH):
            add((before | bits[i])[chosen[:, i]], 1.0)
        add(before, 1.0 - chosen[0].sum())
        add(before + chosen @ bits, -1.0)
        steps[chosen[0]] = step
    return weights, steps


@lru_cache(maxsize=1)
def divergences() -> tuple[Floats, NDArray[np.int64]]:
    """Return KL(p || q) by words a step, distance, memory and order, [4, 3, 10, 3], and commit steps of one text.

    The orders are confidence, random (the mean over all 40,320) and left to right. Steps: [4, 3, 10, 3, 8].
    """
    entropies = np.stack([set_entropies(memory) for memory in MEMORIES], axis=1)
    kl = np.zeros((len(WORDS), len(DISTANCES), len(MEMORIES), 3))
    steps = np.zeros((*kl.shape, LENGTH), dtype=np.int64)
    everything = np.array(list(permutations(range(LENGTH))), dtype=float)
    # The steps of one order are shown: an arbitrary one comes first.
    orders = np.roll(everything, -_EXAMPLE, axis=0), -np.arange(LENGTH, dtype=float)[None]
    for (row, words), (far, distance) in product(enumerate(WORDS), enumerate(DISTANCES)):
        for number, memory in enumerate(MEMORIES):
            kl[row, far, number, 0], steps[row, far, number, 0] = of_confidence(memory, words, distance)
        for place, ranks in enumerate(orders, 1):
            weights, steps[row, far, :, place] = of_orders(ranks, words, distance)
            kl[row, far, :, place] = weights @ entropies
    return kl.round(12).clip(min=0.0), steps


def drag() -> Page:
    """Return a page on which words a step, their distance and the chain's memory are dragged, and KL moves."""
    kl, steps = divergences()
    return orders_page(
        "What an order is worth, in a chain of eight words",
        "Drag the three sliders. The bars are KL(p\u00a0\u2016\u00a0q), in nats: how far the law of what a sampler "
        "writes is from the model's own law. Each word of the chain repeats the last one as often as its memory says. "
        "Else it is drawn anew: a with probability 0.7, b with 0.3. An a stands before the text. The numbers are "
        "exact: they hold all 256 texts and all 40,320 random orders.",
        OrdersCase(
            names=("confidence", "random order", "left to right"),
            words=WORDS,
            distances=DISTANCES,
            memories=MEMORIES,
            kl=kl,
            steps=steps,
            text="".join("ab"[word] for word in TEXTS[SHOWN]),
        ),
    )


def recorded_kl() -> dict[str, dict[int, Interval]]:
    """Return KL(q || p) of each sampler of the recorded study in `english` with 2 and 4 words a step, nats."""
    found: dict[str, dict[int, Interval]] = {}
    for (method, words, drawing), frame in _values().items():
        if drawing == "commit" and words > 1:
            found.setdefault(method, {})[words] = mean_of(frame["kl"].to_numpy())[0]
    return dict(sorted(found.items(), key=lambda item: item[1][2].mean))


def difference(first: str, second: str, words: int) -> tuple[Interval, float | None]:
    """Return the mean of KL(q || p) of one recorded sampler less that of another, with its 95 % interval over prompts.

    Also return the difference that a test at 5 % would have found with probability 0.8, None where all are 0.
    """
    values = _values()
    return mean_of((values[first, words, "commit"]["kl"] - values[second, words, "commit"]["kl"]).to_numpy())


@lru_cache(maxsize=1)
def _values() -> Mapping:
    record = read_recorded(FOLDERS["laws"])
    return sampler_values(record.answers, record.frontiers, _WORLD)


def draw_recorded(found: Mapping[str, Mapping[int, Interval]]) -> Figure:
    """Draw what `recorded_kl` returned, with 95 % intervals."""
    with styled():
        picture = figure(8.5, 3.8)
        axes = picture.subplots()
        for offset, words, look in zip((-0.13, 0.13), (2, 4), LOOKS, strict=False):
            means = np.array([each[words] for each in found.values()])
            rows = np.arange(len(found)) + offset
            axes.hlines(rows, means[:, 1], means[:, 2], color=look.color, linewidth=2)
            axes.plot(means[:, 0], rows, "os"[words == 4], color=look.color, label=f"{words} tokens a step")
        axes.set_yticks(range(len(found)), list(found))
        axes.invert_yaxis()
        axes.set_xlim(0, None)
        axes.set_xlabel("KL(q || p), nats a text of 16 tokens")
        axes.legend(loc="upper right")
    return picture
