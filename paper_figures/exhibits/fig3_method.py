"""Figure 3: one step of reward-weighted sampling with real numbers, from the canvas to the positions committed.

Shows: the canvas before a step, its greedy completion, the completion's reward, the factor that follows from it, and
the log-odds of the masked positions before and after scaling, with the positions that either would commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import Exhibit, Picture, Story, figure, interactive, panel_title
from paper_figures.exhibits.shared.traces import (
    GUESSED,
    MASKED,
    SHOWN,
    CommitOrders,
    commit_orders,
    flow,
    lines_height,
    paint,
)
from rws_decode.replay.step_logits import step_logits
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.decode_steps import step

NEEDS: tuple[str, ...] = ("commit-order",)
_WIDTH = 5.7  # inches of a line of the canvas
_SHOWN = 56  # tokens of the canvas: more do not fit on the page in words
_BARS = 36


@dataclass(frozen=True, eq=False)
class Step:
    """One step of the RWS trace beside the same step of confidence decoding, on the same canvas.

    number: from 0; parted: whether the two commit different positions there; words: those of the completion shown.
    """

    orders: CommitOrders
    number: int
    parted: bool
    words: tuple[str, ...]

    @property
    def trace(self) -> Trace:
        """Return the trace of RWS."""
        return self.orders.of("rws")

    def of(self, column: str) -> float:
        """Return what the trace has of the step."""
        return float(getattr(self.trace, column)[self.number])

    def committed(self, method: str) -> str:
        """Return the words and positions that confidence decoding or RWS commits, as text."""
        trace = self.orders.of(method)
        places = np.flatnonzero(trace.chosen[self.number])
        words = self.orders.words(trace, trace.candidate[self.number, places])
        return ", ".join(f"“{word}” at {place}" for word, place in zip(words, places, strict=True))


def compute(runs: Path) -> Step:
    """Read the step from the run's first prompt; ValueError where the trace has no reward for it.

    It is the first at which confidence decoding and RWS commit different positions. Both have the same canvas there,
    and their log-odds differ by the factor alone. If there is no such step, it is the middle one.
    """
    orders = commit_orders(runs)
    rws, (parted, steps) = orders.of("rws"), orders.parted()
    number = int(parted[0]) if parted.size else steps // 2
    if not rws.reward_asked[number]:
        raise ValueError(
            f"step {number} of the rws trace of prompt {orders.drawn} has no reward: decode without savings"
        )
    words, ends = orders.words(rws, rws.candidate[number]), np.flatnonzero(rws.candidate[number] == orders.end)
    shown = min(ends[0] + 1 if ends.size else rws.length, _SHOWN)
    return Step(orders, number, bool(parted.size), words[:shown])


def draw(data: Step) -> Figure:
    """Draw the step as boxes from top to bottom, joined by arrows, then its log-odds in two panels."""
    cells = flow(data.words, _WIDTH)
    tall, masked = lines_height(cells) + 0.1, data.trace.masked[data.number, : len(cells)]
    heights = (0.25 + tall, 0.25 + tall, 0.75, 1.6, 1.6)
    rows: list[list[Any]] = [[name] * 3 for name in ("canvas", "completion", "reward", "default", "rws")]
    rows[2] = ["raw", "normalised", "factor"]
    picture = figure(6.6, sum(heights) + 2.2)
    picture.set_layout_engine("constrained", h_pad=0.1, w_pad=0.12)
    panels = picture.subplot_mosaic(rows, height_ratios=heights, width_ratios=(1, 1.7, 1.7))
    for name in ("canvas", "completion", *rows[2]):
        panels[name].set(xticks=[], yticks=[])
        panels[name].spines[:].set_visible(True)
    more = "" if len(cells) == data.trace.length else f": the first {len(cells)} of {data.trace.length} tokens"
    canvas = f"Canvas before step {data.number}{more} (hatched: masked)"
    completion = "1  Its greedy completion, which the reward model reads (dashed: predicted)"
    for name, title, other in (("canvas", canvas, MASKED), ("completion", completion, GUESSED)):
        axes = panels[name]
        axes.set(xlim=(-0.05, _WIDTH + 0.05), ylim=(tall, -0.25))
        axes.text(0, -0.12, title, va="center", parse_math=False)
        paint(axes, cells, data.words, [other if hidden else SHOWN for hidden in masked])
    raw, normalised, factor = data.of("reward_raw"), data.of("reward_normalised"), data.of("factor")
    mean, std = (data.trace.reward_settings.get(name) for name in ("mean", "std"))
    sums = "r, normalised" if mean is None or std is None else f"({raw:.3f} - {mean:.3f}) / {std:.3f}"
    sums = sums.replace("- -", "+ ")
    formula = f"{data.trace.strategy['reward_scale']:g} $\\times$ $\\sqrt{{\\sigma({normalised:.3f}) + \\epsilon}}$"
    boxes = (("2  Reward", raw, "raw score"), ("normalised", normalised, sums), ("factor", factor, formula))
    for name, box in zip(rows[2], boxes, strict=True):
        axes = panels[name]
        for y, text, size in zip((0.82, 0.53, 0.21), (box[0], f"{box[1]:.3f}", box[2]), (9, 11, 8.5), strict=True):
            axes.text(0.5, y, text, fontsize=size, ha="center", va="center")
    scaled = f"3, 4  All logits times {factor:.3f}: RWS commits the hatched"
    for name, title in (("default", "Factor 1: the default commits the hatched"), ("rws", scaled)):
        step(data.orders.of(name), data.number, most=_BARS, axes=panels[name])
        panels[name].set(title="", xlabel="")
        panel_title(panels[name], title)
    style = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
    for name in ("completion", *rows[2]):
        end, start = ((0.5, 1), (0, 14)) if name in ("completion", "raw") else ((0, 0.5), (-17, 0))
        panels[name].annotate("", end, start, "axes fraction", "offset points", arrowprops=style)
    return picture


def exhibit(runs: Path) -> Exhibit:
    """Return Fig. 3 from the traces below `runs`."""
    data = compute(runs)
    trace = data.trace
    raw, normalised, factor = data.of("reward_raw"), data.of("reward_normalised"), data.of("factor")
    rule = "the middle one, as RWS and the default commit the same positions at every step"
    rule = "the first at which RWS and the default commit different positions" if data.parted else rule
    caption = (
        f"One step of RWS with the numbers of its trace: model {trace.predictor}, reward model {trace.reward_model}, "
        f"s_R = {trace.strategy['reward_scale']:g}, held-out prompt {data.orders.drawn}, “{trace.prompt_text}”, step "
        f"{data.number} of {trace.steps} (from 0), {rule}. Bars: at most {_BARS} masked "
        "positions of the block, each with its best token and its place. The factor rescales all of them; the "
        "positions with the largest are committed."
    )
    alt = (
        f"Boxes joined by arrows: a canvas, its completion, the reward {raw:.3f}, normalised {normalised:.3f}, hence "
        f"factor {factor:.3f}; two bar charts of positions before and after scaling."
    )
    where = f"RWS commits {data.committed('rws')}, confidence decoding {data.committed('default')}"
    where = where if data.parted else f"both commit {data.committed('rws')}"
    summary = (
        f"At step {data.number} of prompt {data.orders.drawn} the score of the completed text lies "
        f"{abs(normalised):.2f} SD {'below' if normalised < 0 else 'above'} the reward model's mean, "
        f"which makes a factor of {factor:.2f}; {where}."
    )
    claim = "Within a step of greedy decoding the factor changes where a token is committed, never which token."
    drag = "Drag the factor. Each line is a masked position: where two cross, their ranks reverse. Rings mark proofs."
    story = Story(claim, (summary, drag), f"One step of one prompt, {rule}: an illustration.", "fig3_method")
    title = f"Confidence of each masked position at step {data.number}, by scale"
    page = interactive("fig3_curves", title, data.orders.model, lambda net: step_logits(trace, net, data.number).view())
    picture, inputs = Picture("fig3_method", draw(data), caption, alt), data.orders.inputs("default", "rws")
    return Exhibit("Figure 3: one step of reward-weighted sampling", (picture,), (), (summary,), inputs, story, page)
