"""Several strategies on the same prompts: a dot for each answer, prompts joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rws_decode.common.palette import GREY, LOOKS, Look
from rws_decode.view.plots.sheet import Panels, drawn, finished, panels_of
from rws_decode.view.sentences import count, joined

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Framed", "comparison"]

# A column of the table, and the label of its axis.
_MEASURES = {
    "reward_normalised": "reward [deviations]",
    "reward": "reward [its own unit]",
    "log_prob": "log-probability [nats]",
    "god_tokens": "GOD [tokens]",
    "god_steps": "GOD [steps]",
    "rules_broken": "rules broken",
    "forwards": "forwards of the model",
    "reward_calls": "texts scored",
}
_FEW = 20


class Framed(Protocol):
    """What has a table with a row for each prompt and strategy, as `rws_decode.compare` returns."""

    def to_frame(self) -> pandas.DataFrame: ...


@drawn
def comparison(
    comparison: Framed, measure: str | None = None, against: str = "god_tokens", *, axes: Panels = None
) -> Figure:
    """Draw what several strategies came to on the same prompts: a dot for each answer, the dots of a prompt joined.

    Left: the measure of each strategy, a line for each prompt. Right: the same against another measure, for a start the
    generation order deviation [tokens]; lines go from the first strategy to the others. There are no bars and no means:
    the caption counts the prompts on which each strategy is ahead of the first one, and says where prompts are few.

    comparison: of `rws_decode.compare`. measure: the reward [deviations] if there is one, else the log-probability,
    else the generation order deviation; any of reward_normalised, reward, log_prob, god_tokens, god_steps,
    rules_broken, forwards and reward_calls. against: another one. axes: two.

    ValueError for an unknown measure, one that the table does not know of any answer, and other numbers of axes.
    """
    frame = comparison.to_frame()
    prompts, strategies = list(dict.fromkeys(frame["prompt"])), list(dict.fromkeys(frame["strategy"]))
    if measure is None:
        known = ("reward_normalised", "log_prob", "god_tokens")
        measure = next(name for name in known if _table(frame, name, prompts, strategies) is not None)
        against = "god_steps" if measure == against else against
    tables = [_table(frame, name, prompts, strategies) for name in (measure, against)]
    for argument, name, table in zip(("measure", "against"), (measure, against), tables, strict=True):
        if table is None:
            there = [one for one in _MEASURES if _table(frame, one, prompts, strategies) is not None]
            raise ValueError(f"{argument} is {name!r}, which no answer has: one of {', '.join(there)} is needed")
    values, other = tables
    assert values is not None and other is not None
    looks = [LOOKS[place % len(LOOKS)] for place in range(len(strategies))]
    figure, panels = panels_of(axes, 1, 2, (10.0, 4.4), sharey=True, width_ratios=(1, 1))
    _by_strategy(panels[0], values, strategies, looks)
    _against(panels[1], values, other, strategies, looks)
    panels[0].set_ylabel(_MEASURES[measure])
    panels[1].set_xlabel(_MEASURES[against])
    return finished(figure, axes, *_sentences(values, strategies, measure))


def _table(
    frame: pandas.DataFrame, measure: str, prompts: Sequence[Any], strategies: Sequence[str]
) -> NDArray[np.float64] | None:
    """Return a measure as [prompts, strategies], NaN where it is not known; None where it never is."""
    if measure not in _MEASURES or measure not in frame:
        return None
    row, column = ({name: place for place, name in enumerate(names)} for names in (prompts, strategies))
    values = np.full((len(prompts), len(strategies)), np.nan)
    for prompt, strategy, value in zip(frame["prompt"], frame["strategy"], frame[measure], strict=True):
        values[row[prompt], column[strategy]] = np.nan if value is None else value
    return None if np.isnan(values).all() else values


def _by_strategy(axes: Axes, values: NDArray[np.float64], strategies: Sequence[str], looks: Sequence[Look]) -> None:
    place = np.arange(len(strategies)) + np.stack([_beside(column) for column in values.T], axis=1)
    faint = max(0.15, min(0.7, 12 / max(1, len(values))))
    for at, row in zip(place, values, strict=True):
        axes.plot(at, row, color=GREY, linewidth=0.9, alpha=faint, zorder=1)
    for column, (name, look) in enumerate(zip(strategies, looks, strict=True)):
        axes.plot(place[:, column], values[:, column], label=name, **_mark(look, len(values), len(looks) - 1 - column))
    axes.set_xticks(range(len(strategies)), strategies, parse_math=False)
    if sum(map(len, strategies)) > 44:
        axes.tick_params(axis="x", rotation=20)
    axes.set_xlim(-0.5, len(strategies) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.1)
    axes.set_title("a line for each prompt")


def _against(
    axes: Axes,
    values: NDArray[np.float64],
    other: NDArray[np.float64],
    strategies: Sequence[str],
    looks: Sequence[Look],
) -> None:
    faint = max(0.1, min(0.5, 8 / max(1, len(values))))
    for row, across in zip(values, other, strict=True):
        for column in range(1, len(strategies)):
            axes.plot(across[[0, column]], row[[0, column]], color=GREY, linewidth=0.8, alpha=faint, zorder=1)
    for column, (name, look) in enumerate(zip(strategies, looks, strict=True)):
        axes.plot(other[:, column], values[:, column], label=name, **_mark(look, len(values), len(looks) - 1 - column))
    axes.margins(0.1)
    axes.set_title(f"from {strategies[0]} to the others" if len(strategies) > 1 else strategies[0], parse_math=False)
    axes.legend(loc="best")


def _mark(look: Look, prompts: int, behind: int) -> dict[str, Any]:
    """Return the look of markers: hollow, and larger for those `behind` others, so that all are seen at one place."""
    mark = {"marker": look.marker, "color": look.color, "linestyle": "none", "markerfacecolor": "none"}
    return mark | {"markeredgewidth": 1.5, "markersize": (6.0 if prompts <= 30 else 4.5) + min(3 * behind, 9)}


def _beside(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far to move the markers of a strategy sideways, so that equal values stand beside each other.

    >>> _beside(np.array([1.0, 2.0, 1.0])).round(2).tolist()
    [-0.03, 0.0, 0.03]
    """
    moved = np.zeros(len(values))
    for value in np.unique(values[~np.isnan(values)]):
        same = np.flatnonzero(values == value)
        moved[same] = np.linspace(-1, 1, len(same)) * min(0.03 * (len(same) - 1), 0.35) if len(same) > 1 else 0.0
    return moved


def _sentences(values: NDArray[np.float64], strategies: Sequence[str], measure: str) -> list[str]:
    name, first = _MEASURES[measure].split(" [")[0], strategies[0]
    sentences = []
    alone: dict[str, list[str]] = {"higher than": [], "lower than": [], "the same as": []}
    for column, strategy in enumerate(strategies[1:], start=1):
        both = ~np.isnan(values[:, [0, column]]).any(axis=1)
        gain = values[both, column] - values[both, 0]
        gain[np.isclose(gain, 0, rtol=0, atol=1e-12)] = 0
        higher, lower, same = (int((np.sign(gain) == sign).sum()) for sign in (1, -1, 0))
        if len(values) == 1:
            for side, times in zip(alone, (higher, lower, same), strict=True):
                alone[side] += [strategy] * times
        else:
            of = f"{higher} of {count(len(gain), 'prompt')}"
            than = f"In {name}, {strategy} is higher than {first} on {of}"
            sentences.append(f"{than}, lower on {lower}, and the same on {same}.")
    for side, named in alone.items():
        if named:
            verb = "is" if len(named) == 1 else "are"
            sentences.append(f"In {name}, {joined(named, len(named))} {verb} {side} {first}.")
    if len(values) < _FEW:
        few = "One prompt" if len(values) == 1 else f"{len(values)} prompts"
        sentences.append(f"{few} can show what happens, not how often.")
    return sentences
