"""What the paths of decodes are worth: log-likelihoods of one text in many orders, and the entropy left on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rws_decode.common.palette import LOOKS
from rws_decode.replay.path_diagnostics import PathDiagnostics
from rws_decode.view.plots.axes import whole_ticks
from rws_decode.view.plots.sheet import Panels, drawn, finished, panels_of
from rws_decode.view.sentences import count, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACROSS = 0.5  # of a row: how far its dots are spread


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
    for at, row in enumerate(rows.values()):
        look = LOOKS[at % len(LOOKS)]
        height = at + _ACROSS * (np.arange(row.size) / (row.size - 1) - 0.5)
        panel.plot(row - row.mean(), height, look.marker, color=look.color, markersize=4, alpha=0.7)
    panel.set_yticks(range(len(rows)), list(rows))
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.grid(visible=False, axis="y")
    panel.set_xlabel("log-likelihood of the path, less the mean over orders [nats]")
    spread = {name: row.std(ddof=1) if np.ptp(row) > 1e-9 * np.abs(row).max() else 0.0 for name, row in rows.items()}
    told = [f"{number(float(deviation), 3)} nats ({name})" for name, deviation in spread.items()]
    listed = " and ".join([", ".join(told[:-1]), told[-1]] if told[1:] else told)
    return finished(figure, axes, f"The standard deviation over orders is {listed}.")


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
    for at, (name, decodes) in enumerate(paths.items()):
        look = LOOKS[at % len(LOOKS)]
        before = [np.cumsum(path.tokens) - path.tokens for path in decodes]
        tokens = np.arange(1 + max(int(row[-1]) for row in before))
        left = [np.interp(tokens, row, path.entropy_left) for row, path in zip(before, decodes, strict=True)]
        panel.plot(tokens, np.mean(left, axis=0), color=look.color, linestyle=look.dash, label=name)
    panel.set_ylim(0, None)
    panel.set_xlabel("tokens committed")
    panel.set_ylabel("entropy left [nats]")
    whole_ticks(panel)
    panel.legend(loc="best")
    sizes = sorted({len(decodes) for decodes in paths.values()})
    decodes = count(sizes[0], "decode") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} decodes"
    return finished(figure, axes, f"Means of {decodes}.")
