"""The page of bars along a scale: the scale dragged, the bars as they are there, and lines over all scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rws_decode.common.page import Page
from rws_decode.view.template import page_of, rounded

_DIGITS = 5


@dataclass(frozen=True, eq=False)
class BarsCase:
    """What the page shows at each of n scales; a reader chooses among several cases by name.

    bars: series -> [n, m], a bar for each of the page's m names; lines: series -> [n], each at most three; said: a
    sentence for each scale; height, across: labels of bars and of lines, with their units; limits: the ends of the
    bars' axis, those of each scale's own bars where None; chosen: bool [n, m], bars that are marked as committed, with
    one series; marks: scales at which the lines have an upright dash. NaN is a bar or a point that is not drawn.
    """

    name: str
    bars: Mapping[str, ArrayLike]
    lines: Mapping[str, ArrayLike]
    said: Sequence[str]
    height: str
    across: str
    limits: tuple[float, float] | None = None
    chosen: ArrayLike | None = None
    marks: Sequence[float] = field(default=())


def bars_page(
    title: str,
    said: str,
    symbol: str,
    scales: ArrayLike,
    names: Sequence[str],
    cases: Sequence[BarsCase],
    start: float = 1.0,
) -> Page:
    """Return a page on which a scale is dragged and bars follow: probabilities of words, values of positions.

    symbol: the name of the scale; scales: those that were computed, rising, evenly in the logarithm; names: of the
    bars; start: the page begins at the nearest scale.

    >>> case = BarsCase("a", {"p": [[0.5], [0.9]]}, {"p": [0.5, 0.9]}, ["low", "high"], "p", "p", (0, 1))
    >>> "dragged" in bars_page("Words dragged", "", "c", [1.0, 10.0], ["cat"], [case]).html
    True
    """
    at = np.asarray(scales, dtype=float)
    data = {
        "symbol": symbol,
        "at": [rounded(scale) for scale in at.tolist()],
        "start": int(np.abs(np.log(at / start)).argmin()),
        "names": list(names),
        "cases": [_json(case) for case in cases],
    }
    return page_of(
        "bars.html",
        title=title,
        plain=said,
        scripts=("lines.js", "axis.js", "bars.js"),
        data=data,
        choice="What is shown",
        symbol=escape(symbol),
        last=str(len(at) - 1),
    )


def _json(case: BarsCase) -> dict[str, Any]:
    def short(values: ArrayLike) -> list[Any]:
        return [rounded(value, _DIGITS) for value in np.asarray(values, dtype=float).tolist()]

    chosen = None if case.chosen is None else [np.flatnonzero(row).tolist() for row in np.asarray(case.chosen)]
    return vars(case) | {
        "bars": [
            {"name": name, "values": [short(row) for row in np.asarray(values)]} for name, values in case.bars.items()
        ],
        "lines": [{"name": name, "values": short(values)} for name, values in case.lines.items()],
        "chosen": chosen,
        "marks": [rounded(mark) for mark in case.marks],
    }
