"""The complete scale path: every answer that any factor c, or any reward scale s_R, gives a prompt.

Shows: a lane for each answer with the scales that give it, on both axes, and the points of the paper's grid; rewards,
perplexity and Generation Order Deviation along the axes. The run's first prompt is drawn, and its answers are listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.exhibit import Exhibit, Interactive, Picture, Story, shipped_predictor
from paper_figures.exhibits.runs import read_named
from paper_figures.exhibits.style import figure
from paper_figures.plan import command
from paper_figures.table import Column, Table, make_table
from rws_decode import plots
from rws_decode.final_text import FinalReward
from rws_decode.rewards import load_reward
from rws_decode.scales.path import Over, ScalePath, ScalePiece, Unexplored, scale_path
from rws_decode.settings import Shape

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("scale-path",)
AXES: tuple[Over, ...] = ("temperature", "reward-scale")


@dataclass(frozen=True)
class Profile:
    """The experiment's outcome: `prompts`, each with outputs and paths; `summary` rows; the grid; settings."""

    prompts: Sequence[Row]
    summary: Sequence[Row]
    grid: Sequence[float]
    settings: Row

    @property
    def drawn(self) -> Row:
        """Return the prompt that is drawn: the run's first, so that nobody chose it for its looks."""
        return self.prompts[0]

    @property
    def ends(self) -> tuple[float, float]:
        """Return the least and the greatest scale."""
        return self.settings["scale_min"], self.settings["scale_max"]

    def path(self, over: str) -> Row:
        """Return the drawn prompt's path over an axis."""
        return next(path for path in self.drawn["paths"] if path["over"] == over)

    def missed(self, over: str) -> set[int]:
        """Return the drawn prompt's outputs of an axis that no point of the grid gives."""
        pieces = self.path(over)["pieces"]
        hit = {p["output"] for p in pieces for point in self.grid if p["lower"] <= point <= p["upper"]}
        return {piece["output"] for piece in pieces} - hit


def compute(runs: Path) -> Profile:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    parts = ("profiles", "summary", "grid", "settings")
    path, made_by = runs / "scale-path" / "results.json", command("scale-path", runs)
    results = read_named(path, made_by, parts)
    if not results["profiles"]:
        raise ValueError(f"{path} holds no prompt: run {made_by} --retry-failed")
    return Profile(*(results[part] for part in parts))


def _path_of(data: Profile, over: Over) -> ScalePath:
    """Return the drawn prompt's path over an axis as `rws_decode.scale_path` returns it."""
    path, outputs = data.path(over), data.drawn["outputs"]
    pieces = []
    for piece in path["pieces"]:
        output = outputs[piece["output"]]
        reward = FinalReward(math.nan, output["reward"])  # the file has the normalised one alone
        tokens, order = tuple(output["tokens"]), tuple(piece["commit_step"])
        pieces.append(ScalePiece(piece["lower"], piece["upper"], tokens, output["text"], order, reward))
    counts = {name: path[name] for name in ("states", "forwards", "grid_forwards", "reward_calls", "near_tokens")}
    left = tuple(Unexplored(part["lower"], part["upper"]) for part in path["unexplored"])
    return ScalePath(over, *data.ends, tuple(pieces), left, (), path["certified"], batches=path["forwards"], **counts)


def draw(data: Profile) -> Figure:
    """Draw which answer each scale gives, and what it is worth: rewards, perplexity and GOD, one below the other."""
    paths = [_path_of(data, over) for over in AXES]
    outputs = {tuple(output["tokens"]): output for output in data.drawn["outputs"]}

    def of(name: str) -> Callable[[ScalePiece], float]:
        return lambda piece: outputs[piece.tokens][name]

    others = {f"{data.settings['judge']}\n[deviations]": of("judge"), "perplexity": of("perplexity")}
    lanes = max(2.2, 0.5 + 0.3 * len(outputs))
    picture = figure(6.6, lanes + 5.2)
    first, *panels = picture.subplots(5, 1, height_ratios=(lanes, 1.2, 1.2, 1.2, 1.2))
    plots.scale_path(paths, data.grid, axes=first)
    plots.reward_against_scale(paths, others, god=True, grid=data.grid, axes=panels)
    first.set_xlabel("")
    handles, labels = first.get_legend_handles_labels()
    for axes in (first, panels[0]):
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    picture.legend(handles, labels, loc="outside upper left", ncols=2)
    return picture


def table(data: Profile) -> Table:
    """Return the drawn prompt's answers; the study's own files have every piece, and the counts of every prompt."""
    rows: list[dict[str, Any]] = [{"answer": number + 1} for number in range(len(data.drawn["outputs"]))]
    for over, name in zip(AXES, ("c", "s_R"), strict=True):
        reached = {piece["output"] for piece in data.path(over)["pieces"]}
        for number, row in enumerate(rows):
            told = "misses it" if number in data.missed(over) else "gives it"
            row[f"grid of {name}"] = told if number in reached else None
    columns = [Column(name) for name in rows[0]]
    columns += [Column("width in c", "temperature_width"), Column("width in s_R", "reward_width")]
    columns += [Column("coherent"), Column("violations"), Column("guide", "reward"), Column("judge")]
    caption = (
        f"Every answer to the drawn prompt, “{data.drawn['prompt']}” A width is ln(upper / lower) of the scales that "
        "give the answer, 0 if none in the range does. A grid misses an answer if none of its points gives it. "
        "Coherent: no rule of the story language is broken. Guide and judge: normalised scores."
    )
    rows = [row | output for row, output in zip(rows, data.drawn["outputs"], strict=True)]
    return make_table("scale_path", rows, [*columns, Column("perplexity"), Column("text")], caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the figure and tables of the scale paths below `runs`."""
    data = compute(runs)
    settings, grid = data.settings, len(data.grid)
    caption = (
        f"Every answer of model {settings['model']} to prompt {data.drawn['index']} of {settings['data']} (the first, "
        f"by rule), {settings['length']} tokens in {settings['steps']} steps, blocks of {settings['block']}, guide "
        f"{settings['reward']}. Above: a lane for each answer, and a bar at the scales that give it, over any constant "
        "factor c and over any reward scale; marks are the points of the printed grid. Below: the answer's reward by "
        "guide and judge, its perplexity under the causal model, and the order deviation of its commits. Nothing is "
        "sampled: the lines are exact for these logits and need no error bars."
    )
    alt = (
        "Lanes of answers with bars along a logarithmic axis of scales, and below it step lines of rewards, perplexity "
        "and order deviation."
    )
    ends = "{:g} to {:g}".format(*data.ends)
    rows = [row for row in data.summary if row["over"] == "temperature" and row["prompt"] != "all"]
    total, on_grid, missed = (sum(row[name] for row in rows) for name in ("outputs", "grid_outputs", "missed"))
    proved = "which is proved" if all(row["certified"] for row in rows) else "as far as was followed"
    said = (
        f"Prompts followed over all factors c from {ends}: {len(rows)}, with {total} distinct answers, {proved}; the "
        f"{grid} points of the printed grid give {on_grid} and miss {missed}."
    )
    by_c, by_scale = (len({piece["output"] for piece in data.path(over)["pieces"]}) for over in AXES)
    story = Story(
        f"Over all factors c from {ends}, this prompt has {by_c} answers, {proved}.",
        (
            f"The {grid} scales that the paper tried miss {len(data.missed('temperature')) or 'none'} of them. "
            f"RWS, over all s_R in that range, gives {by_scale}.",
            "Drag the scale: the answer, its order and its reward change at proved breakpoints.",
        ),
        f"{len(data.prompts)} prompts were followed like this: an illustration.",
        "scale_path",
    )
    return Exhibit(
        "The complete scale path of a prompt",
        (Picture("scale_path", draw(data), caption, alt),),
        (table(data),),
        conclusions=(said,),
        inputs=(f"{NEEDS[0]}/results.json",),
        story=story,
        interactive=_page(data),
    )


def _page(data: Profile) -> Interactive | None:
    """Return the drawn prompt's path over c, followed again, with the scale to drag; shipped models only."""
    settings = data.settings
    predictor = shipped_predictor(settings["model"])
    if predictor is None:
        return None
    shape, reward = Shape(settings["length"], settings["steps"], settings["block"]), load_reward(settings["reward"])
    path = scale_path(predictor, data.drawn["prompt"], *data.ends, shape, reward=reward)
    return Interactive("scale_path", path.view(data.grid), "The answers of one prompt along the whole scale axis")
