"""Figure 4: two decodes of one prompt, step by step: confidence decoding, and RWS with its rewards and factors.

Shows: which positions are filled after how many steps, coloured by the step that committed them, with the words of each
answer below. RWS has the normalised reward and the factor of each row's last step beside it. The table has every step
with the tokens that it committed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from paper_figures.exhibits.canvas_cells import MASKED, end_of, words_of
from paper_figures.exhibits.exhibit import Exhibit, Interactive, Picture, Story, shipped_predictor
from paper_figures.exhibits.style import GREY, figure
from paper_figures.figures import fig1_commit_order
from paper_figures.figures.fig1_commit_order import CommitOrders
from rws_decode.mini.stories.answers import judge
from rws_decode.trace.trace import Trace

NEEDS: tuple[str, ...] = ("commit-order",)
_ROWS, _COLUMNS = 16, 48
_NAMES = {"default": "Confidence (default)", "rws": "RWS"}


@dataclass(frozen=True, eq=False)
class Decode:
    """One decode of the prompt: its trace, `words` of the whole answer, and the kinds of rules that it breaks.

    broken is None if the prompt is not of the story language, so that nothing can be said.
    """

    trace: Trace
    words: tuple[str, ...]
    broken: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Worked:
    """Both decodes by name, how many columns are drawn (the longer text, at most 48 tokens), and after which steps."""

    decodes: dict[str, Decode]
    columns: int
    steps: tuple[int, ...]
    orders: CommitOrders
    files: tuple[str, ...]


def shown_steps(steps: int, rows: int = _ROWS) -> tuple[int, ...]:
    """Return the numbers of steps done that are drawn: every k-th up to the last, at most `rows`, k as small as can be.

    >>> shown_steps(32)[:3], shown_steps(5, 2)
    ((2, 4, 6), (3, 5))
    """
    every = -(-steps // rows)
    return tuple(min(done, steps) for done in range(every, steps + every, every))


def compute(runs: Path) -> Worked:
    """Read both decodes of the run's first prompt."""
    orders = fig1_commit_order.compute(runs)
    end = end_of(orders.settings["model"])
    row, written = orders.traces[orders.drawn], orders.written[orders.drawn]
    decodes = {
        name: Decode(row[name], words_of(row[name], row[name].tokens, end), _broken(row[name])) for name in _NAMES
    }
    columns = min(max(1, *(written[name] for name in _NAMES)), _COLUMNS)
    names = tuple(f"/{name}-{orders.drawn}.parquet" for name in _NAMES)
    files = tuple(file for file in orders.files if file.endswith(names))
    return Worked(decodes, columns, shown_steps(row["rws"].steps_run), orders, files)


def _broken(trace: Trace) -> tuple[str, ...] | None:
    if trace.prompt_text is None or trace.text is None:
        return None
    judgement = judge(trace.prompt_text, trace.text)
    return None if judgement.kind == "free" else tuple(sorted({violation.kind for violation in judgement.violations}))


_LEFT, _RIGHT, _ROW, _WORDS = 0.5, 0.98, 0.158, 0.74  # inches
_NUMBERS = (0.46, 0.93)  # inches right of the grid


def draw(data: Worked) -> Figure:
    """Draw both decodes, one above the other: a row of cells for every k-th step, words below."""
    panel = _ROW * len(data.steps)
    height = 2 * (panel + _WORDS + 0.36) + 0.5
    picture = figure(6.6, height)
    picture.set_layout_engine("none")
    norm = Normalize(0, max(1, data.steps[-1] - 1))
    for row, name in enumerate(_NAMES):
        top = 0.26 + row * (panel + _WORDS + 0.36)
        box = (_LEFT / 6.6, 1 - (top + panel) / height, (6.6 - _LEFT - _RIGHT) / 6.6, panel / height)
        _panel(picture.add_axes(box), data, name, norm)
    box = (_LEFT / 6.6, 0.42 / height, (6.6 - _LEFT - _RIGHT) / 6.6, 0.11 / height)
    bar = picture.colorbar(ScalarMappable(norm, _colors()), cax=picture.add_axes(box), orientation="horizontal")
    bar.set_label("step that committed the token  [steps, from 0]", fontsize=8.5, labelpad=1)
    bar.ax.tick_params(labelsize=8, pad=1)
    bar.ax.grid(visible=False)
    return picture


def _colors() -> ListedColormap:
    """Return cividis without its darkest quarter, on which outlines would not show."""
    return ListedColormap(colormaps["cividis"](np.linspace(0.25, 1.0, 256)))


def _panel(axes: Axes, data: Worked, name: str, norm: Normalize) -> None:
    decode, colors = data.decodes[name], _colors()
    commit = decode.trace.commit_step[: data.columns]
    for row, done in enumerate(data.steps):
        since = data.steps[row - 1] if row else 0
        for column, step in enumerate(commit):
            stands = 0 <= step < done
            fresh = stands and step >= since
            axes.add_patch(
                Rectangle(
                    (column + 0.04, row + 0.06),
                    0.92,
                    0.88,
                    facecolor=colors(norm(step)) if stands else MASKED.face,
                    edgecolor="black" if fresh else "none" if stands else "#b8b8b8",
                    linewidth=1.2 if fresh else 0.0,
                    hatch=None if stands else "////",
                    zorder=3 if fresh else 2,
                )
            )
        if name == "rws":
            reward, factor = decode.trace.reward_normalised[done - 1], decode.trace.factor[done - 1]
            texts = ("-" if np.isnan(number) else f"{number:.2f}" for number in (reward, factor))
            for x, text in zip(_NUMBERS, texts, strict=True):
                axes.annotate(
                    text,
                    (1.0, row + 0.5),
                    (72 * x, 0),
                    xycoords=("axes fraction", "data"),
                    textcoords="offset points",
                    fontsize=8,
                    ha="right",
                    va="center",
                )
    for edge in range(decode.trace.block, data.columns, decode.trace.block):
        axes.axvline(edge, color="black", linewidth=1.0, linestyle=(0, (2, 1)), zorder=4)
    axes.set_xlim(0, data.columns)
    axes.set_ylim(len(data.steps), 0)
    rows = range(0, len(data.steps), 1 if len(data.steps) <= 8 else 2)
    axes.set_yticks([row + 0.5 for row in rows], [str(data.steps[row]) for row in rows], fontsize=8)
    axes.set_xticks(
        [column + 0.5 for column in range(data.columns)],
        decode.words[: data.columns],
        rotation=90,
        fontsize=8,
        parse_math=False,
    )
    axes.tick_params(length=0, pad=2)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_ylabel("steps done", fontsize=8.5)
    title = f"{_NAMES[name]}:  GOD {decode.trace.god_tokens:.2f} tokens, {decode.trace.god_steps:.2f} steps"
    if decode.broken is not None:
        title += f";  kinds of rules broken: {len(decode.broken)}"
    axes.set_title(title, loc="left", fontsize=9)
    if name == "rws":
        for x, text in zip(_NUMBERS, ("reward", "factor"), strict=True):
            axes.annotate(
                text,
                (1.0, 1.0),
                (72 * x, 5),
                xycoords="axes fraction",
                textcoords="offset points",
                fontsize=8,
                ha="right",
                color=GREY,
            )


def exhibit(runs: Path) -> Exhibit:
    """Return Fig. 4 from the traces below `runs`."""
    data = compute(runs)
    default, rws = (data.decodes[name] for name in _NAMES)
    trace, every = rws.trace, data.steps[0]
    left_out = trace.length - data.columns
    rest = f"; a row in which only the {left_out} after them change looks like the one above" if left_out else ""
    caption = (
        f"Two decodes of held-out prompt {data.orders.drawn}, “{trace.prompt_text}” Model {trace.predictor}, "
        f"{trace.length} tokens, {trace.steps} steps, blocks of {trace.block} (dashed), reward {trace.reward_model}, "
        f"s_R = {trace.strategy['reward_scale']:g}. A row is the answer after {every} more "
        f"step{'s' if every > 1 else ''}: hatched cells are masked, coloured ones are committed, and those with an "
        "outline were committed since the row above. Reward (normalised) and factor are those of the row's last step. "
        f"The first {data.columns} positions are drawn{rest}. GOD is of all positions. The prompt is the run's first; "
        "it was not chosen for its outcome."
    )
    steps = min(default.trace.steps_run, trace.steps_run)
    parted = np.flatnonzero((default.trace.chosen[:steps] != trace.chosen[:steps]).any(axis=1))
    differ = int((default.trace.tokens != trace.tokens).sum())
    alt = (
        f"Two grids of {len(data.steps)} rows of steps by {data.columns} columns of positions, masked cells hatched, "
        f"others coloured by the step that filled them. Default: “{default.trace.text}” RWS: “{trace.text}”"
    )
    first = f", first at step {parted[0]}" if parted.size else ""
    conclusions = [
        f"Prompt {data.orders.drawn}: the default and RWS commit different positions at {parted.size} of "
        f"{steps} steps{first}; the answers differ at {differ} of {trace.length} positions."
    ]
    if default.broken is not None and rws.broken is not None:
        kept = {name: _kept(decode) for name, decode in data.decodes.items()}
        conclusions.append(
            f"By the language's own rules, the answer of the default {kept['default']}, that of RWS {kept['rws']}. One "
            "prompt shows how the methods work, not which is better."
        )
    story = Story(
        f"Committing at other places writes another text: {differ} of {trace.length} tokens differ."
        if differ
        else "Another order of commits can leave the text as it is.",
        (
            f"Both decodes answer the same prompt. They commit different positions at {parted.size} of {steps} "
            f"steps{first}.",
            *conclusions[1:2],
            "Scrub the steps. Marked words were committed at the step that is shown.",
        ),
        "The prompt is the run's first, and was not chosen for its outcome.",
        "fig4_worked_decode",
    )
    predictor = shipped_predictor(data.orders.settings["model"])
    page = None
    if predictor is not None:
        title = "The default and RWS on one prompt, step by step"
        page = Interactive("fig4_decodes", default.trace.view(trace, predictor), title)
    return Exhibit(
        "Figure 4: a worked decode",
        (Picture("fig4_worked_decode", draw(data), caption, alt),),
        conclusions=tuple(conclusions),
        inputs=data.files,
        story=story,
        interactive=page,
    )


def _kept(decode: Decode) -> str:
    return f"breaks rules of {' and '.join(decode.broken)}" if decode.broken else "breaks none"
