"""Differences with intervals in words: what a line says follows from whether its intervals exclude zero."""

from __future__ import annotations

import pandas

__all__ = ["contrast_lines", "excludes_zero"]

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


def contrast_lines(controls: pandas.DataFrame) -> tuple[str, ...]:
    """Return a line per control and metric: at how many scales RWS differs from it, where, and by how much.

    controls: columns control, scale, metric, difference (RWS minus control), low, high.

    >>> row = {"control": "constant", "metric": "coherent", "scale": 8.0, "difference": 0.1, "low": -0.1, "high": 0.3}
    >>> contrast_lines(pandas.DataFrame([row]))
    ('RWS minus a constant factor of equal mean, share coherent: no 95 % interval of 1 excludes zero; no difference is shown (s_R = 8: +0.10 [-0.10, +0.30]).',)
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
        shown = f"s_R = {row['scale']:g}: {row['difference']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
        outside = excludes_zero(row["low"], row["high"])
        texts[outside].append(shown)
        if outside:
            signs.add("higher" if row["difference"] > 0 else "lower")
    count = len(rows)
    if not texts[True]:
        largest = rows.loc[rows["difference"].abs().idxmax()]
        shown = f"s_R = {largest['scale']:g}: {largest['difference']:+.2f} [{largest['low']:+.2f}, {largest['high']:+.2f}]"
        which = f"({shown})" if count == 1 else f"(the largest: {shown})"
        return f"no 95 % interval of {count} excludes zero; no difference is shown {which}."
    direction = signs.pop() if len(signs) == 1 else "higher at some scales and lower at others"
    return (
        f"{len(texts[True])} of {count} 95 % intervals exclude zero, RWS {direction} ({'; '.join(texts[True])}); by chance "
        f"alone {0.05 * count:.1f} would."
    )
