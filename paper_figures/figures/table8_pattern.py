"""The pattern of Table 8: what of it needs a reward?

Shows: perplexity against GOD for temperature, RWS and the constant of equal mean, beside the same as printed;
and what share of RWS's change its constant makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import ScalarFormatter

from paper_figures.exhibits.evidence import (
    Places,
    arms_of,
    difference_of,
    evidence_of,
    inputs_of,
    path_of,
    places_of,
    source_line,
    text_of,
    worlds_in,
)
from paper_figures.exhibits.evidence_looks import (
    FAMILIES,
    draw_places,
    family_of,
    label_of,
    legend_of_families,
)
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.labels import Label, place_labels
from paper_figures.exhibits.paper_beside_ours import printed_range
from paper_figures.exhibits.style import GREY, figure, panel_title
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS, Arm
from paper_figures.table import Column, Table, make_table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()
_DRAWN = ("default", "temperature", "rws", "constant")
_MEASURES = {"log_perplexity": "perplexity", "god_tokens": "GOD"}
_HALF_BOX = 0.1  # of GOD: the paper prints one number, and a box is seen better than a line


@dataclass(frozen=True, eq=False)
class Pattern:
    """For each world: mean GOD and geometric mean perplexity of the greedy default, temperature, RWS and constant."""

    evidence: Recorded
    places: Mapping[str, Places]


def compute(runs: Path) -> Pattern:
    """Read the study; MissingRun if there is neither a run nor a record."""
    evidence = evidence_of(runs)

    def keep(arm: Arm) -> bool:
        return arm.method in _DRAWN and not arm.sampling_temperature and not arm.one_by_one

    places = {world: places_of(evidence, world, "god_tokens", "log_perplexity", keep) for world in worlds_in(evidence)}
    levels = {
        world: {arm: (god, Interval(*np.exp(level))) for arm, (god, level) in arms.items()}
        for world, arms in places.items()
    }
    return Pattern(evidence, {world: arms for world, arms in levels.items() if arms})


def draw(data: Pattern) -> Figure:
    """Draw perplexity against GOD, a panel for each world and one as printed."""
    worlds = list(data.places)
    picture = figure(max(7.6, 3.4 * (1 + len(worlds))), 4.4)
    panels = picture.subplots(1, 1 + len(worlds), squeeze=False)[0]
    labels: dict[Axes, list[Label]] = {}
    for axes, world in zip(panels, worlds, strict=False):
        labels[axes] = _levels(axes, data.places[world])
        panel_title(axes, WORLDS[world].model)
    labels[panels[-1]] = draw_printed(panels[-1])
    panels[-1].set_xlabel("GOD  [unit not said]")
    panel_title(panels[-1], "As printed: LLaDA, Table 8")
    panels[0].set_ylabel("perplexity")
    legend = legend_of_families(list({family_of(arm) for places in data.places.values() for arm in places}))
    names = {FAMILIES["control"].label: f"{METHODS['constant'].title}, no reward"}
    for handle in legend["handles"]:
        handle.set_linestyle("none")
    legend["labels"] = [names.get(label, label) for label in legend["labels"]]
    picture.legend(**legend, loc="outside lower center", ncols=4)
    place_labels(picture, labels)
    return picture


def draw_printed(axes: Axes) -> list[Label]:
    """Draw the printed temperatures, the box in which RWS lies, and the default's GOD; return the labels of points."""
    rows = sorted(printed_in("table8_temperature")["rows"], key=lambda row: row["scale"])
    color, rws = FAMILIES["temperature"].color, FAMILIES["rws"].color
    axes.plot([row["god"] for row in rows], [row["perplexity"] for row in rows], "o", color=color, markersize=5.5)
    worst, god = printed_range("worst perplexity of RWS")[0], printed_range("GOD of RWS at every step")[0]
    default = printed_range("GOD of the default")[0]
    low, high = axes.get_ylim()
    low = min(low, worst - 0.9)
    axes.set_ylim(low, high)
    axes.set_xlim(0.5, 2.75)
    axes.add_patch(Rectangle((god - _HALF_BOX, low), 2 * _HALF_BOX, worst - low, color=rws, alpha=0.3, linewidth=0))
    text: dict[str, Any] = {"color": rws, "fontsize": 8.5, "ha": "right", "va": "bottom"}
    axes.text(god - _HALF_BOX - 0.04, low + 0.05, f"RWS: GOD {god:g},\nperplexity\nat most {worst:g}", **text)
    axes.axvline(default, color="black", linewidth=1.0, linestyle=(0, (1, 1)))
    axes.text(default + 0.03, high, f"default: GOD {default:g}", fontsize=8.5, va="top")
    return [Label(row["god"], row["perplexity"], f"c {row['scale']:g}", color) for row in rows]


def _levels(axes: Axes, places: Places) -> list[Label]:
    """Draw the arms of a world, and a line from RWS at each scale to its constant; return the labels."""
    draw_places(axes, places)
    for rws in path_of(places, "rws"):
        pair = [places[arm] for arm in (rws, Arm("constant", rws.number)) if arm in places]
        axes.plot(*zip(*((god.mean, level.mean) for god, level in pair), strict=True), color=GREY, linewidth=1.0)
    axes.set_xlabel("GOD  [tokens]")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(ScalarFormatter())
    named = ("default", "rws")
    return [
        label_of(arm, god.mean, level.mean, None if arm.method in named else "") for arm, (god, level) in places.items()
    ]


def share_of_change(
    default: pandas.DataFrame, rws: pandas.DataFrame, constant: pandas.DataFrame, measure: str
) -> dict[str, Interval | None]:
    """Return the change of RWS from the default, that of its constant, and the second as a share of the first.

    share = mean(constant - default) / mean(RWS - default), with a percentile bootstrap interval over prompts. None
    where an answer has no such measure, and for the share where the interval of RWS's own change holds 0.
    """
    of_rws, of_constant = difference_of(rws, default, measure), difference_of(constant, default, measure)
    share = None
    if of_rws is not None and not of_rws.low <= 0 <= of_rws.high:
        pairs = np.stack([(frame[measure] - default[measure]).to_numpy(dtype=float) for frame in (rws, constant)])
        drawn = np.random.default_rng(0).integers(pairs.shape[1], size=(1999, pairs.shape[1]))
        means = pairs[:, drawn].mean(axis=2)
        low, high = np.quantile(means[1] / means[0], [0.025, 0.975])
        share = Interval(float(pairs[1].mean() / pairs[0].mean()), float(low), float(high))
    return {"RWS": of_rws, "constant": of_constant, "share": share}


def _table(data: Pattern) -> Table:
    rows = []
    for world in data.places:
        arms, default = arms_of(data.evidence, world), Arm("default")
        for rws in path_of(arms, "rws"):
            constant = Arm("constant", rws.number)
            for measure in _MEASURES if default in arms and constant in arms else ():
                row: dict[str, Any] = {"world": world, "s_R": rws.number, "measure": measure}
                shares = share_of_change(arms[default], arms[rws], arms[constant], measure)
                for name, interval in shares.items():
                    row |= dict(zip((name, f"{name}, low", f"{name}, high"), interval or (None,) * 3, strict=True))
                    row[f"{name} text"] = interval and text_of(interval, signed=name != "share")
                rows.append(row)
    columns = [Column("world"), Column("s_R"), Column("measure", form=lambda row: _MEASURES[row["measure"]])]
    columns += [Column(name, f"{name} text") for name in ("RWS", "constant", "share")]
    caption = (
        "Change from the default, paired. Perplexity as its natural logarithm. Share: constant's change over RWS's."
    )
    return make_table("table8_pattern", rows, columns, caption)


def _headline(numbers: Table) -> tuple[str, ...]:
    """Return, where RWS raises GOD and lowers perplexity, what share of both its constant makes."""
    cells: dict[tuple[str, float], dict[str, Any]] = {}
    for row in numbers.rows:
        cells.setdefault((row["world"], row["s_R"]), {})[row["measure"]] = row
    return tuple(
        f"RWS {scale:g} in {WORLDS[world].model} changes GOD by {of['god_tokens']['RWS text']} tokens and log "
        f"perplexity by {of['log_perplexity']['RWS text']} from the default: Table 8's pattern. Its constant makes "
        f"{100 * of['god_tokens']['share']:.0f} % and {100 * of['log_perplexity']['share']:.0f} % of these."
        for (world, scale), of in cells.items()
        if len(of) == len(_MEASURES)
        and of["god_tokens"]["share"] is not None
        and of["log_perplexity"]["share"] is not None
        and of["god_tokens"]["RWS"] > 0 > of["log_perplexity"]["RWS"]
    )


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of Table 8's pattern, here and as printed."""
    data, title = compute(runs), "Table 8's pattern: what of it needs a reward"
    if not data.places:
        return Exhibit(title, conclusions=("The results have no default, temperature or RWS.",), inputs=inputs_of(runs))
    printed, numbers = printed_in("table8_temperature"), _table(data)
    caption = (
        "Geometric mean of perplexity against mean GOD, by the exact world where there is one, else by the "
        "causal model. A grey line joins RWS and the constant of equal mean. At the right the printed "
        f"table ({printed['where']}), on another model and task: levels cannot be compared. There the dotted line is "
        "the default's GOD, and the box is at RWS's GOD, below its worst perplexity. Bars: 95 % intervals. "
        f"{source_line(data.evidence)}"
    )
    alt = (
        "Perplexity against GOD, a panel for each world and one as printed: the default, temperatures, RWS and its "
        "constant."
    )
    return Exhibit(
        title,
        (Picture("table8_pattern", draw(data), caption, alt),),
        (numbers,),
        conclusions=_headline(numbers) or ("No scale of RWS shows the pattern in these results.",),
        inputs=inputs_of(runs),
    )
