"""Lesson 4: every answer of two prompts over all temperatures and all reward scales, and how fine a grid finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rws_decode import MaskPredictor, RewardModel, final_reward
from rws_decode.common.palette import LOOKS
from rws_decode.view.plots.sheet import drawn, finished, panels_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rws_decode.extra.scale_paths.path import ScalePath, ScalePiece

Answer = tuple[int, ...]
Both: TypeAlias = "Sequence[ScalePath]"  # over the temperature, and over the reward scale
GridSearch = Mapping[tuple[int, str], NDArray[np.int64]]  # (prompt, axis) -> answers found, for each size of a grid

_SIZES = np.unique(np.geomspace(2, 200, 90).astype(int))


def answer_rewards(
    paths: Mapping[int, Both], prompts: Mapping[int, str], predictor: MaskPredictor, reward: RewardModel
) -> dict[Answer, float]:
    """Return the normalised reward of every answer of the paths by a reward model that guided none of them."""
    return {
        answer: final_reward(predictor, reward, prompts[number], answer).normalised
        for number, both in paths.items()
        for path in both
        for answer in path.answers
    }


def answers_table(both: Both, other: Mapping[Answer, float]) -> str:
    """Return the answers of a prompt, with shares of the axis, rewards, broken rules and texts, as Markdown's table.

    other: their rewards by another reward model.
    """
    from rws_decode.extra.scale_paths.reach import compare_reach

    pieces = {piece.tokens: piece for path in both for piece in path.pieces}
    axis = log(both[0].scale_max / both[0].scale_min)
    heads = ("answer", "temperature", "RWS", "reward, guide", "reward, other", "rules broken", "text")
    rows = [f"| {' | '.join(heads)} |", "|" + "--:|" * (len(heads) - 1) + ":--|"]
    for number, output in enumerate(compare_reach(*both).outputs, start=1):
        shares = (
            f"{100 * width / axis:.1f} %" if width else "0" for width in (output.temperature_width, output.reward_width)
        )
        piece = pieces[output.tokens]
        rewards = f"{_by_guide(piece):+.2f} | {other[output.tokens]:+.2f}"
        rows.append(
            f"| {number} | {' | '.join(shares)} | {rewards} | {len(piece.rules_broken or ())} | {output.text} |"
        )
    return "\n".join(rows)


def _by_guide(piece: ScalePiece) -> float:
    """Return the reward of a piece's answer by the reward model that RWS follows."""
    assert piece.final_reward is not None
    return piece.final_reward.normalised


def _answer_at(path: ScalePath, scale: float) -> Answer | None:
    """Return the answer that a path gives at a scale, None where it was not explored."""
    piece = path.at(scale)
    return None if piece is None else piece.tokens


def answers_on(path: ScalePath, grid: Sequence[float] | NDArray[np.float64]) -> int:
    """Return how many different answers of a path a grid of scales finds."""
    return len({_answer_at(path, float(scale)) for scale in np.clip(grid, path.scale_min, path.scale_max)} - {None})


def grid_search(paths: Mapping[int, Both]) -> GridSearch:
    """Return how many answers grids of 2 to 200 scales find, even in the logarithm, by prompt and axis."""
    return {
        (prompt, path.over): np.array(
            [answers_on(path, np.geomspace(path.scale_min, path.scale_max, size)) for size in _SIZES]
        )
        for prompt, both in paths.items()
        for path in both
    }


@drawn
def grid_picture(paths: Mapping[int, Both], search: GridSearch, grid: Sequence[float]) -> Figure:
    """Draw how many answers grids of many sizes find, a panel for each prompt; hollow marks: the given grid."""
    from paper_figures.extra.scale_pictures.lanes import OVER

    figure, panels = panels_of(None, 1, len(paths), (10.0, 3.8))
    for panel, (prompt, both) in zip(panels, paths.items(), strict=True):
        for path, look in zip(both, LOOKS, strict=False):
            hits, style = search[prompt, path.over], {"color": look.color, "linestyle": look.dash}
            panel.plot(_SIZES, hits, label=OVER[path.over], **style)
            panel.axhline(len(path.answers), color=look.color, linestyle=":")
            hollow = {"color": "white", "markeredgecolor": look.color, "zorder": 3}
            panel.plot(len(grid), answers_on(path, grid), look.marker, **hollow)
        panel.set(xscale="log", xlabel="scales in the grid")
        panel.set_title(f"prompt {prompt}")
        panel.set_xticks([2, 8, 32, 128], ["2", "8", "32", "128"])
        panel.set_xticks([], minor=True)
        panel.set_yticks(range(1 + max(len(path.answers) for path in both)))
    panels[0].set_ylabel("different answers found")
    panels[0].legend(loc="lower right")
    return finished(figure, None, "Dotted: all answers that there are. Hollow: the paper's grid.")
