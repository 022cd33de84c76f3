"""The Pareto front of log-probability and reward in an exact model, and texts below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from rws_decode.common.palette import BLACK, LOOKS
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import number
from rws_theory.worlds import Frontier

_SLACK = 1e-6  # nats that rounding may put a text above the Pareto front
_DRAWN = 400  # rewards at which the line is computed


@drawn
def frontier(
    curve: Frontier,
    texts: Mapping[str, tuple[float, float]] | None = None,
    unit: str = "reward",
    *,
    axes: Panels = None,
) -> Figure:
    """Draw the largest log-probability of each reward, and where texts lie to the left of it.

    Dots on the line are the texts that are best at some weight of the reward. Texts at one place share a marker.

    curve : by `rws_theory.worlds.frontier`. texts : name -> (log-probability in nats, reward), of the same model,
    prompt and length. unit : the name of the reward. ValueError for a text above the Pareto front.

    >>> from rws_decode import plots
    >>> from rws_theory.worlds import NGram, frontier
    >>> world = NGram.fit([[0, 0, 0, 1, 0, 0]], order=2, vocabulary=2)
    >>> figure = plots.frontier(frontier(world, [0.0, 1.0], 3), {"a text": (-3.0, 1.0)})
    >>> plots.caption(figure)
    'No text lies to the right of the line. a text lies 0.941 nats to its left.'
    """
    texts = dict(texts or {})
    regrets = {name: curve.regret(*place) for name, place in texts.items()}
    for name, regret in regrets.items():
        if not regret >= -_SLACK:
            raise ValueError(
                f"texts holds {name!r}, {-regret:.3g} nats above the frontier: give texts of its own world"
            )
    figure, (panel,) = panels_of(axes, 1, 1, (8.0, 4.4))
    best = [point.reward for point in curve.points]
    drawn_at = [*best, *(reward for _, reward in texts.values())]
    rewards = np.linspace(min(drawn_at), max(drawn_at), _DRAWN)
    panel.plot([curve.bound(reward) for reward in rewards], rewards, color=BLACK, label="the frontier")
    panel.plot([point.log_prob for point in curve.points], best, "o", color=BLACK, markersize=4)
    places: dict[tuple[float, float], list[str]] = {}
    for name, (log_prob, reward) in texts.items():
        places.setdefault((round(log_prob, 6), round(reward, 6)), []).append(name)
    for index, (place, names) in enumerate(places.items()):
        look = LOOKS[index % len(LOOKS)]
        inside: dict[str, Any] = {"markerfacecolor": look.color if index < len(LOOKS) else "white"}
        panel.plot(*place, look.marker, color=look.color, markersize=8, label="\n".join(names), **inside)
    panel.set_xlabel("log-probability of the text [nats]")
    panel.set_ylabel(f"reward of the text [{unit}]" if unit != "reward" else "reward of the text")
    legend(figure, panel, axes, "right upper")
    return finished(figure, axes, "No text lies to the right of the line.", _told(regrets))


def _told(regrets: Mapping[str, float]) -> str:
    """Say how far the texts are from the Pareto front: the nearest and the furthest."""
    if not regrets:
        return ""
    near, far = min(regrets, key=lambda name: regrets[name]), max(regrets, key=lambda name: regrets[name])
    nats = {name: number(max(0.0, regrets[name]), 3) for name in (near, far)}
    if len(regrets) == 1:
        return f"{near} lies {nats[near]} nats to its left."
    return f"The nearest text is of {near}, {nats[near]} nats to its left, and the furthest of {far}, {nats[far]}."
