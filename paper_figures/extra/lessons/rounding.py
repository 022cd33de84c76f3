"""Lesson 5, one step: where a rounded probability becomes 1, and what that commits at each scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from paper_figures.extra.lessons.case_pages import BarsCase, bars_page
from rws_decode import HFMaskPredictor, Options, Shape, Temperature, decode
from rws_decode.common.page import Page
from rws_decode.common.palette import BLACK, LOOKS, PALE
from rws_decode.settings import Precision
from rws_decode.step.select import rank_values
from rws_decode.view.plots.axes import scale_axis
from rws_decode.view.plots.sheet import drawn, finished, panels_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# How positions are ranked: exactly, or by a rounded probability with ties leftmost, or as public decoders do it.
RANKINGS = {
    "exact": Options(),
    "float32": Options(ranking="probability", precision="float32"),
    "bfloat16": Options(ranking="probability", precision="bfloat16"),
    "bfloat16, torch.topk": Options(ranking="topk", precision="bfloat16"),
}
_FORMATS: tuple[Precision, ...] = ("bfloat16", "float32", "float64")
_MARGINS = torch.arange(0, 45, 0.01, dtype=torch.float64)


def _rounded(precision: Precision) -> torch.Tensor:
    """Return the probability of the better of two tokens at each margin, rounded to a format."""
    two = torch.stack([_MARGINS, torch.zeros_like(_MARGINS)], dim=1)
    return rank_values(two, two.argmax(dim=1), 1.0, "probability", precision)


def first_ones() -> dict[str, float]:
    """Return the least log-odds [nats, to 0.01] whose rounded probability is exactly 1, for each number format."""
    return {precision: float(_MARGINS[_rounded(precision) == 1][0]) for precision in _FORMATS}


@drawn
def ones_picture(ones: Mapping[str, float]) -> Figure:
    """Draw which log-odds the rounded probability stands for, over the last nats of each number format."""
    figure, panels = panels_of(None, 1, 3, (10.0, 3.6))
    for panel, precision, look in zip(panels, _FORMATS, LOOKS, strict=False):
        one, probability = ones[precision], _rounded(precision)
        near = ((_MARGINS - one).abs() < 4) & (_MARGINS - one < 1)
        panel.plot(_MARGINS[near], _MARGINS[near], "--", color=BLACK, linewidth=1, label="exact")
        rounded = torch.logit(probability).masked_fill(probability == 1, torch.nan)
        panel.plot(_MARGINS[near], rounded[near], color=look.color, linewidth=2, label="rounded")
        panel.axvspan(one, one + 1, color=PALE, label="probability 1.0")
        panel.set_title(f"{precision}: 1.0 from {one:.1f}")
        panel.legend(loc="upper left")
    panels[0].set_ylabel("log-odds of the\nrounded probability [nats]")
    panels[1].set_xlabel("exact log-odds: scale times margin [nats]")
    return figure


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

    def committed(self, ranking: str, scale: float) -> list[int]:
        """Return the positions committed at the scale tried that is nearest to one, ascending."""
        return np.flatnonzero(self.chosen[ranking][int(np.abs(self.scales - scale).argmin())]).tolist()


def first_steps(
    predictor: HFMaskPredictor, prompt: str, shape: Shape, scales: NDArray[np.float64] | None = None
) -> FirstSteps:
    """Decode the first step of a prompt at many scales, by each ranking; by default 57 from 0.25 to 32."""
    scales = np.geomspace(0.25, 32, 57) if scales is None else scales
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

    said = [
        f"At c = {scale:.3g}, {many} of {len(steps.words)} positions are at probability 1.0. Positions {named(ours)} "
        f"are committed; by the exact order, {named(exact)}."
        for scale, many, ours, exact in zip(
            steps.scales, level(name), steps.chosen[name], steps.chosen["exact"], strict=True
        )
    ]
    return BarsCase(
        name,
        {"log-odds": _odds(steps, name)},
        {ranking: level(ranking) for ranking in ("float32", "bfloat16")},
        said,
        "log-odds that the positions are ranked by [nats]",
        "positions at probability 1.0, of all",
        None,
        steps.chosen[name],
    )


@drawn
def commits_picture(steps: FirstSteps) -> Figure:
    """Draw what each rounded ranking commits at each scale, and in grey the positions whose probability is 1."""
    figure, panels = panels_of(None, 1, 3, (10.0, 4.4), sharey=True)
    for panel, (name, look) in zip(panels, zip(list(RANKINGS)[1:], LOOKS[1:], strict=False), strict=True):
        for picked, marker, color, label in (
            (steps.value[name] == 1, "s", PALE, "probability 1.0"),
            (steps.chosen[name], look.marker, look.color, "committed"),
        ):
            at, place = np.nonzero(picked)
            panel.plot(steps.scales[at], place, marker, color=color, markersize=3.5, label=label)
        scale_axis(panel, steps.scales[0] * 0.95, steps.scales[-1] * 1.05, "scale $c$")
        panel.set_title(name)
        panel.legend(loc="upper left")
    panels[0].set_ylabel("position in the answer [tokens, from 0]")
    return finished(figure, None, f"{len(steps.scales)} scales were tried.")
