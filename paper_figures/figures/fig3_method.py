"""Figure 3: one step of reward-weighted sampling with real numbers, from the canvas to the positions committed.

Shows: the canvas before a step, its greedy completion, the completion's reward, the factor that follows from it, and
the log-odds of the masked positions before and after scaling, with the positions that either would commit.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from paper_figures.exhibits.canvas_cells import (
    GUESSED,
    MASKED,
    SHOWN,
    end_of,
    flow,
    height_of,
    paint,
    sheet_axes,
    words_of,
)
from paper_figures.exhibits.exhibit import Exhibit, Interactive, Picture, Story, shipped_predictor
from paper_figures.exhibits.style import GREY, LINES, figure
from paper_figures.figures import fig1_commit_order
from paper_figures.figures.fig1_commit_order import CommitOrders
from rws_decode.replay.step_logits import step_logits
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.decode_steps import foremost

NEEDS: tuple[str, ...] = ("commit-order",)
_WIDTH, _INDENT, _GAP, _PANEL = 6.6, 0.12, 0.26, 1.05  # inches
_SHOWN = 56  # tokens of the canvas: more do not fit on the page in words


@dataclass(frozen=True, eq=False)
class Step:
    """One step of the RWS trace beside the same step of confidence decoding, on the same canvas.

    step: from 0; parted: whether the two commit different positions there. Of the first n positions: `words` of the
    completion, `masked` bool [n]; hidden: positions of the answer that are not drawn. Of the m masked positions of the
    block, the foremost where they are many (`open`, how many there are): `position` int [m], `tokens`, their best
    tokens as words, `before` and `after` [m], what they are ranked by at factor 1 and at the step's factor, `default`
    and `rws` bool [m], which either commits. raw, normalised, factor: the reward's; mean, std: of the reward model,
    None if not recorded.
    """

    trace: Trace
    step: int
    parted: bool
    words: tuple[str, ...]
    masked: NDArray[np.bool_]
    hidden: int
    open: int
    position: NDArray[np.int64]
    tokens: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    default: NDArray[np.bool_]
    rws: NDArray[np.bool_]
    raw: float
    normalised: float
    factor: float
    mean: float | None
    std: float | None
    orders: CommitOrders
    files: tuple[str, ...]

    @property
    def scale(self) -> float:
        """Return the reward scale s_R."""
        return float(self.trace.strategy["reward_scale"])

    @property
    def unit(self) -> str:
        """Return what positions are ranked by, with its unit."""
        return "log-odds  [nats]" if self.trace.ranking == "log-odds" else "confidence  [probability]"

    def committed(self, which: NDArray[np.bool_]) -> str:
        """Return the words and positions of the chosen ones of the m positions, as text."""
        hits = np.flatnonzero(which)
        return ", ".join(f"“{self.tokens[i]}” at {self.position[i]}" for i in hits)


def shown_step(default: Trace, rws: Trace) -> tuple[int, bool]:
    """Return the first step at which the two commit different positions, and True; else the middle step, and False.

    Up to that step both have the same canvas, so that their log-odds differ by the factor alone.
    """
    steps = min(default.steps_run, rws.steps_run)
    parted = np.flatnonzero((default.chosen[:steps] != rws.chosen[:steps]).any(axis=1))
    return (int(parted[0]), True) if parted.size else (steps // 2, False)


def compute(runs: Path) -> Step:
    """Read the step from the run's first prompt; ValueError where the trace has no reward for it."""
    orders = fig1_commit_order.compute(runs)
    default, rws = (orders.traces[orders.drawn][name] for name in ("default", "rws"))
    step, parted = shown_step(default, rws)
    if not rws.reward_asked[step]:
        raise ValueError(f"step {step} of the rws trace of prompt {orders.drawn} has no reward: decode without savings")
    end, candidate = end_of(orders.settings["model"]), rws.candidate[step]
    ends = np.flatnonzero(candidate == end) if end is not None else np.array([], dtype=np.int64)
    count = min(int(ends[0]) + 1 if ends.size else rws.length, _SHOWN)
    texts = words_of(rws, candidate, end)
    names = tuple(f"/{name}-{orders.drawn}.parquet" for name in ("default", "rws"))
    measured = ~np.isnan(default.value[step]) & ~np.isnan(rws.value[step])
    position = np.flatnonzero(rws.eligible[step] & measured)
    commits = int(rws.chosen[step].sum())
    position = position[foremost(commits, default.value[step, position], rws.value[step, position])]
    return Step(
        rws,
        step,
        parted,
        texts[:count],
        rws.masked[step, :count],
        rws.length - count,
        int(rws.eligible[step].sum()),
        position,
        tuple(texts[index] for index in position),
        default.value[step, position],
        rws.value[step, position],
        default.chosen[step, position],
        rws.chosen[step, position],
        float(rws.reward_raw[step]),
        float(rws.reward_normalised[step]),
        float(rws.factor[step]),
        rws.reward_settings.get("mean"),
        rws.reward_settings.get("std"),
        orders,
        tuple(file for file in orders.files if file.endswith(names)),
    )


def draw(data: Step) -> Figure:
    """Draw the step as boxes from top to bottom, joined by arrows, with the log-odds in two panels."""
    cells = flow(data.words, _WIDTH - 4 * _INDENT)
    text = height_of(cells) + 0.34
    labels = max((cell.width for cell in flow(data.tokens, _WIDTH)), default=0.2)
    lines = [
        *_wrapped("4  ", f"RWS commits {data.committed(data.rws)}"),
        *_wrapped("    ", f"The default, factor 1, would commit {data.committed(data.default)}"),
    ]
    heights = (text, text, 0.8, 0.78 + 2 * _PANEL + labels, 0.1 + 0.2 * len(lines))
    tops = [0.05 + sum(heights[:row]) + _GAP * row for row in range(len(heights))]
    picture = figure(_WIDTH, tops[-1] + heights[-1] + 0.06)
    picture.set_layout_engine("none")
    page = sheet_axes(picture, 0, 0, _WIDTH, picture.get_size_inches()[1])
    for row, (top, height) in enumerate(zip(tops, heights, strict=True)):
        if row != 2:
            _box(page, _INDENT, top, _WIDTH - 2 * _INDENT, height)
        if row:
            # To the first of the reward's boxes, from the last of them, else down the middle.
            x = {2: 1.0, 3: _WIDTH - 1.0}.get(row, _WIDTH / 2)
            _arrow(page, (x, top - _GAP), (x, top))
    more = f": the first {len(data.words)} of {len(data.words) + data.hidden} tokens" if data.hidden else ""
    titles = (
        f"Canvas before step {data.step}{more} (hatched: masked)",
        "1  Its greedy completion, which the reward model reads (dashed: predicted)",
        "",
        "3  All logits times the factor: masked positions of the block, by their predicted token",
    )
    for title, top in zip(titles, tops, strict=False):
        page.text(2 * _INDENT, top + 0.15, title, fontsize=9, va="center", parse_math=False)
    for row, other in enumerate((MASKED, GUESSED)):
        looks = [other if hidden else SHOWN for hidden in data.masked]
        inside = sheet_axes(picture, 2 * _INDENT, tops[row] + 0.28, _WIDTH - 4 * _INDENT, text)
        paint(inside, cells, data.words, looks)
    _reward(page, data, tops[2], heights[2])
    _log_odds(picture, data, tops[3])
    for row, line in enumerate(lines):
        page.text(2 * _INDENT, tops[4] + 0.15 + 0.2 * row, line, fontsize=9, va="center", parse_math=False)
    return picture


def _wrapped(start: str, text: str) -> list[str]:
    """Return lines that fit into the box, those after the first indented."""
    return textwrap.wrap(text, 88, initial_indent=start, subsequent_indent="        ")


def _box(page: Axes, left: float, top: float, width: float, height: float) -> None:
    page.add_patch(Rectangle((left, top), width, height, facecolor="none", edgecolor="#505050", linewidth=0.9))


def _arrow(page: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
    page.annotate("", end, start, arrowprops=style)


def _reward(page: Axes, data: Step, top: float, height: float) -> None:
    """Draw the way from the raw reward to the factor, left to right."""
    recorded = data.mean is not None and data.std is not None
    sums = f"({data.raw:.3f} - {data.mean:.3f}) / {data.std:.3f}".replace("- -", "+ ") if recorded else "r, normalised"
    formula = f"{data.scale:g} $\\times$ $\\sqrt{{\\sigma({data.normalised:.3f}) + \\epsilon}}$"
    boxes = (
        (1.4, "2  Reward", f"{data.raw:.3f}", "raw score"),
        (2.2, "normalised", f"{data.normalised:.3f}", sums),
        (2.2, "factor", f"{data.factor:.3f}", formula),
    )
    left, gap = _INDENT, (_WIDTH - 2 * _INDENT - sum(box[0] for box in boxes)) / (len(boxes) - 1)
    for index, (width, title, number, how) in enumerate(boxes):
        _box(page, left, top, width, height)
        middle = left + width / 2
        page.text(middle, top + 0.14, title, fontsize=9, ha="center", va="center")
        page.text(middle, top + 0.37, number, fontsize=11, ha="center", va="center")
        page.text(middle, top + 0.63, how, fontsize=8.5, ha="center", va="center")
        if index:
            _arrow(page, (left - gap, top + height / 2), (left, top + height / 2))
        left += width + gap


def _log_odds(picture: Figure, data: Step, top: float) -> None:
    """Draw what positions are ranked by at factor 1 and at the step's factor, those that would be committed hatched."""
    across, down = picture.get_size_inches()
    x, look = np.arange(len(data.position)), {"default": GREY, "rws": LINES["rws"].color}
    rows = (
        ("factor 1: the default commits the hatched", data.before, data.default, look["default"]),
        (f"factor {data.factor:.3f}: RWS commits the hatched", data.after, data.rws, look["rws"]),
    )
    for row, (title, values, chosen, color) in enumerate(rows):
        upper = top + 0.5 + row * (_PANEL + 0.24)
        box = (0.85 / across, 1 - (upper + _PANEL) / down, (across - 1.1) / across, _PANEL / down)
        axes: Axes = picture.add_axes(box)
        bars = axes.bar(x, values, color=np.where(chosen, color, "#e0e0e0"), edgecolor="#505050", linewidth=0.7)
        for bar, hit in zip(bars, chosen, strict=True):
            bar.set_hatch("///" if hit else "")
        axes.axhline(0, color="black", linewidth=0.7)
        axes.set_xlim(-0.7, max(len(x), 2) - 0.3)
        axes.set_xticks(x, data.tokens if row else [], rotation=90, fontsize=8, parse_math=False)
        axes.tick_params(axis="x", length=0)
        axes.grid(axis="x", visible=False)
        axes.set_title(title, loc="left", fontsize=9, pad=3)
        axes.set_ylabel(data.unit, fontsize=8.5)


def exhibit(runs: Path) -> Exhibit:
    """Return Fig. 3 from the traces below `runs`."""
    data = compute(runs)
    trace = data.trace
    rule = (
        "the first at which RWS and the default commit different positions"
        if data.parted
        else "the middle one, as RWS and the default commit the same positions at every step"
    )
    caption = (
        f"One step of RWS with the numbers of its trace: model {trace.predictor}, reward model {trace.reward_model}, "
        f"s_R = {data.scale:g}, held-out prompt {data.orders.drawn}, “{trace.prompt_text}”, step {data.step} of "
        f"{trace.steps} (from 0), {rule}. Bars: {data.unit.partition(' ')[0]} of the best token of "
        f"{f'{len(data.position)} of the {data.open}' if data.open > len(data.position) else 'each of the'} masked "
        "positions of the block. The factor rescales all of them; the positions with the largest are committed. "
        "Positions are counted from 0."
    )
    alt = (
        f"Boxes joined by arrows. A canvas with {int(data.masked.sum())} of {len(data.masked)} tokens masked; its "
        f"completion; its reward {data.raw:.3f}, normalised {data.normalised:.3f}, hence factor {data.factor:.3f}; two "
        f"bar charts of {len(data.position)} positions before and after scaling."
    )
    where = (
        f"RWS commits {data.committed(data.rws)}, the default {data.committed(data.default)}"
        if data.parted
        else f"both commit {data.committed(data.rws)}"
    )
    said = (
        f"Step {data.step} of prompt {data.orders.drawn}: a reward of {data.raw:.3f} makes a factor of "
        f"{data.factor:.3f}; {where}. Within a step the factor can change where a token is committed, not which token."
    )
    story = Story(
        "Within a step of greedy decoding the factor changes where a token is committed, never which token.",
        (
            f"Here the score of the completed text lies {abs(data.normalised):.2f} standard deviations "
            f"{'below' if data.normalised < 0 else 'above'} the reward model's mean, which makes a factor of "
            f"{data.factor:.2f}. {where[0].upper()}{where[1:]}.",
            "Drag the factor. Each line is a masked position. Where two lines cross, their ranks reverse; ringed "
            "crossings are proved.",
        ),
        f"One step of one prompt, {rule}: an illustration.",
        "fig3_method",
    )
    return Exhibit(
        "Figure 3: one step of reward-weighted sampling",
        (Picture("fig3_method", draw(data), caption, alt),),
        conclusions=(said,),
        inputs=data.files,
        story=story,
        interactive=_curves(data),
    )


def _curves(data: Step) -> Interactive | None:
    """Return the confidence curves of the step, by the model again, with the scale to drag; shipped models only."""
    predictor = shipped_predictor(data.orders.settings["model"])
    if predictor is None:
        return None
    step = step_logits(data.trace, predictor, data.step)
    return Interactive("fig3_curves", step.view(), f"Confidence of each masked position at step {data.step}, by scale")
