"""The page of orders: words a step, their distance and a chain's memory dragged, and divergences that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rws_decode.common.page import Page
from rws_decode.view.sentences import count, joined
from rws_decode.view.template import page_of, rounded


@dataclass(frozen=True, eq=False)
class OrdersCase:
    """What the page shows at each setting.

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


def orders_page(title: str, said: str, case: OrdersCase) -> Page:
    """Return a page on which words a step, their least distance and the memory of a chain are dragged.

    >>> case = OrdersCase(["a"], [1], [1], [0.5], np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 1, 1, 2), int), "ab")
    >>> "0.000 nats by a." in orders_page("Orders", "", case).html
    True
    """
    stops = {name: list(getattr(case, name)) for name in ("names", "words", "distances", "memories")}
    data = stops | {
        "kl": [[rounded(value, 5) for value in row] for row in case.kl.reshape(-1, len(case.names)).tolist()],
        "steps": case.steps.reshape(-1, len(case.names), case.steps.shape[-1]).tolist(),
        "text": case.text,
        "said": [_sentence(case, *at) for at in np.ndindex(case.kl.shape[:3])],
    }
    ends = {"words": case.words, "distance": case.distances, "memory": case.memories}
    return page_of(
        "orders.html",
        title=title,
        plain=said,
        scripts=("lines.js", "orders.js"),
        data=data,
        **{f"last_{name}": str(len(stops) - 1) for name, stops in ends.items()},
    )


def _sentence(case: OrdersCase, words: int, distance: int, memory: int) -> str:
    values = case.kl[words, distance, memory]
    told = [
        f"{value:.3f} {'nats ' if at == 0 else ''}by {name}"
        for at, (value, name) in enumerate(zip(values, case.names, strict=True))
    ]
    k, far = case.words[words], case.distances[distance]
    kept = f", {far} or more apart" if far > 1 and k > 1 else ""
    setting = f"{count(k, 'word')} a step{kept}, memory {case.memories[memory]:g}"
    return f"{setting}: KL(p\u00a0\u2016\u00a0q) is {joined(told, len(told))}."
