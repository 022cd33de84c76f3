"""Pairs of positions: which is ahead at each scale, and what is said of the crossings of their curves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from rws_decode.common.palette import BLACK, BLUE, GREY, VERMILION
from rws_decode.view.sentences import count, joined, number
from rws_theory import Crossings

_SHORT = 2  # letters of names that can be indices
_FLAT = 0.1  # of the tallest stretch: a lower one is hard to see on an even axis


def draw_ahead(
    axes: Axes, pair: Crossings, scale: NDArray[np.float64], ahead: NDArray[np.float64], names: tuple[str, str]
) -> None:
    """Draw the lead of the first position over the second, [m] at the scales [m]: log-odds per unit of scale [nats].

    The crossings are marked where the lead is 0. The limits at scale 0 and infinity are dotted, where every token of
    both positions is possible.
    """
    axes.axhline(0, color=BLACK, linewidth=0.8)
    axes.set_title(f"crossings: {', '.join(map(number, pair.roots)) or 'none'}")
    if not np.isfinite(ahead).any():  # one of them has one possible token
        axes.set_yticks([])
        axes.set_ylabel("no finite difference of log-odds")
        return
    axes.plot(scale, ahead, color=GREY)
    axes.fill_between(scale, ahead, 0, where=ahead > 0, color=BLUE, alpha=0.3, linewidth=0, label=f"{names[0]} ahead")
    second = {"facecolor": VERMILION, "alpha": 0.3, "hatch": "//", "linewidth": 0}
    axes.fill_between(scale, ahead, 0, where=ahead < 0, label=f"{names[1]} ahead", **second)
    axes.margins(y=0.15)
    short = names if all(name.isalnum() and len(name) <= _SHORT for name in names) else ("1", "2")
    less = f"log-odds of {short[0]} less those of {short[1]},\nper unit of scale [nats"
    unit = less if short is names else "log-odds of the first less those\nof the second, per unit of scale [nats"
    lobes = [np.abs(part).max() for part in np.split(ahead, np.searchsorted(scale, pair.roots)) if part.size]
    if 0 < min(lobes) < _FLAT * max(lobes):
        _stretch(axes, min(lobes), max(lobes))
        unit += ";\nstretched near 0"
    _limits(axes, pair, short)
    axes.set_ylabel(f"{unit}]")
    for crossing in pair.crossings:
        if scale[0] <= crossing.root <= scale[-1]:
            face = BLACK if (crossing.multiplicity or 0) % 2 else "white"
            axes.plot(crossing.root, 0, "o", color=face, markeredgecolor=BLACK, markersize=6, zorder=5)
    axes.legend(loc="best")


def _stretch(axes: Axes, least: float, most: float) -> None:
    axes.set_yscale("asinh", linear_width=max(least, 1e-3 * most))
    ticks = [sign * size for sign in (-1, 1) for size in (least, most)]
    axes.set_yticks([0, *ticks], ["0", *(f"{tick:.2g}".replace("-", "\u2212") for tick in ticks)])
    axes.set_yticks([], minor=True)


def _limits(axes: Axes, pair: Crossings, names: tuple[str, str]) -> None:
    """Dot the differences of the mean gaps and of the smallest gaps, from which and to which the lead goes."""
    if not np.isfinite([*pair.sigma, *pair.delta]).all() or pair.dimension < 2:
        return
    first, second = names
    ends = (
        (
            (pair.sigma[0] - pair.sigma[1]) / (pair.dimension - 1),
            rf"$(\Sigma_{{{first}}} - \Sigma_{{{second}}})/n$",
            "left",
            (0, 0.3),
        ),
        (pair.delta[0] - pair.delta[1], rf"$\delta_{{{first}}} - \delta_{{{second}}}$", "right", (0.7, 1)),
    )
    for height, name, side, span in ends:
        axes.axhline(height, *span, color=GREY, linestyle=":")
        look = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": side}
        ground = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.5}
        axes.annotate(name, (0.01 if side == "left" else 0.99, height), (0, 3), bbox=ground, **look)


def of_selected(k: int | None, positions: int) -> str:
    """Say what a thick curve means, "" where none is.

    >>> of_selected(2, 9), of_selected(None, 9)
    ('A curve is thick where it is among the 2 highest of all 9.', '')
    """
    if k is None or not 0 < k < positions:
        return ""
    return f"A curve is thick where it is {f'among the {k} highest' if k > 1 else 'the highest'} of all {positions}."


def of_pairs(pairs: Mapping[tuple[str, str], Crossings], low: float, high: float) -> list[str]:
    """Say where the curves of pairs, by their names, cross at scales from low to high, and what of it is proved."""
    if len(pairs) == 1:
        (((first, second), pair),) = pairs.items()
        return _of_pair(first, second, pair)
    if not pairs:
        return []
    crossed = sum(low <= root <= high for pair in pairs.values() for root in pair.roots)
    between = f"between {number(low)} and {number(high)}"
    proved = all(pair.complete for pair in pairs.values())
    return [
        f"The {len(pairs)} pairs of curves have {count(crossed, 'crossing')} {between}.",
        "It is proved that there are no others." if proved else "Others are not excluded (hatched).",
    ]


def _of_pair(first: str, second: str, pair: Crossings) -> list[str]:
    both = f"The curves of {first} and {second}"
    if pair.identical:
        return [f"{both} are the same at every scale: their gaps are equal."]
    if not pair.count:
        return [f"{both} never cross: proved." if pair.complete else f"No crossing of {both.lower()} is known."]
    times = {1: "once", 2: "twice"}.get(pair.count, f"{pair.count} times")
    touching = " (hollow: they touch)" if any(crossing.multiplicity == 2 for crossing in pair.crossings) else ""
    return [
        f"{both} cross {times}, at {joined([number(root) for root in pair.roots], 6)}{touching}.",
        "It is proved that they cross nowhere else." if pair.complete else "Others are not excluded (hatched).",
    ]
