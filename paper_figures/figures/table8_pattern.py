"""The pattern of Table 8: what of it needs a reward?

Shows: perplexity against GOD for temperature, RWS and the controls that keep RWS's factors, beside the same as printed;
and RWS minus its constant, pair by pair.
Inputs: the evidence study below RUNS, else the record that ships; the printed Table 8.
Run time: ten seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from paper_figures.exhibits.evidence import (
    arms_of,
    difference_of,
    evidence_of,
    inputs_of,
    interval_of,
    source_line,
    worlds_in,
)
from paper_figures.exhibits.evidence_looks import (
    FAMILIES,
    draw_arm,
    ends_of,
    family_of,
    legend_of_families,
    path_of,
    title_of,
)
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.labels import Label, place_labels
from paper_figures.exhibits.style import PRINTED, figure, panel_title
from paper_figures.figures.parts.evidence_sentences import text_of
from paper_figures.figures.parts.table8_printed import draw_printed
from paper_figures.figures.parts.table8_shares import MEASURES_OF_TABLE8, sentences, shares_of
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS, Arm
from paper_figures.table import Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()
_PATHS = ("temperature", "rws", "constant", "schedule")


@dataclass(frozen=True, eq=False)
class Pattern:
    """For each world: mean GOD and mean log perplexity of the greedy default, temperature, RWS and controls."""

    evidence: Recorded
    places: Mapping[str, Mapping[Arm, tuple[Interval, Interval]]]


def compute(runs: Path) -> Pattern:
    """Read the study; MissingRun if there is neither a run nor a record."""
    evidence = evidence_of(runs)
    places = {
        world: {
            arm: (god, level)
            for arm, frame in arms_of(evidence, world).items()
            if arm.method in (*_PATHS, "default") and not arm.sampling_temperature and not arm.one_by_one
            if (god := interval_of(frame, "god_tokens")) and (level := interval_of(frame, "log_perplexity"))
        }
        for world in worlds_in(evidence)
    }
    return Pattern(evidence, {world: arms for world, arms in places.items() if arms})


def draw(data: Pattern) -> Figure:
    """Draw perplexity against GOD here and as printed, and below it what RWS has more than its constant."""
    worlds = list(data.places)
    picture = figure(max(7.6, 3.4 * (1 + len(worlds))), 6.2)
    panels = picture.subplots(2, 1 + len(worlds), squeeze=False, height_ratios=(1.6, 1))
    labels: dict[Axes, list[Label]] = {}
    for column, world in enumerate(worlds):
        labels[panels[0, column]] = _levels(panels[0, column], data.places[world])
        panel_title(panels[0, column], WORLDS[world].model)
        _differences(panels[1, column], data.evidence, world)
    labels[panels[0, -1]] = draw_printed(panels[0, -1])
    panels[0, -1].set_xlabel("GOD  [unit not said]")
    panel_title(panels[0, -1], "As printed: LLaDA, Table 8")
    panels[1, -1].set_axis_off()
    if worlds and (drawn := panels[1, 0].get_legend_handles_labels())[0]:
        panels[1, -1].legend(*drawn, loc="upper left")
    panels[0, 0].set_ylabel("perplexity")
    panels[1, 0].set_ylabel("RWS minus control")
    families = {family_of(arm) for places in data.places.values() for arm in places}
    picture.legend(**legend_of_families(list(families)), loc="outside lower center", ncols=4)
    place_labels(picture, labels)
    return picture


def _levels(axes: Axes, places: Mapping[Arm, tuple[Interval, Interval]]) -> list[Label]:
    """Draw the arms of a world and the paths through scales; return their labels."""
    for method in _PATHS:
        path = path_of(places, method)
        look = FAMILIES[family_of(Arm(method))]
        middle = [[places[arm][0].mean for arm in path], [exp(places[arm][1].mean) for arm in path]]
        dash = (0, (1, 1)) if method == "schedule" else look.dash
        axes.plot(*middle, color=look.color, linewidth=1.0, linestyle=dash, zorder=2)
    for arm, (god, level) in places.items():
        perplexity = Interval(*map(exp, level))
        draw_arm(axes, arm, god, perplexity, label=None, zorder=4 if arm.method == "rws" else 3)
    axes.set_xlabel("GOD  [tokens]")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(ScalarFormatter())
    return [
        Label(god.mean, exp(level.mean), _short(arm), FAMILIES[family_of(arm)].color)
        for arm, (god, level) in places.items()
        if arm.method in ("default", "temperature", "rws")
    ]


def _short(arm: Arm) -> str:
    return "default" if arm.number is None else f"{'c' if arm.method == 'temperature' else 'RWS'} {arm.number:g}"


def _differences(axes: Axes, evidence: Recorded, world: str) -> None:
    """Draw RWS minus its constant and minus its schedule, in log perplexity, by scale."""
    arms = arms_of(evidence, world)
    scales = [arm.number for arm in path_of(arms, "rws")]
    for method, marker, beside in (("constant", "^", -0.12), ("schedule", "P", 0.0), ("swapped", "d", 0.12)):
        for index, scale in enumerate(scales):
            rws, other = Arm("rws", scale), Arm(method, scale)
            difference = difference_of(arms[rws], arms[other], "log_perplexity") if other in arms else None
            if difference is not None:
                axes.errorbar(
                    index + beside,
                    difference.mean,
                    yerr=ends_of(difference),
                    color=FAMILIES["control"].color,
                    marker=marker,
                    linestyle="none",
                    label=METHODS[method].title if index == 0 else None,
                )
    axes.axhline(0, color=PRINTED, linewidth=0.9)
    axes.set_xticks(range(len(scales)), [f"$s_R$ {scale:g}" for scale in scales])
    axes.set_xlim(-0.5, max(len(scales), 1) - 0.5)
    panel_title(axes, "log of perplexity, paired")


def _table(data: Pattern) -> Table:
    rows, shown = [], []
    for world, scale, measure, share in shares_of(data.evidence, data.places):
        row = {"world": world, "s_R": scale, "measure": measure}
        text = {"world": world, "s_R": f"{scale:g}", "measure": MEASURES_OF_TABLE8[measure]}
        for name, interval in (("RWS", share.rws), ("constant", share.constant), ("share", share.share)):
            row |= {f"{name}{end}": interval and interval[index] for index, end in enumerate(("", ", low", ", high"))}
            text[name] = text_of(interval, signed=name != "share") if interval else ""
        rows.append(row)
        shown.append(text)
    caption = (
        "Change from the default, paired. Perplexity as its natural logarithm. Share: constant's change over RWS's."
    )
    return Table("table8_pattern", rows, shown, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of Table 8's pattern, here and as printed."""
    data, title = compute(runs), "Table 8's pattern: what of it needs a reward"
    if not data.places:
        return Exhibit(title, conclusions=("The results have no default, temperature or RWS.",), inputs=inputs_of(runs))
    printed = printed_in("table8_temperature")
    caption = (
        "Above: geometric mean of perplexity against mean GOD, by the exact world where there is one, else by the "
        "causal model. Lines join scales; the schedule's is dotted. At the right the printed "
        f"table ({printed['where']}), on another model and task: levels cannot be compared. There the dotted line is "
        "the default's GOD, and the box is at RWS's GOD, below its worst perplexity. Below: RWS minus its control "
        "at the same scale, paired over prompts, below 0 where RWS has the lower perplexity. Bars: 95 % "
        f"intervals. {source_line(data.evidence)}"
    )
    lines = sentences(data.evidence, data.places)
    alt = "Perplexity against GOD. " + " ".join(
        f"{WORLDS[world].model}, {title_of(arm)}: GOD {god.mean:.1f}, perplexity {exp(level.mean):.2f}."
        for world, places in data.places.items()
        for arm, (god, level) in places.items()
        if arm.method in ("default", "rws")
    )
    return Exhibit(
        title,
        (Picture("table8_pattern", draw(data), caption, alt),),
        (_table(data),),
        conclusions=lines or ("The results have no default beside RWS.",),
        inputs=inputs_of(runs),
    )
