"""Differences with intervals in words: what a line says follows from whether its intervals exclude zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["contrast_lines", "difference_text", "excludes_zero", "range_line"]

Row = Mapping[str, Any]

_CONTROLS = {
    "constant": "a constant factor of equal mean",
    "shuffled": "its own rewards in shuffled order",
    "temperature": "temperature at the same scale",
    "default": "confidence decoding",
}
_METRICS = {
    "coherent": "share coherent",
    "perplexity": "perplexity",
    "judge": "judge's reward",
    "god_steps": "GOD in steps",
}


def excludes_zero(row: Row) -> bool:
    """Say whether the interval from "low" to "high" leaves zero outside.

    >>> [excludes_zero({"low": low, "high": high}) for low, high in [(0.1, 0.2), (-0.1, 0.2), (0.0, 0.0)]]
    [True, False, False]
    """
    return row["low"] > 0 or row["high"] < 0


def difference_text(row: Row) -> str:
    """Return a difference and its interval to three significant digits.

    >>> difference_text({"difference": 0.1234, "low": -1.0, "high": 20.0})
    '+0.123 [-1, +20]'
    """
    return f"{row['difference']:+.3g} [{row['low']:+.3g}, {row['high']:+.3g}]"


def contrast_lines(controls: Sequence[Row]) -> tuple[str, ...]:
    """Return a line per control and metric: at how many scales RWS differs from it, where, and by how much.

    controls: rows with control, scale, metric, difference (RWS minus control), low, high.

    >>> row = {"control": "constant", "metric": "coherent", "scale": 8.0, "difference": 0.1, "low": 0.0, "high": 0.2}
    >>> contrast_lines([row])[0].partition(": ")[2]
    'no 95 % interval of 1 excludes zero; no difference is shown (the largest is at s_R = 8: +0.1 [+0, +0.2]).'
    """
    lines = []
    for control, other in _CONTROLS.items():
        for metric, name in _METRICS.items():
            rows = [row for row in controls if row["control"] == control and row["metric"] == metric]
            if rows:
                finding = _finding(sorted(rows, key=lambda row: row["scale"]))
                lines.append(f"RWS minus {other}, {name}: {finding}")
    return tuple(lines)


def _finding(rows: Sequence[Row]) -> str:
    count, outside = len(rows), [row for row in rows if excludes_zero(row)]
    if not any(row[field] for row in rows for field in ("difference", "low", "high")):
        return f"every difference is exactly zero ({count} scales)."
    if not outside:
        most = max(rows, key=lambda row: abs(row["difference"]))
        shown = f"the largest is at s_R = {most['scale']:g}: {difference_text(most)}"
        return f"no 95 % interval of {count} excludes zero; no difference is shown ({shown})."
    signs = {"higher" if row["low"] > 0 else "lower" for row in outside}
    direction = signs.pop() if len(signs) == 1 else "higher at some scales and lower at others"
    shown = "; ".join(f"s_R = {row['scale']:g}: {difference_text(row)}" for row in outside)
    return (
        f"{len(outside)} of {count} 95 % intervals exclude zero, RWS {direction} ({shown}); were there no difference, "
        f"{0.05 * count:.1f} would be expected to."
    )


def range_line(summary: Sequence[Row]) -> str | None:
    """Return how the perplexities of temperature and RWS lie over the scales; None where a method is absent.

    The paper's claim is that every temperature is worse than the worst RWS (Appendix F).

    >>> rows = [{"method": "rws", "perplexity": 2.0}, {"method": "temperature", "perplexity": 3.0}]
    >>> range_line(rows).partition("; ")[2]
    'every temperature is worse than the worst RWS.'
    """
    of = {name: [row["perplexity"] for row in summary if row["method"] == name] for name in ("temperature", "rws")}
    if not all(of.values()):
        return None
    (low_t, high_t), (low_r, high_r) = ((min(values), max(values)) for values in of.values())
    if low_t > high_r:
        order = "every temperature is worse than the worst RWS"
    elif low_r > high_t:
        order = "every RWS is worse than the worst temperature"
    else:
        order = "the ranges overlap, so not every temperature is worse than the worst RWS"
    spans = f"temperature {low_t:.2f} to {high_t:.2f}, RWS {low_r:.2f} to {high_r:.2f}"
    return f"Perplexity over the scales: {spans}; {order}."
