"""Figure 2: the forward process masks an answer at random; the reverse process fills it by confidence.

Shows: a held-out answer with more and more tokens masked, as q(x_t | x_0) draws them; and the model's own answer to the
same prompt, unmasked step by step by confidence decoding. Figure 3 has the confidences of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper_figures.data.examples import examples_of
from paper_figures.exhibits.canvas_cells import (
    FRESH,
    HEIGHT,
    MASKED,
    SHOWN,
    end_of,
    flow,
    height_of,
    paint,
    sheet_axes,
    words_of,
)
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.style import figure
from paper_figures.figures import fig1_commit_order
from paper_figures.figures.fig1_commit_order import CommitOrders
from rws_decode.trace.trace import Trace

NEEDS: tuple[str, ...] = ("commit-order",)
_SHOWN = 32  # tokens, the first of the answer: more do not fit on the page in words


@dataclass(frozen=True, eq=False)
class State:
    """One canvas, its first n positions: at time `t`, which are masked and which came since the state before, [n]."""

    t: int
    masked: NDArray[np.bool_]
    fresh: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """Return the masked share of the positions."""
        return float(self.masked.mean())


@dataclass(frozen=True, eq=False)
class Masking:
    """What is drawn: words and states of both processes over `steps` times, and where they are from.

    held_out: whether the forward process masks the prompt's held-out answer, or, where the model ships none, the
    model's own. files: the traces, below the runs.
    """

    prompt: str | None
    steps: int
    seed: int
    held_out: bool
    original: tuple[str, ...]
    forward: tuple[State, ...]
    written: tuple[str, ...]
    reverse: tuple[State, ...]
    orders: CommitOrders
    files: tuple[str, ...]


def forward_masks(length: int, times: Sequence[int], steps: int, seed: int = 0) -> NDArray[np.bool_]:
    """Return which of `length` tokens are masked at each time, bool [times, length], drawn from q(x_t | x_0).

    Each token is masked with probability t / steps, independently of the others (the paper's appendix on masked
    diffusion). One uniform number per token serves all times, so that what is masked once stays masked.

    >>> forward_masks(4, (0, 2, 4), 4).sum(axis=1).tolist()[::2]
    [0, 4]
    """
    uniform = np.random.default_rng(seed).uniform(size=length)
    return uniform < np.array(times)[:, None] / steps


def compute(runs: Path, seed: int = 0) -> Masking:
    """Draw the forward masks and read the reverse process from the default trace of the run's first prompt."""
    orders = fig1_commit_order.compute(runs)
    model, trace = orders.settings["model"], orders.traces[orders.drawn]["default"]
    answer, end = _held_out(model, orders.drawn), end_of(model)
    generated = trace.tokens[: orders.written[orders.drawn]["default"]]
    original = (words_of(trace, generated, end) if answer is None else answer)[:_SHOWN]
    times = tuple(trace.steps * quarter // 4 for quarter in range(5))
    masks = forward_masks(len(original), times, trace.steps, seed)
    before = np.vstack([masks[:1], masks[:-1]])
    forward = tuple(State(t, mask, mask & ~old) for t, mask, old in zip(times, masks, before, strict=True))

    count = min(trace.block, _SHOWN)
    block_steps = min(trace.steps_run, trace.steps * trace.block // trace.length)
    stops = sorted({max(1, block_steps * quarter // 4) for quarter in range(1, 5)})
    reverse = tuple(_after(trace, stop, since, count) for since, stop in zip([0, *stops], stops, strict=False))
    return Masking(
        trace.prompt_text,
        trace.steps,
        seed,
        answer is not None,
        original,
        forward,
        words_of(trace, trace.tokens[:count], end),
        reverse,
        orders,
        tuple(file for file in orders.files if file.endswith(f"/default-{orders.drawn}.parquet")),
    )


def _held_out(model: str, index: int | str) -> tuple[str, ...] | None:
    """Return the words of a prompt's held-out answer; the shipped models' texts have blanks between all words."""
    if isinstance(index, str):  # a prompt of one's own has no answer
        return None
    try:
        answer = examples_of(model)[index].get("answer")
    except (ValueError, IndexError):  # the model ships none
        return None
    return tuple(answer.split()) if answer else None


def _after(trace: Trace, stop: int, since: int, count: int) -> State:
    step = trace.commit_step[:count]
    masked = (step < 0) | (step >= stop)
    return State(trace.steps - stop, masked, ~masked & (step >= since))


_MARGIN, _WIDTH = 1.12, 6.6  # inches: the column of labels, and all


def draw(data: Masking) -> Figure:
    """Draw the states of both processes as running text, masks hatched."""
    parts = ((data.original, data.forward), (data.written, data.reverse))
    layouts = [flow(words, _WIDTH - _MARGIN - 0.1) for words, _ in parts]
    each = [max(height_of(cells), 2.4 * HEIGHT) + 0.12 for cells in layouts]
    total = sum(len(states) * height + 0.3 for (_, states), height in zip(parts, each, strict=True))
    picture = figure(_WIDTH, total + 0.05)
    picture.set_layout_engine("none")
    top = 0.05
    titles = (
        "Forward process: each token is masked with probability t / T",
        "Reverse process: starting from masks alone (t = T), the most confident tokens are filled in",
    )
    for (words, states), cells, height, title in zip(parts, layouts, each, titles, strict=True):
        axes = sheet_axes(picture, 0.05, top, _WIDTH - 0.1, 0.3 + len(states) * height)
        axes.text(0, 0.12, title, fontsize=9.5, va="center")
        for row, state in enumerate(states):
            upper = 0.28 + row * height
            label = f"t = {state.t} of {data.steps}\nmasked {100 * state.share:.0f} %"
            if states is data.forward:
                label += f"\nexpected {100 * state.t / data.steps:.0f} %"
            axes.text(0, upper - 0.01, label, fontsize=8, va="top", linespacing=1.25)
            fresh = FRESH if states is data.reverse else MASKED
            looks = [
                MASKED if hidden else fresh if new else SHOWN
                for hidden, new in zip(state.masked, state.fresh, strict=True)
            ]
            sub = sheet_axes(picture, 0.05 + _MARGIN, top + upper, _WIDTH - 0.1 - _MARGIN, height)
            paint(sub, cells, words, looks)
        top += 0.3 + len(states) * height
    return picture


def exhibit(runs: Path) -> Exhibit:
    """Return Fig. 2 from the default trace below `runs`."""
    data = compute(runs)
    first = data.orders.traces[data.orders.drawn]["default"]
    source = "the held-out answer" if data.held_out else "the model's own answer, as it ships no held-out one,"
    shown = len(data.original), len(data.written)
    caption = (
        f"Forward: {source} to prompt {data.orders.drawn}, “{data.prompt}”, its first {shown[0]} tokens, masked as in "
        f"q(x_t | x_0): each with probability t / T, T = {data.steps}. One random number per token (seed {data.seed}) "
        f"makes the masks nested. Reverse: model {first.predictor} answers the same prompt by confidence "
        f"({first.length} tokens, {first.steps} steps, blocks of {first.block}); the first {shown[1]} are drawn. "
        "Hatched: masked. Blue: filled since the state above. The two texts differ: the model wrote the lower one. "
        "“(end)” is the end-of-text token."
    )
    alt = (
        f"Rows of words in cells. Upper rows: {len(data.forward)} states of an answer whose masked share grows from "
        f"{100 * data.forward[0].share:.0f} to {100 * data.forward[-1].share:.0f} percent, at random places. Lower "
        f"rows: {len(data.reverse)} states of a decode whose masked share falls to {100 * data.reverse[-1].share:.0f} "
        "percent."
    )
    said = (
        f"Forward, tokens are masked at random places; in reverse, the {first.length // first.steps} most confident "
        f"positions of the block are filled at each of {first.steps} steps."
    )
    return Exhibit(
        "Figure 2: masking and unmasking",
        (Picture("fig2_masking", draw(data), caption, alt),),
        conclusions=(said,),
        inputs=data.files,
    )
