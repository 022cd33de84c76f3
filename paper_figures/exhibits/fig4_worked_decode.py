"""Figure 4: two decodes of one prompt, step by step: confidence decoding, and RWS with its rewards and factors.

Shows: which positions are filled after how many steps, coloured by the step that committed them, with the words of each
answer below. RWS has the normalised reward and the factor of each row's last step beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from paper_figures.data.story_sets import judge
from paper_figures.exhibits.shared.exhibit import GREY, Exhibit, Picture, Story, figure, interactive
from paper_figures.exhibits.shared.traces import MASKED, CommitOrders, commit_orders
from rws_decode.trace.trace import Trace

NEEDS: tuple[str, ...] = ("commit-order",)
_ROWS, _COLUMNS = 16, 48
_NAMES = {"default": "Confidence (default)", "rws": "RWS"}


@dataclass(frozen=True, eq=False)
class Worked:
    """Both decodes, how many columns are shown (the longer text, at most 48 tokens), and after which steps: every k-th.

    broken: the rules that each answer breaks, None if the prompt is not of the story language.
    """

    orders: CommitOrders
    columns: int
    steps: tuple[int, ...]
    broken: dict[str, tuple[str, ...] | None]


def compute(runs: Path) -> Worked:
    """Read both decodes of the run's first prompt."""
    orders = commit_orders(runs)
    columns = min(max(1, *(orders.written(orders.of(name)) for name in _NAMES)), _COLUMNS)
    every = -(-(run := orders.of("rws").steps_run) // _ROWS)
    broken = {name: _broken(orders.of(name)) for name in _NAMES}
    return Worked(orders, columns, (*range(every, run, every), run), broken)


def _broken(trace: Trace) -> tuple[str, ...] | None:
    if trace.prompt_text is None or trace.text is None:
        return None
    judgement = judge(trace.prompt_text, trace.text)
    return None if judgement.kind == "free" else tuple(sorted({violation.kind for violation in judgement.violations}))


def draw(data: Worked) -> Figure:
    """Draw both decodes, one above the other: a row of cells for every k-th step, words below."""
    picture = figure(6.6, 2.6 + 0.32 * len(data.steps))
    panels = picture.subplots(2)
    # cividis without its darkest quarter, on which outlines would not show
    colors = ListedColormap(colormaps["cividis"](np.linspace(0.25, 1.0, 256)))
    scale = ScalarMappable(Normalize(0, max(1, data.steps[-1] - 1)), colors)
    for axes, name in zip(panels, _NAMES, strict=True):
        _panel(axes, data, name, scale)
    bar = picture.colorbar(scale, ax=panels, location="bottom", aspect=45, pad=0.01)
    bar.set_label("step that committed the token  [steps, from 0]", fontsize=8.5, labelpad=1)
    bar.ax.tick_params(labelsize=8, pad=1)
    bar.ax.grid(visible=False)
    return picture


def _panel(axes: Axes, data: Worked, name: str, scale: ScalarMappable) -> None:
    trace, count = data.orders.of(name), data.columns
    for row, (since, done) in enumerate(zip((0, *data.steps), data.steps, strict=False)):
        for column, step in enumerate(trace.commit_step[:count]):
            look: dict[str, Any] = {"facecolor": MASKED.face, "edgecolor": "#b8b8b8", "linewidth": 0, "hatch": "////"}
            if 0 <= step < done:
                look = {"facecolor": scale.to_rgba(step), "linewidth": 0}
            if since <= step < done:
                look |= {"edgecolor": "black", "linewidth": 1.2, "zorder": 3}
            axes.add_patch(Rectangle((column + 0.04, row + 0.06), 0.92, 0.88, **look))
    for edge in range(trace.block, count, trace.block):
        axes.axvline(edge, color="black", linewidth=1.0, linestyle=(0, (2, 1)), zorder=4)
    axes.set(xlim=(0, count), ylim=(len(data.steps), 0))
    rows = range(0, len(data.steps), 1 if len(data.steps) <= 8 else 2)
    axes.set_yticks([row + 0.5 for row in rows], [str(data.steps[row]) for row in rows], fontsize=8)
    words = data.orders.words(trace, trace.tokens[:count])
    axes.set_xticks(np.arange(count) + 0.5, words, rotation=90, fontsize=8, parse_math=False)
    axes.tick_params(length=0, pad=2)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_ylabel("steps done", fontsize=8.5)
    broken = "" if (kinds := data.broken[name]) is None else f";  kinds of rules broken: {len(kinds)}"
    god = f"GOD {trace.god_tokens:.2f} tokens, {trace.god_steps:.2f} steps"
    axes.set_title(f"{_NAMES[name]}:  {god}{broken}", loc="left", fontsize=9)
    if name == "rws":
        style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": 8, "ha": "right", "va": "center"}
        for x, heading, numbers in ((1.09, "reward", trace.reward_normalised), (1.18, "factor", trace.factor)):
            axes.text(x, -0.5, heading, color=GREY, **style)
            for row, number in enumerate(numbers[np.array(data.steps) - 1]):
                axes.text(x, row + 0.5, "-" if np.isnan(number) else f"{number:.2f}", **style)


def exhibit(runs: Path) -> Exhibit:
    """Return Fig. 4 from the traces below `runs`."""
    data = compute(runs)
    default, trace = (data.orders.of(name) for name in _NAMES)
    every, left_out = data.steps[0], trace.length - data.columns
    rest = f"; a row in which only the {left_out} after them change looks like the one above" if left_out else ""
    caption = (
        f"Two decodes of held-out prompt {data.orders.drawn}, “{trace.prompt_text}” Model {trace.predictor}, "
        f"{trace.length} tokens, {trace.steps} steps, blocks of {trace.block} (dashed), reward {trace.reward_model}, "
        f"s_R = {trace.strategy['reward_scale']:g}. A row is the answer after {every} more "
        f"step{'s' if every > 1 else ''}: hatched cells are masked, coloured ones are committed, and those with an "
        "outline were committed since the row above. Reward (normalised) and factor are those of the row's last step. "
        f"The first {data.columns} positions are shown{rest}. GOD is of all positions."
    )
    alt = (
        f"Two grids of {len(data.steps)} rows of steps by {data.columns} columns of positions, masked cells hatched, "
        f"others coloured by the step that filled them. Default: “{default.text}” RWS: “{trace.text}”"
    )
    parted, steps = data.orders.parted()
    differ = int((default.tokens != trace.tokens).sum())
    first = f", first at step {parted[0]}" if parted.size else ""
    summary = (
        f"Prompt {data.orders.drawn}: confidence decoding and RWS commit different positions at {parted.size} "
        f"of {steps} steps{first}; the answers differ at {differ} of {trace.length} positions.",
    )
    if None not in data.broken.values():
        kept = [f"breaks rules of {' and '.join(r)}" if r else "breaks none" for r in data.broken.values()]
        summary += (
            f"By the toy language's rules, the answer of confidence decoding {kept[0]}, that of RWS {kept[1]}. One "
            "prompt shows how the methods work, not which is better.",
        )
    claim = f"Committing at other places writes another text: {differ} of {trace.length} tokens differ."
    claim = claim if differ else "Another order of commits can leave the text as it is."
    text = (*summary, "Drag the steps. Marked tokens were committed at the step that is shown.")
    caveat = "The prompt is the run's first, and was not chosen for its outcome."
    story = Story(claim, text, caveat, "fig4_worked_decode")
    title = "Confidence decoding and RWS on one prompt, step by step"
    page = interactive("fig4_decodes", title, data.orders.model, partial(default.view, trace))
    picture, inputs = Picture("fig4_worked_decode", draw(data), caption, alt), data.orders.inputs(*_NAMES)
    return Exhibit("Figure 4: a worked decode", (picture,), (), summary, inputs, story, page)
