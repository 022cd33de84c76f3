"""Read the evidence study's answers, and plot its arms.

The results are those below the runs where they are there, else the record that ships with the package. A family of arms
has one colour and one marker in all figures. Hollow: an arm that samples its tokens; half-filled: one token a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from paper_figures.exhibits.shared.exhibit import Label, Line, MissingRun
from paper_figures.exhibits.shared.results import printed_range
from paper_figures.recorded import Recorded, recorded
from paper_figures.recorded.completed import completed
from paper_figures.recorded.measures import interval_of as interval_of_values
from paper_figures.recorded.measures import scores_of
from paper_figures.statistics.intervals import Interval
from paper_figures.studies import evidence as summaries
from paper_figures.studies.evidence import read_rows
from paper_figures.studies.evidence_arms import CONTROLS, METHODS, WORLDS, Arm, chosen_scales, title_of, worlds_of
from paper_figures.studies.evidence_arms import arms_of as whole_arms
from rws_decode.common.files import read_json
from rws_decode.common.palette import AMBER, BLACK, BLUE, GREEN, PURPLE, SKY, VERMILION
from rws_theory.printed import printed_in

if TYPE_CHECKING:
    import pandas

NAME = "evidence"
Places = Mapping[Arm, tuple[Interval, Interval]]  # where an arm's answers lie by two measures


@dataclass(frozen=True)
class Measure:
    """What is measured of each answer: its name in sentences, its unit, and whether it is 0 or 1."""

    title: str
    unit: str
    share: bool = False

    @property
    def heading(self) -> str:
        """Return its name with its unit."""
        return f"{self.title}, {self.unit}"


# A column of the frames of `arms_of` -> what it is.
MEASURES: dict[str, Measure] = {
    "reward_sd": Measure("reward", "SD"),
    "log_p_word": Measure("log p", "nats per word"),
    "coherent": Measure("coherent answers", "share of answers", share=True),
    "log_perplexity": Measure("log of perplexity", "nats per token"),
    "regret": Measure("regret", "nats"),
    "god_tokens": Measure("GOD", "tokens"),
}


def evidence_of(runs: Path) -> Recorded:
    """Return the last whole run of the study below `runs` if there is one, else the record that ships with the package.

    Its answers have their regrets, and the better of two scales. MissingRun, with the command, where neither is there;
    ValueError for results that cannot be read.
    """
    about = runs / NAME / "about.json"
    if about.is_file():
        return _completed(runs.resolve(), about.stat().st_mtime_ns)
    try:
        return recorded()
    except ValueError as error:
        made_by = f"rws experiment {NAME} --out {runs}"
        raise MissingRun(f"{error}: make it with {made_by}, which takes hours") from error


@lru_cache(maxsize=2)
def _completed(runs: Path, _state: int) -> Recorded:
    run = own_run(runs, NAME, summaries)
    return replace(run, answers=completed(run.answers, run.frontiers))


def own_run(runs: Path, study: str, module: Any) -> Recorded:
    """Return a study's last whole run below `runs`; module: that of its summaries."""
    rows, about = read_rows(runs, study), read_json(runs / study / "about.json")
    # These are not the results that ship.
    return Recorded(module.answers_of(rows), module.frontiers_of(rows), {**about, "own": True})


def source_line(evidence: Recorded) -> str:
    """Return the sentence of a caption that says which results are plotted, with their date and command."""
    about = evidence.about
    which = "results of this page's own run" if about.get("own") else "recorded results that ship with the package"
    return f"Computed from the {which}, made on {about['date']} by `{about['command']}`."


def inputs_of(runs: Path, study: str = NAME) -> tuple[str, ...]:
    """Return the files below `runs` that are read, none where the record is."""
    path = runs / study / "last_run.json"
    return (f"{study}/{path.name}",) if path.is_file() else ()


@lru_cache(maxsize=8)
def arms_of(evidence: Recorded, world: str) -> Mapping[Arm, pandas.DataFrame]:
    """Return the test answers of a model by arm, each frame by prompt in one order, with the columns of `MEASURES`.

    Arms that have not answered every test prompt are left out, so that all arms are of the same prompts.
    An empty mapping where there are no answers. `world` is "MODEL:REWARD".
    """
    # Log perplexity is that of the exact model, else of the causal model.
    columns = {"reward_sd": "reward", "log_p_word": "log_prob", "coherent": "coherent", "log_perplexity": "nll"}
    arms = {}
    for arm, frame in sorted(whole_arms(evidence.answers, world).items(), key=_order):
        scores = {column: scores_of(frame, world, measure) for column, measure in columns.items()}
        if WORLDS[world].exact:
            scores["log_perplexity"] = -scores["log_p_word"]
        arms[arm] = frame.assign(**scores).set_index("prompt")
    return arms


def _order(item: tuple[Arm, Any]) -> tuple[Any, ...]:
    arm = item[0]
    return arm.method, -1.0 if arm.number is None else arm.number, arm.sampling_temperature, arm.one_by_one


def quality_of(world: str) -> str:
    """Return the measure of the quality of a model's texts: log p where it is exact, else the share coherent."""
    return "log_p_word" if WORLDS[world].exact else "coherent"


def path_of(arms: Mapping[Arm, Any], method: str) -> list[Arm]:
    """Return the greedy arms of a method by rising number; the default is the temperature 1.

    >>> [arm.number for arm in path_of({Arm("temperature", 2.0): 0, Arm("default"): 0}, "temperature")]
    [None, 2.0]
    """
    methods = (method, "default") if method == "temperature" else (method,)
    greedy = [arm for arm in arms if not arm.sampling_temperature and not arm.one_by_one and arm.method in methods]
    return sorted(greedy, key=lambda arm: 1.0 if arm.number is None else arm.number)


def chosen_scale(evidence: Recorded, world: str) -> Arm | None:
    """Return the greedy arm of RWS at the scale that was chosen on validation prompts; None if there is none."""
    scales = evidence.about.get("chosen", {}).get(world) or chosen_scales(evidence.answers, world)
    return next((arm for arm in path_of(arms_of(evidence, world), "rws") if arm.number == scales.get("rws")), None)


def places_of(evidence: Recorded, world: str, x: str, y: str, keep: Callable[[Arm], bool] = lambda arm: True) -> Places:
    """Return the mean of two measures of each arm that is kept and has both, with their intervals."""
    return {
        arm: (position, level)
        for arm, frame in arms_of(evidence, world).items()
        if keep(arm) and (position := interval_of(frame, x)) and (level := interval_of(frame, y))
    }


@dataclass(frozen=True, eq=False)
class Placed:
    """The study's results, and the places of the plotted arms, by `world`, or by `world` and measure."""

    evidence: Recorded
    places: Mapping[Any, Places]

    @property
    def arms(self) -> list[Arm]:
        """Return the plotted arms of all models and rewards."""
        return [arm for places in self.places.values() for arm in places]


def placed(runs: Path, x: str, y: Callable[[str], str], keep: Callable[[Arm], bool]) -> Placed:
    """Read the study and place the arms that are kept by x and by a model's y; MissingRun without run and record."""
    evidence = evidence_of(runs)
    places = {world: places_of(evidence, world, x, y(world), keep) for world in worlds_of(evidence.answers)}
    return Placed(evidence, {world: arms for world, arms in places.items() if arms})


def fields_of(name: str, interval: Interval | None) -> dict[str, float | None]:
    """Return a mean and its ends as fields of a table's row.

    >>> fields_of("GOD", Interval(0.5, 0.25, 0.75))
    {'GOD': 0.5, 'GOD, low': 0.25, 'GOD, high': 0.75}
    """
    return dict(zip((name, f"{name}, low", f"{name}, high"), interval or (None,) * 3, strict=True))


def text_of(interval: Interval, digits: int = 2, signed: bool = False) -> str:
    """Return a mean with its interval as text.

    >>> text_of(Interval(0.5, 0.25, 0.75), signed=True)
    '+0.50 [+0.25, +0.75]'
    """
    mean, low, high = (f"{number:{'+' if signed else ''}.{digits}f}" for number in interval)
    return f"{mean} [{low}, {high}]"


def bound_text(value: float, digits: int = 2, least: bool = False) -> str:
    """Return an upper bound as text, rounded up, so that it stays true; a lower one, rounded down, if `least`.

    >>> bound_text(1.2044), bound_text(1.2, 1), bound_text(0.957, least=True)
    ('1.21', '1.2', '0.95')
    """
    scaled = round(value * 10**digits, 9)  # 1.2 is stored a little below, other numbers above
    return f"{(floor(scaled) if least else ceil(scaled)) / 10**digits:.{digits}f}"


def interval_of(frame: pandas.DataFrame, measure: str) -> Interval | None:
    """Return the mean of a measure over an arm's answers with its 95 % interval; None where one has no such measure.

    A share has the exact interval, any other mean that of `mean_interval`.
    """
    values = frame[measure].to_numpy(dtype=float)
    known = values.size and not np.isnan(values).any()
    return interval_of_values(values, "share" if MEASURES[measure].share else "mean") if known else None


_FAR = 2.0  # nats per word
_HALF_BOX = 0.1  # of GOD: the paper prints one number, and a box is seen better than a line
FAMILIES: dict[str, Line] = {
    "default": Line(BLACK, "D", "none", "default (confidence)"),
    "temperature": Line(BLUE, "o", "solid", "temperature"),
    "rws": Line(VERMILION, "s", (0, (5, 1.5)), "RWS"),
    "control": Line(GREEN, "^", (0, (3, 1.5, 1, 1.5)), "RWS's factors without its reward"),
    "order": Line(AMBER, "v", (0, (1, 1.2)), "another order"),
    "compute": Line(SKY, "P", "none", "more forwards or samples"),
    "reward": Line(PURPLE, "X", (0, (7, 2, 2, 2)), "uses the reward while it decodes"),
}


def family_of(arm: Arm) -> str:
    """Return the family of an arm, a key of `FAMILIES`.

    >>> family_of(Arm("swapped", 8.0)), family_of(Arm("default", None, 0.0, True)), family_of(Arm("margin"))
    ('control', 'compute', 'order')
    """
    if arm.method in ("temperature", "rws"):
        return arm.method
    if arm.method == "default":
        return "compute" if arm.one_by_one else "default"
    return "control" if arm.method in CONTROLS else METHODS[arm.method].kind


def ends_of(interval: Interval) -> np.ndarray:
    """Return how far an interval reaches below and above its mean, shape (2, 1); 0 where it has no finite end."""
    spread = np.array([[interval.mean - interval.low], [interval.high - interval.mean]])
    return np.maximum(np.where(np.isfinite(spread), spread, 0.0), 0.0)


def legend_of(picture: Figure, arms: Iterable[Arm], ncols: int, **names: str) -> None:
    """Set the legend of the arms' families below all panels; names: family -> what it is called there."""
    present = {family_of(arm) for arm in arms}
    handles = [
        Line2D([], [], color=look.color, marker=look.marker, linestyle="none", label=names.get(name, look.label))
        for name, look in FAMILIES.items()
        if name in present
    ]
    picture.legend(handles=handles, loc="outside lower center", ncols=ncols)


def scatter(
    axes: Axes,
    places: Places,
    named: Callable[[Arm], str],
    limits: tuple[float, float] | None = None,
    paths: Sequence[str] = (),
) -> list[Label]:
    """Draw arms where they lie, with the intervals of both coordinates, RWS above the others; return their labels.

    named: "" for a point without a label. limits: of y (`limits_of`); a point below them is a label at the lower edge,
    with its value. paths: methods whose scales a line joins.
    """
    for method in paths:
        path, look = path_of(places, method), FAMILIES[family_of(Arm(method))]
        if len(path) > 1:
            middle = [[places[arm][side].mean for arm in path] for side in (0, 1)]
            axes.plot(*middle, color=look.color, linewidth=1.0, linestyle=look.dash, zorder=2)
    if limits is not None:
        axes.set_ylim(limits)
    labels = []
    for arm, (x, y) in places.items():
        look, level, text = FAMILIES[family_of(arm)], y.mean, named(arm)
        style: dict[str, Any] = {"color": look.color, "marker": look.marker, "linestyle": "none", "markersize": 5.5}
        style |= {"fillstyle": "none" if arm.sampling_temperature else "left" if arm.one_by_one else "full"}
        style |= {"markerfacecoloralt": "white", "elinewidth": 0.8, "zorder": 4 if arm.method == "rws" else 3}
        axes.errorbar(x.mean, level, ends_of(y), ends_of(x), **style)
        if limits is not None and level < limits[0]:
            text = f"{text or short_of(arm)}: {level:.2f} \N{DOWNWARDS ARROW}"
            level = limits[0] + 0.02 * (limits[1] - limits[0])
        labels.append(Label(x.mean, level, text, look.color))
    return labels


def draw_table8(axes: Axes) -> list[Label]:
    """Draw Table 8 as printed: temperatures, the box in which RWS lies, the GOD of confidence; return its labels."""
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


def limits_of(places: Places) -> tuple[float, float] | None:
    """Return limits of y so that points which lie `_FAR` below the best do not squeeze the others."""
    best = max((y.mean for _, y in places.values()), default=0.0)
    near = [y for _, y in places.values() if y.mean > best - _FAR]
    if not near:
        return None
    low, high = min(y.low for y in near), max(y.high for y in near)
    room = 0.12 * (high - low) or 0.1
    return low - room, high + room


def short_of(arm: Arm) -> str:
    """Return an arm's name beside its point.

    >>> short_of(Arm("temperature", 0.5)), short_of(Arm("default")), short_of(Arm("window", 4.0))
    ('c 0.5', 'default', 'window 4')
    """
    names = {"temperature": "c", "rws": "RWS", "window": "window"}
    if arm.method in names:
        return f"{names[arm.method]} {arm.number:g}"
    plain = {"default": "default", "margin": "margin", "left-to-right": "left to right", "random-order": "random"}
    return plain.get(arm.method) or title_of(arm)
