"""Plots of orders: when each position is committed, log-likelihoods of several orders, and the entropy left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from rws_decode.common.palette import BLACK, LOOKS, VERMILION
from rws_decode.extra.path_diagnostics.diagnostics import PathDiagnostics
from rws_decode.trace.labels import missing_note, run_label
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.axes import whole_ticks
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import count, joined, number

_ACROSS = 0.5  # of a row: how far its dots are spread


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
    shown: list[Sequence[Trace]] = [
        run for group in runs for run in (group.values() if isinstance(group, Mapping) else [group])
    ]
    traces = [trace for run in shown for trace in run]
    if not traces or not all(len(run) for run in shown):
        raise ValueError(
            f"runs hold {[len(run) for run in shown]} traces: at least one each is needed, from decode(...)"
        )
    lengths = {trace.length for trace in traces}
    if len(lengths) > 1:
        raise ValueError(f"runs have answers of {len(lengths)} lengths: one length is needed")
    length, steps = traces[0].length, max(trace.steps_run for trace in traces)
    figure, panels = panels_of(axes, 1, len(shown), (1.5 + 4.2 * len(shown), 4.4), sharey=True)
    # The share of traces that commit each position at each step, [steps, length], and the mean step of each position.
    padded = [[np.pad(trace.chosen, ((0, steps - trace.steps_run), (0, 0))) for trace in run] for run in shown]
    shares = [np.mean(chosen, axis=0) for chosen in padded]
    means = [np.ma.masked_less([trace.commit_step for trace in run], 0).mean(axis=0) for run in shown]
    most = max(float(share.max()) for share in shares)
    for panel, run, share, mean in zip(panels, shown, shares, means, strict=True):
        panel.imshow(share, aspect="auto", origin="lower", cmap="Blues", vmin=0, vmax=most)
        panel.grid(visible=False)
        panel.plot(np.arange(length), mean, color=VERMILION, label="mean step")
        run_steps = np.mean([trace.steps_run for trace in run])
        panel.plot(np.arange(length), np.arange(length) * run_steps / length, ":", color=BLACK, label="left to right")
        god = np.mean([trace.god_steps for trace in run])
        panel.set_title(f"{run_label(run[0])}: GOD {god:.2f} steps", parse_math=False)
        panel.set_xlabel("position in the answer [tokens, from 0]")
        panel.set_xlim(-0.5, length - 0.5)
        panel.set_ylim(-0.5, steps - 0.5)
        whole_ticks(panel)
    whole_ticks(panels[0], "y")
    panels[0].set_ylabel("step, from 0")
    figure.colorbar(panels[0].images[0], ax=panels, label="share of prompts", shrink=0.9, pad=0.02)
    legend(figure, panels[0], axes)
    sizes = sorted({len(run) for run in shown})
    prompts = count(sizes[0], "prompt") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} prompts"
    return finished(
        figure,
        axes,
        f"A dark cell is a step at which many of {prompts} commit that position.",
        "GOD, the mean generation order deviation, is 0 from left to right.",
        missing_note(traces),
    )


@drawn
def order_spread(values: Mapping[str, ArrayLike], *, axes: Panels = None) -> Figure:
    """Draw how far the log-likelihoods of one text in several orders differ: a row for each name, a dot for each order.

    Dots are less the mean of their row, and spread over its height in their order, so that equal ones are seen.

    values : name -> log-likelihoods in nats, as `rws_decode.order_log_likelihood` gives them, shape (orders,).
    ValueError for no values, and for values that are not finite.

    >>> from rws_decode import plots
    >>> plots.caption(plots.order_spread({"exact": [-3.0, -3.0], "learned": [-3.0, -5.0]}))
    'The standard deviation over orders is 0 nats (exact) and 1.41 nats (learned).'
    """
    rows = {name: np.atleast_1d(np.asarray(row, dtype=float)) for name, row in values.items()}
    for name, row in rows.items():
        if row.ndim != 1 or row.size < 2 or not np.isfinite(row).all():
            raise ValueError(
                f"values holds {name!r} of shape {row.shape}: at least two finite log-likelihoods are needed"
            )
    if not rows:
        raise ValueError("values holds nothing: a name with log-likelihoods of several orders is needed")
    figure, (panel,) = panels_of(axes, 1, 1, (8.0, 1.4 + 0.5 * len(rows)))
    for line, row in enumerate(rows.values()):
        look = LOOKS[line % len(LOOKS)]
        height = line + _ACROSS * (np.arange(row.size) / (row.size - 1) - 0.5)
        panel.plot(row - row.mean(), height, look.marker, color=look.color, markersize=4, alpha=0.7)
    panel.set_yticks(range(len(rows)), list(rows))
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.grid(visible=False, axis="y")
    panel.set_xlabel("log-likelihood of the path, less the mean over orders [nats]")
    spread = {name: row.std(ddof=1) if np.ptp(row) > 1e-9 * np.abs(row).max() else 0.0 for name, row in rows.items()}
    texts = [f"{number(float(deviation), 3)} nats ({name})" for name, deviation in spread.items()]
    return finished(figure, axes, f"The standard deviation over orders is {joined(texts, len(texts))}.")


@drawn
def entropy_left(paths: Mapping[str, Sequence[PathDiagnostics]], *, axes: Panels = None) -> Figure:
    """Draw the entropy that is left open against the tokens that are committed, a line for each name: means of decodes.

    Across: tokens committed before a step, between steps in a straight line.

    paths : name -> what `rws_decode.path_diagnostics` returned for one or more decodes. ValueError for no decodes.

    >>> from rws_decode import Shape, decode, load_predictor, path_diagnostics, plots
    >>> english = load_predictor("english")
    >>> (trace,) = decode(english, english.prompts[3], "default", Shape(8, 4, 8))
    >>> plots.caption(plots.entropy_left({"default": [path_diagnostics(trace, english)]}))
    'Means of 1 decode.'
    """
    if not paths or not all(paths.values()):
        raise ValueError("paths holds nothing: a name with what path_diagnostics(trace, predictor) returned is needed")
    figure, (panel,) = panels_of(axes, 1, 1, (8.0, 4.0))
    for line, (name, decodes) in enumerate(paths.items()):
        look = LOOKS[line % len(LOOKS)]
        before = [np.cumsum(path.tokens) - path.tokens for path in decodes]
        tokens = np.arange(1 + max(int(row[-1]) for row in before))
        entropy = [np.interp(tokens, row, path.entropy_left) for row, path in zip(before, decodes, strict=True)]
        panel.plot(tokens, np.mean(entropy, axis=0), color=look.color, linestyle=look.dash, label=name)
    panel.set_ylim(0, None)
    panel.set_xlabel("tokens committed")
    panel.set_ylabel("entropy left [nats]")
    whole_ticks(panel)
    panel.legend(loc="best")
    sizes = sorted({len(decodes) for decodes in paths.values()})
    decodes = count(sizes[0], "decode") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} decodes"
    return finished(figure, axes, f"Means of {decodes}.")
