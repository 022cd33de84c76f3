"""Differences with intervals in words: what a line says follows from whether its intervals exclude zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas

__all__ = ["contrast_lines", "difference_text", "excludes_zero", "range_line"]

_CONTROLS = {
    "constant": "a constant factor of equal mean",
    "shuffled": "its own rewards in shuffled order",
    "temperature": "temperature at the same scale",
    "default": "confidence decoding",
}
_METRICS = {"coherent": "share coherent", "perplexity": "perplexity", "judge": "judge's reward", "god_steps": "GOD in steps"}


def excludes_zero(low: float, high: float) -> bool:
    """Say whether an interval leaves zero outside.

    >>> excludes_zero(0.1, 0.2), excludes_zero(-0.1, 0.2), excludes_zero(0.0, 0.0)
    (True, False, False)
    """
    return low > 0 or high < 0


def difference_text(row: Mapping[str, Any] | pandas.Series) -> str:
    """Return a difference and its interval to three significant digits.

    >>> difference_text({"difference": 0.1234, "low": -1.0, "high": 20.0})
    '+0.123 [-1, +20]'
    """
    return f"{row['difference']:+.3g} [{row['low']:+.3g}, {row['high']:+.3g}]"


def contrast_lines(controls: pandas.DataFrame) -> tuple[str, ...]:
    """Return a line per control and metric: at how many scales RWS differs from it, where, and by how much.

    controls: columns control, scale, metric, difference (RWS minus control), low, high.

    >>> row = {"control": "constant", "metric": "coherent", "scale": 8.0, "difference": 0.1, "low": -0.1, "high": 0.3}
    >>> contrast_lines(pandas.DataFrame([row]))
    ('RWS minus a constant factor of equal mean, share coherent: no 95 % interval of 1 excludes zero; no difference is shown (s_R = 8: +0.1 [-0.1, +0.3]).',)
    """
    lines = []
    for control, other in _CONTROLS.items():
        for metric, name in _METRICS.items():
            rows = controls[(controls["control"] == control) & (controls["metric"] == metric)].sort_values("scale")
            if len(rows):
                lines.append(f"RWS minus {other}, {name}: {_finding(rows)}")
    return tuple(lines)


def _finding(rows: pandas.DataFrame) -> str:
    texts = {True: [], False: []}
    signs = set()
    for row in rows.to_dict("records"):
        shown = f"s_R = {row['scale']:g}: {difference_text(row)}"
        outside = excludes_zero(row["low"], row["high"])
        texts[outside].append(shown)
        if outside:
            signs.add("higher" if row["difference"] > 0 else "lower")
    count = len(rows)
    if not texts[True]:
        largest = rows.loc[rows["difference"].abs().idxmax()]
        if not rows[["difference", "low", "high"]].to_numpy().any():
            return f"every difference is exactly zero ({count} scales)."
        shown = f"s_R = {largest['scale']:g}: {difference_text(largest)}"
        which = f"({shown})" if count == 1 else f"(the largest: {shown})"
        return f"no 95 % interval of {count} excludes zero; no difference is shown {which}."
    direction = signs.pop() if len(signs) == 1 else "higher at some scales and lower at others"
    return (
        f"{len(texts[True])} of {count} 95 % intervals exclude zero, RWS {direction} ({'; '.join(texts[True])}); by chance "
        f"alone {0.05 * count:.1f} would."
    )


def range_line(summary: pandas.DataFrame) -> str | None:
    """Return how the perplexities of temperature and RWS lie over the scales; None where a method is absent.

    The paper's claim is that every temperature is worse than the worst RWS (Appendix F).

    >>> table = pandas.DataFrame({"method": ["rws", "temperature"], "perplexity": [2.0, 3.0]})
    >>> range_line(table)
    'Perplexity over the scales: temperature 3.00 to 3.00, RWS 2.00 to 2.00; every temperature is worse than the worst RWS.'
    """
    ends = {method: (rows.min(), rows.max()) for method, rows in summary.groupby("method")["perplexity"]}
    if not {"rws", "temperature"} <= set(ends):
        return None
    (low_t, high_t), (low_r, high_r) = ends["temperature"], ends["rws"]
    if low_t > high_r:
        order = "every temperature is worse than the worst RWS"
    elif low_r > high_t:
        order = "every RWS is worse than the worst temperature"
    else:
        order = "the ranges overlap, so not every temperature is worse than the worst RWS"
    return (
        f"Perplexity over the scales: temperature {low_t:.2f} to {high_t:.2f}, RWS {low_r:.2f} to {high_r:.2f}; {order}."
    )
