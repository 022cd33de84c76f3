"""Theorem 1's cases: the printed case of each pair of positions, its true crossings, and where the theorem is false.

Shows: real pairs in the plane of the two gap statistics that the theorem compares, marked by their true number of
crossings; the share of pairs in each printed case, for random pairs by dimension and for real ones; how often the
theorem is false for a pair as printed, item by item, with (b) mended, and as corrected. Tables: shares with intervals,
cases against crossings, and how many real crossings lie within the factors that decoding reaches.
Inputs: RUNS/regimes/results.json, made by `python -m paper_figures experiment regimes --out RUNS`.
Run time: three seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.runs import read_named
from paper_figures.exhibits.style import GREY, figure, panel_title
from paper_figures.figures.parts.regimes_tables import CASES, FORMS, Regimes, conclusions, source_name, tables
from paper_figures.plan import command
from rws_decode.common.palette import AMBER, BLUE, SKY, VERMILION

__all__ = ["Regimes", "compute", "conclusions", "draw", "exhibit", "tables"]

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("regimes",)
# Lightness rises from case to case, and hatches repeat the distinction.
_FILLS = {"b": (BLUE, ""), "neither": (SKY, "///"), "both": (AMBER, "..."), "a": ("#F0E442", "xx")}
_FORMS = {
    "printed": (VERMILION, "s"),
    "items": (AMBER, "D"),
    "mended": (BLUE, "o"),
    "corrected": ("#000000", "^"),
}
_COUNTS = (
    (0, "o", "#9a9a9a", "no crossing"),
    (1, "^", BLUE, "one"),
    (2, "X", VERMILION, "two"),
    (3, "*", "#000000", "three or more"),
)
# x and y of a quadrant's corner, what the printed theorem says of it: the sign of the axes is that of b minus a.
_QUADRANTS = {
    "neither": (0.01, 0.98, "left", "top"),
    "a": (0.99, 0.98, "right", "top"),
    "b": (0.01, 0.02, "left", "bottom"),
    "both": (0.99, 0.02, "right", "bottom"),
}


def compute(runs: Path) -> Regimes:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    (experiment,) = NEEDS
    parts = ("summary", "cases", "reach", "pairs", "distributions", "settings")
    path, made_by = runs / experiment / "results.json", command(experiment, runs)
    results, _ = read_named(path, made_by, parts)
    if not results["pairs"]:
        raise ValueError(f"{path} holds no real pairs: make it again with {made_by} --retry-failed")
    return Regimes(*(results[part] for part in parts))


def draw(data: Regimes) -> Figure:
    """Draw the plane of real pairs, then the shares of the cases and of the false forms for every source."""
    picture = figure(6.6, 8.6)
    top, middle, bottom = picture.subplots(3, 1, height_ratios=(3.4, 2.1, 2.1))
    _plane(top, data)
    _bars(middle, data)
    _false(bottom, data)
    return picture


def _plane(axes: Axes, data: Regimes) -> None:
    pairs = [pair for pair in data.pairs if not pair["identical"] and pair["below"] is not None]
    x, y = (np.array([pair[name] for pair in pairs]) for name in ("sigma", "delta"))
    counts = np.array([min(pair["below"] + pair["above"], 3) for pair in pairs], dtype=int)
    for count, marker, color, label in _COUNTS:
        chosen = counts == count
        if chosen.any():
            style = {"s": (12, 26, 26, 70)[count], "linewidths": 0.5}
            style["edgecolors"] = ("none", "white", "black", "white")[count]
            shown = f"{label} ({chosen.sum()})"
            axes.scatter(x[chosen], y[chosen], marker=marker, color=color, label=shown, zorder=2 + count, **style)
    axes.axhline(0, color="black", linewidth=0.9)
    axes.axvline(0, color="black", linewidth=0.9)
    wide = 1.15 * max(np.abs(x).max(initial=0.0), 1e-3)
    axes.set_xlim(-wide, wide)
    axes.set_ylim(-1.45, 1.45)
    axes.set_yticks([-1, -0.5, 0, 0.5, 1])
    for case, (across, up, side, end) in _QUADRANTS.items():
        (row,) = [row for row in data.cases if row["source"] == "real" and row["case"] == case]
        text = f"{CASES[case]}\nfalse for {row['printed false']} of {row['pairs']} pairs"
        axes.text(across, up, text, transform=axes.transAxes, ha=side, va=end, fontsize=8.5)
    axes.set_xlabel(r"$(\Sigma_b - \Sigma_a)\,/\,(\Sigma_a + \Sigma_b)$  [dimensionless]")
    axes.set_ylabel(r"$(\delta_b - \delta_a)\,/\,(\delta_a + \delta_b)$  [dimensionless]")
    panel_title(axes, "Real pairs, by their true number of crossings; quadrants by what is printed of them")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, handletextpad=0.2, columnspacing=1.2)


def _places(data: Regimes) -> list[float]:
    """Return where the sources stand: side by side, the distributions apart."""
    positions, at, last = [], 0.0, None
    for source, _ in data.sources:
        at += 0.0 if last is None else 1.0 if source == last else 1.7
        positions.append(at)
        last = source
    return positions


def _bars(axes: Axes, data: Regimes) -> None:
    positions, base = _places(data), np.zeros(len(data.sources))
    for case, (color, hatch) in _FILLS.items():
        shares = np.array([data.share(source, f"case {case}")["share"] or 0.0 for source in data.sources])
        style = {"color": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}
        axes.bar(positions, 100 * shares, bottom=100 * base, width=0.85, label=_NAMES[case], **style)
        base += shares
    axes.set_ylabel("pairs  [%]")
    axes.set_ylim(0, 100)
    panel_title(axes, "Premises of the printed theorem that are met")
    _axis(axes, data, positions)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=4, columnspacing=1.2, handlelength=1.6)


_NAMES = {"a": "(a) alone", "b": "(b) alone", "both": "both", "neither": "neither, so (c)"}


def _false(axes: Axes, data: Regimes) -> None:
    positions = np.array(_places(data))
    for shift, (form, (color, marker)) in zip((-0.3, -0.1, 0.1, 0.3), _FORMS.items(), strict=True):
        rows = [data.share(source, f"{form} false") for source in data.sources]
        measured = [index for index, row in enumerate(rows) if row["share"] is not None]
        middle, low, high = (np.array([100 * rows[n][name] for n in measured]) for name in ("share", "low", "high"))
        reach = np.maximum([middle - low, high - middle], 0.0)
        style = {"color": color, "marker": marker, "linestyle": "none", "elinewidth": 1.0, "capsize": 2}
        axes.errorbar(positions[measured] + shift, middle, yerr=reach, label=FORMS[form], **style)
    axes.set_ylabel("pairs  [%]")
    axes.set_ylim(-4, 104)
    panel_title(axes, "Pairs for which the theorem is false (95 % intervals)")
    _axis(axes, data, list(positions))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=4, columnspacing=1.0, handletextpad=0.2)


def _axis(axes: Axes, data: Regimes, positions: Sequence[float]) -> None:
    """Name the sources below the axis: dimensions as ticks, distributions below them."""
    labels = ["" if dimension is None else str(dimension) for _, dimension in data.sources]
    labels[0] = f"d = {labels[0]}" if labels[0] else ""
    axes.set_xticks(list(positions), labels)
    axes.set_xlim(positions[0] - 0.8, positions[-1] + 0.8)
    axes.grid(visible=False, axis="x")
    for name in dict.fromkeys(source for source, _ in data.sources):
        centres = [position for position, (source, _) in zip(positions, data.sources, strict=True) if source == name]
        text = source_name(name)
        axes.text(
            (centres[0] + centres[-1]) / 2,
            -0.16,
            text,
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="top",
            fontsize=9,
        )
        if centres[0] > positions[0]:
            axes.axvline(centres[0] - 0.85, color=GREY, linewidth=0.7)


def exhibit(runs: Path) -> Exhibit:
    """Return the figure and tables of Theorem 1's regimes from the results below `runs`."""
    data = compute(runs)
    settings = data.settings
    drawn = "; ".join(f"{source_name(name)}: {what}" for name, what in data.distributions.items())
    real_pairs = ("real", None)
    real = {case: data.share(real_pairs, f"case {case}") for case in CASES}
    caption = (
        f"Pairs of positions, the one more confident at scale 1 being a. Random: {settings['random_pairs']} pairs of "
        f"independent logit vectors for each number of tokens d (ticks); {drawn}. Real: model {settings['model']}, "
        f"{settings['prompts']} prompts of {settings['data']}, {settings['length']} tokens in {settings['steps']} "
        f"steps, RWS guided by {settings['reward']} at s_R = {settings['reward_scale']:g}; up to "
        f"{settings['pairs_per_step']} pairs of masked positions of the block at every step, drawn by the seed, with "
        "the logits of the whole vocabulary. Comparisons of gaps are exact and crossings are certified. Intervals: "
        "exact binomial for random pairs. For real pairs, prompts are resampled, because pairs of one step are not "
        "independent; if all prompts agree, the interval is the exact one of so many prompts. The corrected theorem is "
        "proved for every pair: its interval is what this sample alone would show. Item by item: (a), (b) and (c) as "
        "printed, each on its own, without the theorem's 'exactly one of the following holds'; the quadrants count "
        "with it. Other models have other logits."
    )
    alt = (
        "Top, a scatter of real pairs in four quadrants by the signs of two gap differences, marked by their number of "
        "crossings. Below, stacked bars of the printed cases and points of how often the theorem is false. Real pairs: "
        + ", ".join(f"{_NAMES[case]} {_percent(row)}" for case, row in real.items())
        + "; "
        + ", ".join(f"false {FORMS[form]} for {_percent(data.share(real_pairs, f'{form} false'))}" for form in FORMS)
        + "."
    )
    return Exhibit(
        "Theorem 1: its cases, and the crossings that there are",
        (Picture("regimes", draw(data), caption, alt),),
        tables(data),
        conclusions=conclusions(data),
        inputs=(f"{NEEDS[0]}/results.json",),
    )


def _percent(row: Row) -> str:
    return "unknown" if row["share"] is None else f"{row['share']:.1%}"
