"""Notebook 5: one step ranked exactly and by rounded probabilities at each scale, on a page to drag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rws_decode import HFMaskPredictor, Options, Shape, Temperature, decode
from rws_decode.common.page import Page
from rws_decode.extra.pages.case_pages import BarsCase, bars_page

# How positions are ranked: exactly, or by a rounded probability with ties leftmost, or as public decoders do it.
RANKINGS = {
    "exact": Options(),
    "float32": Options(ranking="probability", precision="float32"),
    "bfloat16": Options(ranking="probability", precision="bfloat16"),
    "bfloat16, torch.topk": Options(ranking="topk", precision="bfloat16"),
}


@dataclass(frozen=True, eq=False)
class FirstSteps:
    """The first step of one prompt at n scales, by each ranking.

    words: the candidates, [m]; chosen: ranking -> bool [n, m], what is committed; value: ranking -> [n, m], what
    positions are ranked by.
    """

    scales: NDArray[np.float64]
    words: Sequence[str]
    chosen: Mapping[str, NDArray[np.bool_]]
    value: Mapping[str, NDArray[np.float64]]


def first_steps(predictor: HFMaskPredictor, prompt: str, shape: Shape) -> FirstSteps:
    """Decode the first step of a prompt at 57 scales from 0.25 to 32, by each ranking."""
    scales = np.geomspace(0.25, 32, 57)
    strategy = Temperature(tuple(scales.tolist()))
    runs = {
        name: decode(predictor, [prompt] * len(scales), strategy, shape, options=options, callback=lambda _: True)
        for name, options in RANKINGS.items()
    }
    first = runs["exact"][0]
    return FirstSteps(
        scales,
        first.words(first.candidate[0]),
        {name: np.stack([run.chosen[0] for run in decoded]) for name, decoded in runs.items()},
        {name: np.stack([run.value[0] for run in decoded]) for name, decoded in runs.items()},
    )


def drag(steps: FirstSteps) -> Page:
    """Return a page on which the scale is dragged: the log-odds that each position is ranked by, and what is level."""
    return bars_page(
        "The first step, ranked exactly and rounded",
        "Drag the scale. Bars are the log-odds that positions are ranked by. By the exact ranking their order changes "
        "little. Rounded, more and more of them become probability 1.0 (\u221e), which is one tie.",
        "c",
        steps.scales,
        [f"{word} {place}" for place, word in enumerate(steps.words)],
        [_case(steps, name) for name in steps.value],
        start=8.0,
    )


def _odds(steps: FirstSteps, name: str) -> NDArray[np.float64]:
    """Return the log-odds of what positions are ranked by, [n, m]: infinite where the probability is 1."""
    value = steps.value[name]
    with np.errstate(divide="ignore"):
        return value if name == "exact" else np.log(value) - np.log1p(-value)


def _case(steps: FirstSteps, name: str) -> BarsCase:
    def level(ranking: str) -> NDArray[np.int64]:
        return np.isposinf(_odds(steps, ranking)).sum(axis=1)

    def named(chosen: NDArray[np.bool_]) -> str:
        return " and ".join(map(str, np.flatnonzero(chosen)))

    chosen = steps.chosen[name], steps.chosen["exact"]
    sentences = [
        f"At c = {scale:.3g}, {many} of {len(steps.words)} positions are at probability 1.0. Positions {named(ours)} "
        f"are committed; by the exact order, {named(exact)}."
        for scale, many, ours, exact in zip(steps.scales, level(name), *chosen, strict=True)
    ]
    return BarsCase(
        name,
        {"log-odds": _odds(steps, name)},
        {ranking: level(ranking) for ranking in ("float32", "bfloat16")},
        sentences,
        "log-odds that the positions are ranked by [nats]",
        "positions at probability 1.0, of all",
        None,
        steps.chosen[name],
    )
