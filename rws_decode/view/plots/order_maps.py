"""When each position is committed, over many prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rws_decode.common.palette import BLACK, VERMILION
from rws_decode.trace.labels import strategy_label
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.axes import whole_ticks
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["order_map"]


@drawn
def order_map(*runs: Sequence[Trace] | Mapping[str, Sequence[Trace]], axes: Panels = None) -> Figure:
    """Draw the share of prompts that commit each position at each step, one panel for each strategy's run.

    Across: the position in the answer [tokens, from 0]; up: the step [from 0]. The line is the mean step of each
    position over the prompts that commit it, the dotted one the order from left to right in as many steps.

    runs: what `decode` returns, one for each panel, or what `compare` does; answers of one length. axes: one for
    each run; None for a new figure. ValueError for no traces, and for answers of other lengths.

    >>> from rws_decode import decode, load_predictor, plots, Shape
    >>> predictor = load_predictor("english")
    >>> run = decode(predictor, predictor.prompts[:3], shape=Shape(8, 8, 8))
    >>> plots.order_map(run).axes[0].get_title(loc="left").startswith("default: GOD ")
    True
    """
    runs: list[Sequence[Trace]] = [
        run for given in runs for run in (given.values() if isinstance(given, Mapping) else [given])
    ]
    traces = [trace for run in runs for trace in run]
    if not traces or not all(len(run) for run in runs):
        raise ValueError(
            f"runs hold {[len(run) for run in runs]} traces: at least one each is needed, from decode(...)"
        )
    lengths = {trace.length for trace in traces}
    if len(lengths) > 1:
        raise ValueError(f"runs have answers of {len(lengths)} lengths: one length is needed")
    length, steps = traces[0].length, max(trace.steps_run for trace in traces)
    figure, panels = panels_of(axes, 1, len(runs), (1.5 + 4.2 * len(runs), 4.4), sharey=True)
    shares = [_share(run, steps, length) for run in runs]
    most = max(float(share.max()) for share in shares)
    for panel, run, share in zip(panels, runs, shares, strict=True):
        panel.imshow(share, aspect="auto", origin="lower", cmap="Blues", vmin=0, vmax=most)
        panel.grid(visible=False)
        panel.plot(np.arange(length), _mean_step(run), color=VERMILION, label="mean step")
        taken = np.mean([trace.steps_run for trace in run])
        panel.plot(np.arange(length), np.arange(length) * taken / length, ":", color=BLACK, label="left to right")
        god = np.mean([trace.god_steps for trace in run])
        panel.set_title(f"{strategy_label(run[0].strategy)}: GOD {god:.2f} steps", parse_math=False)
        panel.set_xlabel("position in the answer [tokens, from 0]")
        panel.set_xlim(-0.5, length - 0.5)
        panel.set_ylim(-0.5, steps - 0.5)
        whole_ticks(panel)
    whole_ticks(panels[0], "y")
    panels[0].set_ylabel("step, from 0")
    figure.colorbar(panels[0].images[0], ax=panels, label="share of prompts", shrink=0.9, pad=0.02)
    legend(figure, panels[0], axes)
    sizes = sorted({len(run) for run in runs})
    prompts = count(sizes[0], "prompt") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} prompts"
    return finished(
        figure,
        axes,
        f"A dark cell is a step at which many of {prompts} commit that position.",
        "GOD, the mean generation order deviation, is 0 from left to right.",
    )


def _share(run: Sequence[Trace], steps: int, length: int) -> NDArray[np.float64]:
    """Return the share of traces that commit each position at each step, [steps, length]."""
    share = np.zeros((steps, length))
    for trace in run:
        share[: trace.steps_run] += trace.chosen
    return share / len(run)


def _mean_step(run: Sequence[Trace]) -> NDArray[np.float64]:
    """Return the mean commit step of each position, NaN where no prompt commits it."""
    step = np.stack([np.where(trace.commit_step < 0, np.nan, trace.commit_step) for trace in run])
    known = ~np.isnan(step).all(axis=0)
    mean = np.full(step.shape[1], np.nan)
    mean[known] = np.nanmean(step[:, known], axis=0)
    return mean
