"""The complete scale path: every answer that any factor c, or any reward scale s_R, gives a prompt.

Shows: a lane for each answer with the scales that give it, on both axes, and the points of the paper's grid; rewards,
perplexity and Generation Order Deviation along the axes. The run's first prompt is shown, and its answers are listed.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import Exhibit, Picture, Story, figure, interactive, joint_legend
from paper_figures.exhibits.shared.results import Row, read_named
from paper_figures.table import Column, Table, make_table
from rws_decode import plots
from rws_decode.common.page import Page
from rws_decode.final_text import FinalReward
from rws_decode.predictors import MaskPredictor
from rws_decode.rewards import load_reward
from rws_decode.settings import Shape

if TYPE_CHECKING:
    from rws_decode.extra.scale_paths.path import ScalePath

NEEDS: tuple[str, ...] = ("scale-path",)


def _ends(data: Row) -> tuple[float, float]:
    return data["settings"]["scale_min"], data["settings"]["scale_max"]


def _grid_of(data: Row, path: Row) -> dict[int, str]:
    """Return whether a point of the grid gives an output, by the number of each output of a path."""
    outputs = {piece["output"]: "misses it" for piece in path["pieces"]}
    hit = [p for p in path["pieces"] if any(p["lower"] <= point <= p["upper"] for point in data["grid"])]
    return outputs | {piece["output"]: "gives it" for piece in hit}


def _path_of(data: Row, path: Row) -> ScalePath:
    """Return a path of the prompt shown, as `rws_decode.scale_path` returns it."""
    from rws_decode.extra.scale_paths.path import ScalePath, ScalePiece, Unexplored

    pieces = []
    for piece in path["pieces"]:
        output = data["profiles"][0]["outputs"][piece["output"]]
        reward = FinalReward(math.nan, output["reward"])  # the file has the normalised one alone
        tokens, order = tuple(output["tokens"]), tuple(piece["commit_step"])
        pieces.append(ScalePiece(piece["lower"], piece["upper"], tokens, output["text"], order, reward))
    kept = ("over", "certified", "states", "forwards", "grid_forwards", "reward_calls", "near_tokens")
    counts: Row = {name: path[name] for name in kept} | {"scale_min": _ends(data)[0], "scale_max": _ends(data)[1]}
    left = tuple(Unexplored(part["lower"], part["upper"]) for part in path["unexplored"])
    return ScalePath(pieces=tuple(pieces), unexplored=left, breakpoints=(), batches=path["forwards"], **counts)


def draw(data: Row) -> Figure:
    """Draw which answer each scale gives, and what it is worth: rewards, perplexity and GOD, one below the other."""
    paths = [_path_of(data, path) for path in data["profiles"][0]["paths"]]
    outputs = {tuple(output["tokens"]): output for output in data["profiles"][0]["outputs"]}
    judge = f"{data['settings']['judge']}\n[SD]"
    others = {judge: lambda piece: outputs[piece.tokens]["judge"]}
    others["perplexity"] = lambda piece: outputs[piece.tokens]["perplexity"]
    lanes = max(2.2, 0.5 + 0.3 * len(outputs))
    picture = figure(6.6, lanes + 5.2)
    first, *panels = picture.subplots(5, 1, height_ratios=(lanes, 1.2, 1.2, 1.2, 1.2))
    plots.scale_path(paths, data["grid"], axes=first)
    plots.reward_against_scale(paths, others, god=True, grid=data["grid"], axes=panels)
    first.set_xlabel("")
    for axes in (first, panels[0]):
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    joint_legend(picture, 2, "outside upper left")
    return picture


def table(data: Row) -> Table:
    """Return the answers of the prompt shown; the study's own files have every segment, and each prompt's counts."""
    drawn = data["profiles"][0]
    rows: list[dict[str, Any]] = [{"answer": number + 1} for number in range(len(drawn["outputs"]))]
    for path, name in zip(drawn["paths"], ("c", "s_R"), strict=True):
        for number, row in enumerate(rows):
            row[f"grid of {name}"] = _grid_of(data, path).get(number)
    columns = [Column(name) for name in rows[0]]
    columns += [Column("width in c", "temperature_width"), Column("width in s_R", "reward_width")]
    columns += [Column("coherent"), Column("violations"), Column("guide", "reward"), Column("judge")]
    caption = (
        f"Every answer to the prompt shown, “{drawn['prompt']}” A width is ln(upper / lower) of the scales that "
        "give the answer, 0 if none in the range does. A grid misses an answer if none of its points gives it. "
        "Coherent: no rule of the story language is broken. Guide and judge: normalised scores."
    )
    rows = [row | output for row, output in zip(rows, drawn["outputs"], strict=True)]
    return make_table("scale_path", rows, [*columns, Column("perplexity"), Column("text")], caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the figure and tables of the scale paths below `runs`.

    The run's first prompt is shown, so that nobody chose it for its looks.
    """
    data = read_named(runs, NEEDS[0], ("profiles", "summary", "grid", "settings"))
    drawn, settings, grid = data["profiles"][0], data["settings"], len(data["grid"])
    caption = (
        f"Every answer of the model {settings['model']} to prompt {drawn['index']} of {settings['data']} (the first, "
        f"by rule), {settings['length']} tokens in {settings['steps']} steps, blocks of {settings['block']}, guide "
        f"{settings['reward']}. Above: a lane for each answer, and a bar at the scales that give it, over any fixed "
        "factor c and over any reward scale; marks are the points of the printed grid. Below: the answer's reward by "
        "two reward models, its perplexity under the causal model, and the order deviation of its commits. Nothing is "
        "sampled: the lines are exact for these logits and need no error bars."
    )
    alt = (
        "Lanes of answers with bars along a logarithmic axis of scales, and below it step lines of rewards, perplexity "
        "and order deviation."
    )
    ends = "{:g} to {:g}".format(*_ends(data))
    rows = [row for row in data["summary"] if row["over"] == "temperature" and row["prompt"] != "all"]
    total, on_grid, missed = (sum(row[name] for row in rows) for name in ("outputs", "grid_outputs", "missed"))
    proved = "which is proved" if all(row["certified"] for row in rows) else "as far as was followed"
    summary = (
        f"Prompts followed over all factors c from {ends}: {len(rows)}, with {total} distinct answers, {proved}; the "
        f"{grid} points of the printed grid give {on_grid} and miss {missed}."
    )
    by_c, by_scale = (list(_grid_of(data, path).values()) for path in drawn["paths"])
    story = Story(
        f"Over all factors c from {ends}, this prompt has {len(by_c)} answers, {proved}.",
        (
            f"The {grid} scales that the paper tried miss {by_c.count('misses it') or 'none'} of them. "
            f"RWS, over all s_R in that range, gives {len(by_scale)}.",
            "Drag the scale: the answer, its order and its reward change at proved breakpoints.",
        ),
        f"{len(data['profiles'])} prompts were followed like this: an illustration.",
        "scale_path",
    )

    def page(predictor: MaskPredictor) -> Page:
        """Return the path over c of the prompt shown, computed again, with the scale to drag."""
        from rws_decode.extra.scale_paths.path import scale_path

        shape = Shape(settings["length"], settings["steps"], settings["block"])
        path = scale_path(predictor, drawn["prompt"], *_ends(data), shape, reward=load_reward(settings["reward"]))
        return path.view(data["grid"])

    title = "The answers of one prompt along the whole scale axis"
    drag = interactive("scale_path", title, settings["model"], page)
    picture, inputs = Picture("scale_path", draw(data), caption, alt), (f"{NEEDS[0]}/results.json",)
    return Exhibit("The complete scale path of a prompt", (picture,), (table(data),), (summary,), inputs, story, drag)
