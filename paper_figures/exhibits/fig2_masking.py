"""Figure 2: the forward process masks an answer at random; the reverse process fills it by confidence.

Shows: a held-out answer with more and more tokens masked, sampled from q(x_t | x_0); and the model's own answer to the
same prompt, unmasked step by step by confidence decoding. Figure 3 has the confidences of a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper_figures.data.examples import examples_of
from paper_figures.exhibits.shared.exhibit import Exhibit, Picture, figure
from paper_figures.exhibits.shared.traces import (
    FRESH,
    HEIGHT,
    MASKED,
    SHOWN,
    CommitOrders,
    commit_orders,
    flow,
    lines_height,
    paint,
    sheet_axes,
)

NEEDS: tuple[str, ...] = ("commit-order",)
_SHOWN = 32  # tokens, the first of the answer: more do not fit on the page in words
_SEED = 0
_MARGIN, _WIDTH, _TITLE = 1.12, 6.5, 0.3  # inches: the column of labels, all of it, and a line above

Masks = Mapping[int, NDArray[np.bool_]]  # time t -> which of n words are masked


@dataclass(frozen=True, eq=False)
class Masking:
    """The words of both processes, and which are masked.

    held_out: whether the forward process masks the prompt's held-out answer, or, where the model ships none, the
    model's own.
    """

    orders: CommitOrders
    held_out: bool
    original: tuple[str, ...]
    forward: Masks
    written: tuple[str, ...]
    reverse: Masks


def compute(runs: Path) -> Masking:
    """Sample the forward masks, and read the reverse process from the first prompt's trace of confidence decoding."""
    orders = commit_orders(runs)
    trace, answer = orders.of("default"), _held_out(orders)
    original = (answer or orders.words(trace, trace.tokens[: orders.written(trace)]))[:_SHOWN]
    times = [trace.steps * quarter // 4 for quarter in range(5)]
    # As q(x_t | x_0): each token with probability t / T. One number per token serves all times, so masks are nested.
    uniform = np.random.default_rng(_SEED).uniform(size=len(original))
    forward = {t: uniform < t / trace.steps for t in times}
    commit = trace.commit_step[: min(trace.block, _SHOWN)]
    of_block = min(trace.steps_run, trace.steps * trace.block // trace.length)
    stops = sorted({max(1, of_block * quarter // 4) for quarter in range(1, 5)})
    reverse = {trace.steps - stop: (commit < 0) | (commit >= stop) for stop in stops}
    written = orders.words(trace, trace.tokens[: len(commit)])
    return Masking(orders, answer is not None, original, forward, written, reverse)


def _held_out(orders: CommitOrders) -> tuple[str, ...] | None:
    """Return the words of a prompt's held-out answer; the shipped models' texts have blanks between all words."""
    if isinstance(orders.drawn, str):  # a prompt of one's own has no answer
        return None
    try:
        answer = examples_of(orders.model)[orders.drawn].get("answer")
    except (ValueError, IndexError):  # the model ships none
        return None
    return tuple(answer.split()) if answer else None


def draw(data: Masking) -> Figure:
    """Draw the states of both processes as running text, masks hatched."""
    steps = data.orders.of("default").steps
    first = "Forward process: each token is masked with probability t / T"
    second = "Reverse process: starting from masks alone (t = T), the most confident tokens are filled in"
    parts = ((first, data.original, data.forward), (second, data.written, data.reverse))
    layouts = [flow(words, _WIDTH - _MARGIN) for _, words, _ in parts]
    each = [max(lines_height(cells), 2.4 * HEIGHT) + 0.12 for cells in layouts]
    tall = [_TITLE + len(masks) * height for (*_, masks), height in zip(parts, each, strict=True)]
    picture = figure(_WIDTH + 0.1, sum(tall) + 0.05)
    picture.set_layout_engine("none")
    top = 0.05
    for (title, words, masks), cells, height, room in zip(parts, layouts, each, tall, strict=True):
        axes = sheet_axes(picture, 0.05, top, _WIDTH, room)
        axes.text(0, 0.12, title, fontsize=9.5, va="center")
        before = np.full(len(words), masks is data.reverse)
        for row, (t, masked) in enumerate(masks.items()):
            upper = _TITLE - 0.02 + row * height
            label = f"t = {t} of {steps}\nmasked {100 * masked.mean():.0f} %"
            if masks is data.forward:
                label += f"\nexpected {100 * t / steps:.0f} %"
            axes.text(0, upper - 0.01, label, fontsize=8, va="top", linespacing=1.25)
            states = zip(masked, before, strict=True)
            looks = [MASKED if hidden else FRESH if was_hidden else SHOWN for hidden, was_hidden in states]
            paint(sheet_axes(picture, 0.05 + _MARGIN, top + upper, _WIDTH - _MARGIN, height), cells, words, looks)
            before = masked
        top += room
    return picture


def exhibit(runs: Path) -> Exhibit:
    """Return Fig. 2 from the trace of confidence decoding below `runs`."""
    data = compute(runs)
    trace = data.orders.of("default")
    source = "the held-out answer" if data.held_out else "the model's own answer, as it ships no held-out one,"
    caption = (
        f"Forward: {source} to prompt {data.orders.drawn}, “{trace.prompt_text}”, its first {len(data.original)} "
        f"tokens, masked as in q(x_t | x_0): each with probability t / T, T = {trace.steps}. One random number per "
        f"token (seed {_SEED}) makes the masks nested. Reverse: model {trace.predictor} answers the same prompt by "
        f"confidence ({trace.length} tokens, {trace.steps} steps, blocks of {trace.block}); the first "
        f"{len(data.written)} are shown. Hatched: masked. Blue: filled since the state above. The two texts differ: "
        "the model wrote the lower one. “(end)” is the end-of-text token."
    )
    alt = (
        f"Rows of words in cells. Upper rows: {len(data.forward)} states of an answer, more and more of it masked at "
        f"random places. Lower rows: {len(data.reverse)} states of a decode, less and less of it masked."
    )
    summary = (
        f"Forward, tokens are masked at random places; in reverse, the {trace.length // trace.steps} most confident "
        f"positions of the block are filled at each of {trace.steps} steps."
    )
    return Exhibit(
        "Figure 2: masking and unmasking",
        (Picture("fig2_masking", draw(data), caption, alt),),
        conclusions=(summary,),
        inputs=data.orders.inputs("default"),
    )
