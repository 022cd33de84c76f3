"""Lesson 5, whole decodes: how far from left to right they are, by the exact order and by rounded probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from paper_figures.extra.lessons.intervals import intervals
from paper_figures.extra.lessons.rounding import RANKINGS
from paper_figures.statistics.intervals import Interval, mean_interval, paired_differences
from paper_figures.statistics.significance import holm, paired_test
from rws_decode import HFMaskPredictor, Shape, Temperature, decode
from rws_decode.common.palette import GREY
from rws_decode.view.plots.sheet import drawn, finished, panels_of
from rws_theory import footrule_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALES = (1.0, 2.0, 4.0, 8.0, 32.0)
_LABELS = {"GOD": "GOD [tokens]", "inexact": "steps unlike the exact order [%]", "level": "positions at 1.0 [%]"}


def decode_all(predictor: HFMaskPredictor, prompts: Sequence[str], shape: Shape) -> pd.DataFrame:
    """Decode prompts at each of SCALES by each ranking: a row with order, rounding and text for each answer."""
    each = tuple(scale for scale in SCALES for _ in prompts)
    asked = [*prompts] * len(SCALES)
    return pd.DataFrame(
        {
            "ranking": name,
            "scale": scale,
            "GOD": run.god_tokens,
            "inexact": 100 * run.inexact.mean(),
            "level": 100 * run.saturated.sum() / run.eligible.sum(),
            "text": run.text,
        }
        for name, options in RANKINGS.items()
        for scale, run in zip(each, decode(predictor, asked, Temperature(each), shape, options=options), strict=True)
    )


def _cells(frame: pd.DataFrame) -> dict[Any, pd.DataFrame]:
    """Return the rows of each ranking and scale, a row for each prompt."""
    return {key: rows.reset_index() for key, rows in frame.groupby(["ranking", "scale"], sort=False)}


def _intervals(frame: pd.DataFrame, column: str) -> dict[str, dict[float, Interval]]:
    """Return means over the prompts with 95 % intervals, by ranking and scale; none where all are equal."""
    means: dict[str, dict[float, Interval]] = {name: {} for name in RANKINGS}
    for (name, scale), rows in _cells(frame).items():
        mean, *ends = mean_interval(rows[column])
        means[name][scale] = Interval(mean, *(end if np.isfinite(end) else mean for end in ends))
    return means


@drawn
def decodes_picture(frame: pd.DataFrame, shape: Shape) -> Figure:
    """Draw how far from left to right answers are at each scale, how often rounding decides, and what is level."""
    figure, panels = panels_of(None, 1, 3, (10.0, 4.2), width_ratios=(1.3, 1, 1))
    for panel, (column, label) in zip(panels, _LABELS.items(), strict=True):
        intervals(_intervals(frame, column), "scale c", label, logarithmic=True, axes=panel)
    shape = shape.resolved()
    random = footrule_mean(shape.length, shape.block, per_step=shape.length // shape.steps)
    panels[0].axhline(random, color=GREY, linestyle=":", label="random order")
    panels[0].set_ylim(0)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return finished(figure, None, "Means over the prompts, with 95 % intervals.")


def due_to_rounding(frame: pd.DataFrame) -> pd.DataFrame:
    """Return, by ranking and scale, GOD less that of the exact ranking, with its interval and the p of a paired test.

    The p are corrected over the scales (Holm).
    """
    cells, rows = _cells(frame), []
    for name in ("float32", "bfloat16"):
        pairs = [(cells[name, scale], cells["exact", scale]) for scale in SCALES]
        p_values = holm([paired_test(ours["GOD"], exact["GOD"], np.random.default_rng(0)) for ours, exact in pairs])
        for scale, (ours, exact), p in zip(SCALES, pairs, p_values, strict=True):
            due = mean_interval(paired_differences(ours["GOD"], exact["GOD"]))
            same_text = 100 * (ours["text"] == exact["text"]).mean()
            rows.append((name, scale, ours["GOD"].mean(), *due, p, ours["inexact"].mean(), same_text))
    heads = ("ranking", "scale", "GOD", "due to rounding", "low", "high", "p", "inexact, %", "same text, %")
    return pd.DataFrame(rows, columns=pd.Index(heads)).set_index(["ranking", "scale"])
