"""Pages of cases computed beforehand: sliders over a scale, with bars, and over settings, with orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_decode.common.page import Page
from rws_decode.view.sentences import count, joined

_DIGITS = 5


@dataclass(frozen=True, eq=False)
class BarsCase:
    """Bars and lines at each of n scales; a reader chooses among several cases by name.

    bars: series -> [n, m], a bar for each of the page's m names; lines: series -> [n], each at most three; said: a
    sentence for each scale; height, across: labels of bars and of lines, with their units; limits: of the bars' axis,
    None for those of each scale; chosen: bool [n, m], bars that are marked as committed, with one series; marks: scales
    at which the lines have an upright dash. NaN is a bar or a point that is not shown.
    """

    name: str
    bars: Mapping[str, ArrayLike]
    lines: Mapping[str, ArrayLike]
    said: Sequence[str]
    height: str
    across: str
    limits: tuple[float, float] | None = None
    chosen: ArrayLike | None = None
    marks: Sequence[float] = ()


def bars_page(
    title: str,
    lead: str,
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
    from rws_decode.extra.pages.template import page_of, rounded

    values = np.asarray(scales, dtype=float)
    data = {
        "symbol": symbol,
        "at": [rounded(scale) for scale in values.tolist()],
        "start": int(np.abs(np.log(values / start)).argmin()),
        "names": list(names),
        "cases": [_json(case) for case in cases],
    }
    return page_of(
        "bars.html",
        title=title,
        plain=lead,
        scripts=("lines.js", "axis.js", "bars.js"),
        data=data,
        choice="What is shown",
        symbol=escape(symbol),
        last=str(len(values) - 1),
    )


def _json(case: BarsCase) -> dict[str, Any]:
    from rws_decode.extra.pages.template import rounded

    def short(values: ArrayLike) -> list[Any]:
        return [rounded(value, _DIGITS) for value in np.asarray(values, dtype=float).tolist()]

    chosen = None if case.chosen is None else [np.flatnonzero(row).tolist() for row in np.asarray(case.chosen)]
    return {name: getattr(case, name) for name in ("name", "height", "across", "limits")} | {
        "bars": [
            {"name": name, "values": [short(row) for row in np.asarray(values)]} for name, values in case.bars.items()
        ],
        "lines": [{"name": name, "values": short(values)} for name, values in case.lines.items()],
        "chosen": chosen,
        "marks": [rounded(mark) for mark in case.marks],
        "said": case.said,
    }


@dataclass(frozen=True, eq=False)
class OrdersCase:
    """KL divergences and orders at each setting.

    names: of O orders; words, distances, memories: the stops of the sliders, rising, W, D and M of them; kl: nats, [W,
    D, M, O]; steps: the step, from 0, at which each order commits each of the text's n tokens, [W, D, M, O, n].
    """

    names: Sequence[str]
    words: Sequence[int]
    distances: Sequence[int]
    memories: Sequence[float]
    kl: NDArray[np.float64]
    steps: NDArray[np.int64]
    text: str


def orders_page(title: str, lead: str, case: OrdersCase) -> Page:
    """Return a page on which words a step, their least distance and the memory of a chain are dragged.

    >>> case = OrdersCase(["a"], [1], [1], [0.5], np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 1, 1, 2), int), "ab")
    >>> "0.000 nats by a." in orders_page("Orders", "", case).html
    True
    """
    from rws_decode.extra.pages.template import page_of, rounded

    stops = {name: list(getattr(case, name)) for name in ("names", "words", "distances", "memories")}
    data = stops | {
        "kl": [[rounded(value, 5) for value in row] for row in case.kl.reshape(-1, len(case.names)).tolist()],
        "steps": case.steps.reshape(-1, len(case.names), case.steps.shape[-1]).tolist(),
        "text": case.text,
        "said": [_sentence(case, *stop) for stop in np.ndindex(case.kl.shape[:3])],
    }
    ends = {"words": case.words, "distance": case.distances, "memory": case.memories}
    return page_of(
        "orders.html",
        title=title,
        plain=lead,
        scripts=("lines.js", "orders.js"),
        data=data,
        **{f"last_{name}": str(len(stops) - 1) for name, stops in ends.items()},
    )


def _sentence(case: OrdersCase, words: int, distance: int, memory: int) -> str:
    values = case.kl[words, distance, memory]
    parts = [
        f"{value:.3f} {'nats ' if number == 0 else ''}by {name}"
        for number, (value, name) in enumerate(zip(values, case.names, strict=True))
    ]
    k, far = case.words[words], case.distances[distance]
    spacing = f", {far} or more apart" if far > 1 and k > 1 else ""
    setting = f"{count(k, 'word')} a step{spacing}, memory {case.memories[memory]:g}"
    return f"{setting}: KL(p\u00a0\u2016\u00a0q) is {joined(parts, len(parts))}."
