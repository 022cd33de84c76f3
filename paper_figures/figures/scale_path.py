"""The complete scale path: every answer that any factor c, or any reward scale s_R, gives a prompt.

Shows: both axes as strips of pieces, one fill per answer, hatched where no point of the paper's grid gives the answer;
the factors that RWS used; reward, perplexity and Generation Order Deviation along the axes. The run's first prompt is
drawn, and its answers are listed.
Inputs: RUNS/scale-path/results.json, made by `python -m paper_figures experiment scale-path --out RUNS`.
Run time: three seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from paper_figures.exhibits.exhibit import Exhibit, Interactive, Picture, Story
from paper_figures.exhibits.runs import read_named
from paper_figures.exhibits.shipped_models import shipped_predictor
from paper_figures.exhibits.style import GREY, LINES, figure, panel_title
from paper_figures.plan import command
from paper_figures.table import Column, Table, make_table
from rws_decode.common.palette import VERMILION
from rws_decode.rewards import load_reward
from rws_decode.scales.path import scale_path
from rws_decode.settings import Shape
from rws_decode.view.plots.scales.answers import along

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("scale-path",)
AXES = {"temperature": "constant factor c", "reward-scale": "reward scale $s_R$"}
WORDS = {"temperature": "factors c", "reward-scale": "reward scales s_R"}


@dataclass(frozen=True)
class Profile:
    """The experiment's outcome: `prompts`, each with outputs, paths and walks; `summary` rows; the grid; settings."""

    prompts: Sequence[Row]
    summary: Sequence[Row]
    grid: Sequence[float]
    settings: Row

    @property
    def drawn(self) -> Row:
        """Return the prompt that is drawn: the run's first, so that nobody chose it for its looks."""
        return self.prompts[0]

    def path(self, over: str) -> Row:
        """Return the drawn prompt's path over an axis."""
        return next(path for path in self.drawn["paths"] if path["over"] == over)

    def missed(self, over: str) -> set[int]:
        """Return the drawn prompt's outputs of an axis that no point of the grid gives."""
        pieces = self.path(over)["pieces"]
        hit = {piece["output"] for piece in pieces for point in self.grid if _holds(piece, point)}
        return {piece["output"] for piece in pieces} - hit


def _holds(piece: Row, point: float) -> bool:
    return bool(piece["lower"] <= point <= piece["upper"])


def compute(runs: Path) -> Profile:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    parts = ("profiles", "summary", "grid", "settings")
    path, made_by = runs / "scale-path" / "results.json", command("scale-path", runs)
    results, _ = read_named(path, made_by, parts)
    if not results["profiles"]:
        raise ValueError(f"{path} holds no prompt: run {made_by} --retry-failed")
    return Profile(*(results[part] for part in parts))


def letters(number: int) -> str:
    """Return the name of an output: A to Z, then AA and on.

    >>> letters(0), letters(25), letters(26), letters(52)
    ('A', 'Z', 'AA', 'BA')
    """
    head, last = divmod(number, 26)
    return (letters(head - 1) if head else "") + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[last]


def draw(data: Profile) -> Figure:
    """Draw the axes side by side: strip, factors of RWS, scores, perplexity and GOD, one below the other."""
    picture = figure(6.6, 7.6)
    panels = picture.subplots(5, 2, sharex="col", sharey="row", height_ratios=(0.8, 0.75, 1.6, 1.3, 1.3))
    outputs = data.drawn["outputs"]
    ends = data.settings["scale_min"], data.settings["scale_max"]
    for column, over in enumerate(AXES):
        strip, walks, scores, perplexity, god = panels[:, column]
        path = data.path(over)
        _strip(strip, data, over)
        _walks(walks, data.drawn["walks"], over)
        for name, look in (("reward", LINES["b"]), ("judge", LINES["a"])):
            values = [outputs[piece["output"]][name] for piece in path["pieces"]]
            _steps(scores, path["pieces"], values, color=look.color, linestyle=look.dash)
        _steps(perplexity, path["pieces"], [outputs[piece["output"]]["perplexity"] for piece in path["pieces"]])
        _steps(god, path["pieces"], [piece["god_steps"] for piece in path["pieces"]])
        god.set_ylim(0, 1.1 * max(piece["god_steps"] for each in data.drawn["paths"] for piece in each["pieces"]) or 1)
        for axes in (walks, scores, perplexity, god):
            for point in data.grid:
                axes.axvline(point, color=GREY, linewidth=0.6, linestyle=(0, (1, 2)), zorder=0)
            for part in path["unexplored"]:
                axes.axvspan(part["lower"], part["upper"], facecolor="#dddddd", hatch="xx", edgecolor="white", zorder=0)
            axes.grid(visible=False, axis="x")
        god.set_xscale("log")
        god.set_xlim(*ends)
        god.set_xticks(data.grid, [f"{point:g}" for point in data.grid])
        for axes in panels[:, column]:
            axes.tick_params(axis="x", which="minor", length=0)
        god.xaxis.set_minor_formatter(NullFormatter())
        god.set_xlabel(f"{AXES[over]}  [dimensionless]")
        panel_title(strip, f"Answers along the {AXES[over]}")
    named = (("score  [std]", "Rewards"), ("perplexity", "Perplexity"), ("GOD  [steps]", "Order deviation"))
    for axes, (label, title) in zip(panels[2:, 0], named, strict=True):
        axes.set_ylabel(label)
        panel_title(axes, title)
    if isinstance(layout := picture.get_layout_engine(), ConstrainedLayoutEngine):
        layout.set(wspace=0.08)
    _legend(picture, data)
    return picture


def _fill(number: int, count: int) -> Any:
    # One colour map whose lightness rises throughout: fills differ in grey print and to the colour-blind.
    return matplotlib.colormaps["cividis"](0.1 + 0.85 * (number / max(1, count - 1)))


def _strip(axes: Axes, data: Profile, over: str) -> None:
    pieces, outputs = data.path(over)["pieces"], data.drawn["outputs"]
    missed, count = data.missed(over), len(outputs)
    for piece in pieces:
        number = piece["output"]
        axes.axvspan(piece["lower"], piece["upper"], ymax=0.55, facecolor=_fill(number, count), lw=0)
        if number in missed:
            span = (piece["lower"], piece["upper"])
            axes.axvspan(*span, ymax=0.55, facecolor="none", edgecolor=VERMILION, hatch="////", lw=0)
            axes.plot(span, [0.58, 0.58], color=VERMILION, linewidth=2.5, solid_capstyle="butt")
    for piece in pieces[1:]:
        axes.plot([piece["lower"]] * 2, [0, 0.55], color="white", linewidth=0.5)
    positions = _label_places(pieces, data)
    for number, at in positions.items():
        text = letters(number) + ("✓" if outputs[number]["coherent"] else "")
        axes.text(at, 0.8, text, transform=axes.transAxes, ha="center", va="bottom", fontsize=8.5)
        _, lower, upper = max((run for run in _runs(pieces) if run[0] == number), key=lambda run: run[2] / run[1])
        to = _place(math.sqrt(lower * upper), data)
        axes.plot([at, to], [0.79, 0.62], transform=axes.transAxes, color="black", linewidth=0.6, clip_on=False)
    for point in data.grid:
        axes.plot([point], [0.0], marker="^", color="black", markersize=5, clip_on=False, zorder=5)
    for part in data.path(over)["unexplored"]:
        axes.axvspan(part["lower"], part["upper"], ymax=0.55, facecolor="#dddddd", hatch="xx", edgecolor="white", lw=0)
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)


def _runs(pieces: Sequence[Row]) -> list[tuple[int, float, float]]:
    """Return the stretches of one answer: neighbouring pieces that differ in their commit steps alone are one."""
    stretches: list[tuple[int, float, float]] = []
    for piece in pieces:
        if stretches and stretches[-1][0] == piece["output"] and stretches[-1][2] == piece["lower"]:
            stretches[-1] = (piece["output"], stretches[-1][1], piece["upper"])
        else:
            stretches.append((piece["output"], piece["lower"], piece["upper"]))
    return stretches


def _place(scale: float, data: Profile) -> float:
    """Return where a scale lies on its axis, from 0 to 1."""
    low, high = (math.log(data.settings[name]) for name in ("scale_min", "scale_max"))
    return (math.log(scale) - low) / (high - low)


def _label_places(pieces: Sequence[Row], data: Profile) -> dict[int, float]:
    """Return where each answer's letter stands, from 0 to 1: over its widest stretch, or beside it, all apart."""
    widest: dict[int, tuple[float, float]] = {}
    for number, lower, upper in _runs(pieces):
        if number not in widest or upper / lower > widest[number][1] / widest[number][0]:
            widest[number] = lower, upper
    centres = sorted((_place(math.sqrt(lower * upper), data), number) for number, (lower, upper) in widest.items())
    gap = min(0.085, 1.0 / max(1, len(centres)))
    positions = [position for position, _ in centres]
    for _ in range(100):  # push neighbours apart, each by half of what they lack
        for index in range(len(positions) - 1):
            lack = gap - (positions[index + 1] - positions[index])
            if lack > 0:
                positions[index], positions[index + 1] = positions[index] - lack / 2, positions[index + 1] + lack / 2
    return {number: position for position, (_, number) in zip(positions, centres, strict=True)}


def _walks(axes: Axes, walks: Sequence[Row], over: str) -> None:
    for line, walk in enumerate(walks):
        points = walk["factors"] if over == "temperature" else [walk["reward_scale"]]
        style = {"marker": "|", "markersize": 9} if over == "temperature" else {"marker": "s", "markersize": 5}
        axes.plot(points, [-line] * len(points), linestyle="none", color=LINES["rws"].color, clip_on=False, **style)
    axes.set_yticks([-line for line in range(len(walks))], [f"$s_R$ = {walk['reward_scale']:g}" for walk in walks])
    axes.set_ylim(0.6 - len(walks), 0.6)
    axes.grid(visible=False, axis="y")


def _steps(axes: Axes, pieces: Sequence[Row], values: Sequence[float], **style: Any) -> None:
    """Draw a value per piece, constant over it; a gap where a part is unexplored."""
    look: dict[str, Any] = {"color": "black", "linewidth": 1.4} | style
    spans = [(piece["lower"], piece["upper"]) for piece in pieces]
    axes.plot(*along(spans, values), **look)


def _legend(picture: Figure, data: Profile) -> None:
    handles: list[Any] = [
        Line2D([], [], color="black", marker="^", linestyle="none", label="point of the printed grid"),
        Patch(facecolor="#bbbbbb", edgecolor=VERMILION, hatch="////", label="answer that the grid misses"),
        Line2D([], [], color=LINES["rws"].color, marker="|", markersize=9, linestyle="none", label="factors of RWS"),
        Line2D([], [], color=LINES["rws"].color, marker="s", linestyle="none", label="its reward scale"),
        *(
            Line2D([], [], color=look.color, linestyle=look.dash, label=f"{what} ({data.settings[name]})")
            for what, name, look in (("guide", "reward", LINES["b"]), ("judge", "judge", LINES["a"]))
        ),
    ]
    picture.legend(handles=handles, loc="outside lower center", ncols=3)


def table(data: Profile) -> Table:
    """Return the drawn prompt's answers; the study's own files have every piece, and the counts of every prompt."""
    rows: list[dict[str, Any]] = []
    for number, output in enumerate(data.drawn["outputs"]):
        row: dict[str, Any] = {"answer": letters(number)}
        for over, name in zip(AXES, ("c", "s_R"), strict=True):
            reached = any(piece["output"] == number for piece in data.path(over)["pieces"])
            told = "misses it" if number in data.missed(over) else "gives it"
            row[f"grid of {name}"] = told if reached else None
        rows.append(row | output)
    names = {"temperature_width": "width in c", "reward_width": "width in s_R", "coherent": "coherent"}
    names |= {"violations": "violations", "reward": "guide", "judge": "judge", "perplexity": "perplexity"}
    columns = [Column(name) for name in ("answer", "grid of c", "grid of s_R")]
    columns += [Column(label, field) for field, label in names.items()]
    caption = (
        f"Every answer to the drawn prompt, “{data.drawn['prompt']}” A width is ln(upper / lower) of the scales that "
        "give the answer, 0 if none in the range does. A grid misses an answer if none of its points gives it. "
        "Coherent: no rule of the story language is broken. Guide and judge: normalised scores."
    )
    return make_table("scale_path", rows, [*columns, Column("text")], caption)


def _headline(data: Profile, ends: str) -> str:
    """Return how many answers a constant factor gives on the whole axis, and how many of them on the grid."""
    rows = [row for row in data.summary if row["over"] == "temperature" and row["prompt"] != "all"]
    answers, on_grid, missed = (sum(row[name] for row in rows) for name in ("outputs", "grid_outputs", "missed"))
    proved = "which is proved" if all(row["certified"] for row in rows) else "as far as was followed"
    return (
        f"Prompts followed over all {WORDS['temperature']} from {ends}: {len(rows)}, with {answers} distinct "
        f"answers, {proved}; the {len(data.grid)} points of the printed grid give {on_grid} and miss {missed}."
    )


def exhibit(runs: Path) -> Exhibit:
    """Return the figure and tables of the scale paths below `runs`."""
    data = compute(runs)
    settings = data.settings
    answers = {over: len({piece["output"] for piece in data.path(over)["pieces"]}) for over in AXES}
    caption = (
        f"Every answer of model {settings['model']} to prompt {data.drawn['index']} of {settings['data']} (the first, "
        f"by rule), {settings['length']} tokens in {settings['steps']} steps, blocks of {settings['block']}, guide "
        f"{settings['reward']}. Left: any constant factor c; right: any reward scale. White lines separate pieces, "
        "which differ in answer or in commit order. Each letter and fill is one answer, the same on both sides (✓: "
        "coherent). No point of the printed grid (triangles) gives the hatched answers. Ticks below: the factors that "
        "RWS used, step by step; a square is its reward scale. Below: the answer's rewards, its perplexity under the "
        "causal model, and the order deviation of its commits. Nothing is sampled: the lines are exact for these "
        "logits and need no error bars. Other prompts differ (table)."
    )
    ends = f"{settings['scale_min']:g} to {settings['scale_max']:g}"
    alt = (
        f"Two strips cut into pieces along logarithmic axes from {ends}, with step lines of reward, perplexity and "
        "order deviation below."
    )
    missed, grid = len(data.missed("temperature")), len(data.grid)
    story = Story(
        f"Over all factors c from {ends}, this prompt has {answers['temperature']} answers, which is proved.",
        (
            f"The {grid} scales that the paper tried miss {missed or 'none'} of them. "
            f"RWS, over all s_R in that range, gives {answers['reward-scale']}.",
            "Drag the scale: the answer, its order and its reward change at proved breakpoints.",
        ),
        f"{len(data.prompts)} prompts were followed like this: an illustration.",
        "scale_path",
    )
    return Exhibit(
        "The complete scale path of a prompt",
        (Picture("scale_path", draw(data), caption, alt),),
        (table(data),),
        conclusions=(_headline(data, ends),),
        inputs=(f"{NEEDS[0]}/results.json",),
        story=story,
        interactive=_path(data),
    )


def _path(data: Profile) -> Interactive | None:
    """Return the drawn prompt's path over c, followed again, with the scale to drag; shipped models only."""
    settings = data.settings
    predictor = shipped_predictor(settings["model"])
    if predictor is None:
        return None
    shape = Shape(settings["length"], settings["steps"], settings["block"])
    ends = settings["scale_min"], settings["scale_max"]
    path = scale_path(predictor, data.drawn["prompt"], *ends, shape, reward=load_reward(settings["reward"]))
    return Interactive("scale_path", path.view(data.grid), "The answers of one prompt along the whole scale axis")
