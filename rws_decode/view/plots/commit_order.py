"""Which position was committed at which step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rws_decode.common.palette import BLACK, GREY, LOOKS, VERMILION, Look
from rws_decode.trace.data import check_known, check_traces
from rws_decode.trace.labels import missing_note, run_label
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.axes import whole_ticks
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import count, number
from rws_theory import footrule_mean


@drawn
def order(
    trace: Trace | Mapping[str, Sequence[Trace]],
    other: Trace | None = None,
    *,
    values: bool = False,
    changes: bool = False,
    axes: Panels = None,
) -> Figure:
    """Draw at which step each position of an answer was committed; a second trace beside it.

    Across: the position in the answer [tokens, from 0]; up: the step [from 0]. The dotted line is the order from left
    to right with as many tokens a step; dashed lines separate the blocks. The title has the generation order deviation
    (GOD), which is 0 from left to right. Positions that no step committed have no mark.

    trace: of a decode, or in place of both traces what `compare` returns of one prompt and two strategies.
    values: colour what each step ranked by, from the lowest to the highest of the step, behind the marks. changes: a
    small cross where a masked position changed its candidate. axes: one for each trace; None for a new figure.

    ValueError for two traces of different lengths, for other numbers of axes, and for `changes` where a trace does not
    keep all candidates.

    >>> from rws_decode import Confidence, Shape, decode, load_predictor, plots
    >>> predictor = load_predictor("english")
    >>> (trace,) = decode(predictor, [predictor.examples[0]["prompt"]], Confidence(), Shape(8, 8, 8))
    >>> plots.order(trace).axes[0].get_xlabel()
    'position in the answer [tokens, from 0]'
    """
    if isinstance(trace, Mapping):
        if other is not None or len(trace) > 2 or any(len(run) != 1 for run in trace.values()):
            one, two = [*trace, *trace][:2]
            raise ValueError(
                f"trace is {trace!r:.80}: one prompt and at most two strategies are needed, give "
                f"plots.order(runs[{one!r}][0], runs[{two!r}][0]), or all to plots.order_map(runs)"
            )
        traces = [run[0] for run in trace.values()]
    else:
        traces = [trace] if other is None else [trace, other]
        check_traces(**dict(zip(("trace", "other"), traces, strict=False)))
    if len({each.length for each in traces}) > 1:
        one, two = (each.length for each in traces)
        raise ValueError(f"other has {two} positions, trace {one}: two answers of one length are needed")
    for each in traces if values or changes else ():
        check_known(each, "values or changes", whole=values)
    if changes and not all(each.whole_candidates for each in traces):
        raise ValueError("changes is True: a trace that keeps all candidates (Trace.whole_candidates) is needed")
    size = (9.5, 4.6) if len(traces) > 1 else (7.0, 4.6)
    figure, panels = panels_of(axes, 1, len(traces), size, sharey=True)
    for panel, each, look in zip(panels, traces, LOOKS, strict=False):
        if values:
            image = panel.imshow(_within_step(each), aspect="auto", origin="lower", cmap="cividis", vmin=0, vmax=1)
            panel.grid(visible=False)
            if panel is panels[-1]:
                label = "value, within each step\n(0 lowest, 1 highest)"
                figure.colorbar(image, ax=panels, label=label, shrink=0.9, pad=0.02)
        if changes:
            steps, where = np.nonzero((each.candidate[1:] != each.candidate[:-1]) & each.masked[1:])
            panel.plot(where, steps + 1, "x", color=GREY, markersize=4, label="candidate changed")
        draw_order(panel, each, replace(look, color=VERMILION) if values else look, edge="white" if values else None)
        god = f"GOD {each.god_tokens:.2f} tokens, {each.god_steps:.2f} steps"
        panel.set_title(f"{run_label(each)}, {god}", parse_math=False)
        panel.set_xlabel("position in the answer [tokens, from 0]")
    panels[0].set_ylabel("step, from 0")
    legend(figure, panels[0], axes)
    return finished(figure, axes, *_sentences(traces))


def draw_order(
    axes: Axes, trace: Trace, look: Look, *, edge: str | None = None, text: int | None = None, block: int | None = None
) -> None:
    """Draw the marks of a trace, the order from left to right and the edges of blocks, without labels of axes.

    edge: colour around the marks. text: so many positions hold text; the marks of the others, the filler after its
    end, are hollow. block: positions of a block, the trace's if None.
    """
    place = np.arange(trace.length)
    committed = trace.commit_step >= 0
    size = (trace.block or trace.length) if block is None else block
    for start in range(size, trace.length, size):
        label = "edge of a block" if start == size else None
        axes.axvline(start - 0.5, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), label=label)
    steps = np.sort(trace.commit_step[committed])
    axes.plot(place[committed], steps, color=BLACK, linestyle=":", linewidth=1.4, label="left to right")
    points = 5.5 if trace.length <= 96 else 3.5
    mark: dict[str, Any] = {"linestyle": "none", "marker": look.marker, "markersize": points}
    written = committed & (place < (trace.length if text is None else text))
    filled: dict[str, Any] = {"color": look.color, "markeredgecolor": edge or look.color}
    label = "committed token" if text is None else "token of the text"
    axes.plot(place[written], trace.commit_step[written], label=label, **mark, **filled)
    filler = committed & ~written
    if filler.any():
        hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": "#a0a0a0"}
        axes.plot(place[filler], trace.commit_step[filler], label="end-of-text filler", **mark, **hollow)
    axes.set_xlim(-1.0, trace.length)
    axes.set_ylim(-0.7, max(trace.steps_run, 2) - 0.3)
    for which in "xy":
        whole_ticks(axes, which)


def _within_step(trace: Trace) -> np.ma.MaskedArray:
    """Return the values of each step, the lowest 0 and the highest 1."""
    value = np.ma.masked_invalid(trace.value)
    lowest = value.min(axis=1)[:, None]
    return (value - lowest) / np.maximum(np.ma.filled(value.max(axis=1)[:, None] - lowest, 1.0), 1e-12)


def _random_order(traces: list[Trace]) -> float | None:
    """Return the mean GOD of a random order within blocks, in steps; None where steps commit unequal numbers."""
    sizes = {size for trace in traces for size in np.unique(trace.commit_step, return_counts=True)[1].tolist()}
    blocks, each = {trace.block for trace in traces}, min(sizes)
    whole = all((trace.commit_step >= 0).all() and trace.block and trace.length % trace.block == 0 for trace in traces)
    if not whole or len(sizes) > 1 or len(blocks) > 1 or min(blocks) % each:
        return None
    return footrule_mean(traces[0].length, min(blocks), per_step=each, reading="steps")


def _sentences(traces: list[Trace]) -> list[str]:
    first = traces[0]
    sentences = ["Each mark is a token, at its place and at the step that committed it."]
    if (random := _random_order(traces)) is not None:
        within = "" if first.block == first.length else " within blocks"
        sentences.append(f"A random order{within} has a GOD of {number(round(random, 2))} steps on average.")
    for trace, name in zip(traces, ("trace", "other"), strict=False):
        if left := int((trace.commit_step < 0).sum()):
            sentences.append(
                f"{count(left, 'position')} of {name if len(traces) > 1 else 'the answer'} never committed."
            )
    if len(traces) == 2:
        steps = min(trace.steps_run for trace in traces)
        parted = np.flatnonzero((traces[0].chosen[:steps] != traces[1].chosen[:steps]).any(axis=1))
        where = f"at {parted.size} of {steps} steps, first at step {parted[0]}" if parted.size else "at no step"
        sentences.append(f"The two commit different positions {where}.")
    return [*sentences, missing_note(traces)]
