"""Lesson 2, first half: three words whose probabilities are tilted by a reward, or scaled, and a step of a proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from paper_figures.extra.lessons.case_pages import BarsCase, bars_page
from rws_decode.common.page import Page
from rws_decode.common.palette import BLUE, GREEN, GREY, VERMILION
from rws_decode.view.plots.sheet import drawn, finished, panels_of
from rws_theory.tilting import scaled_reward_mean, tilt, tilted_cumulants, tilted_gain, variance_identity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rewards = Mapping[str, Sequence[float]]

# The weights of three words, and a reward of 1 on one of them.
WEIGHTS: Mapping[str, float] = {"likely": 8, "middle": 4, "rare": 1}
REWARDS: Rewards = {f"on the {word} word": tuple(float(word == other) for other in WEIGHTS) for word in WEIGHTS}

_STRENGTHS = np.linspace(0, 7, 281)  # r
_FACTORS = np.linspace(0, 8, 321)  # c: RWS can have factors below 1, too
_DRAGGED = np.geomspace(0.125, 8.0, 97)
_TWO = ([0.0, 0.0], [0.0, 1.0])  # two words of probability 1/2, one with a reward


def _log_p(weights: Mapping[str, float]) -> np.ndarray:
    return np.log(np.array(list(weights.values()), dtype=float))


@drawn
def means_picture(weights: Mapping[str, float], rewards: Rewards) -> Figure:
    """Draw the expected reward after tilting by r and after scaling by c = 1 + r, a panel for each reward."""
    log_p = _log_p(weights)
    figure, panels = panels_of(None, 1, len(rewards), (10.0, 3.6), sharey=True)
    for panel, (name, values) in zip(panels, rewards.items(), strict=True):
        tilted, scaled = tilted_cumulants(log_p, values, _STRENGTHS)[:, 0], scaled_reward_mean(log_p, values, _FACTORS)
        panel.plot(_STRENGTHS, tilted, color=BLUE, label="tilted, $p\\,e^{rR}$")
        panel.plot(_FACTORS - 1, scaled, "--", color=VERMILION, label="scaled, $p^c$", linewidth=2)
        panel.axhline(scaled_reward_mean(log_p, values, 1.0), color=GREY, linewidth=0.8, linestyle=":")
        panel.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
        panel.set_title(f"reward 1 {name}")
        panel.set_xlabel("$r$ (tilting), $c - 1$ (scaling)")
    panels[0].set_ylabel("expected reward")
    panels[-1].legend(loc="center right")
    return finished(figure, None, "The dotted lines meet at p itself, r = 0 and c = 1. At c = 0 all words are alike.")


def drag(weights: Mapping[str, float], rewards: Rewards) -> Page:
    """Return a page on which c is dragged: p, p scaled by c and p tilted by r = c - 1, and their expected rewards."""
    return bars_page(
        "Three words, scaled and tilted",
        "Drag c. Scaling moves probability to the likely word, whichever word has the reward. Tilting by "
        "r = c \u2212 1 moves it to the word with the reward. Below c = 1 both work the other way.",
        "c",
        _DRAGGED,
        list(weights),
        [_case(f"reward 1 {name}", _log_p(weights), np.array(values)) for name, values in rewards.items()],
        start=3.0,
    )


def _case(name: str, log_p: np.ndarray, rewards: np.ndarray) -> BarsCase:
    bars = {
        "tilted by r = c \u2212 1": np.exp([tilt(log_p, rewards, c - 1) for c in _DRAGGED]),
        "scaled by c": np.exp([tilt(log_p, log_p, c - 1) for c in _DRAGGED]),
        "p itself": np.exp([tilt(log_p, rewards, 0.0)] * len(_DRAGGED)),
    }
    means = {of: values @ rewards for of, values in bars.items()}
    said = [
        f"Expected reward at c = {c:.3g}: {scaled:.4f} scaled, {tilted:.4f} tilted, {own:.4f} under p."
        for c, tilted, scaled, own in zip(_DRAGGED, *means.values(), strict=True)
    ]
    return BarsCase(name, bars, means, said, "probability", "expected reward", (0, 1))


@drawn
def identity_picture(at: float = 2.0) -> Figure:
    """Draw what the proof of Theorem 2 sets equal, for two words of probability 1/2: the gain, and r times a variance.

    at: the r whose numbers are written down.
    """
    scales = np.linspace(0.1, 8, 80)
    figure, (panel,) = panels_of(None, 1, 1, (8.0, 3.8))
    panel.plot(scales, tilted_gain(*_TWO, scales), color=BLUE, label="gain $A'(r) - A'(0)$")
    right = [variance_identity(*_TWO, r).corrected for r in scales[::6]]
    panel.plot(scales[::6], right, "o", color=GREEN, label="$r\\,$Var at the right $s < r$")
    panel.plot(
        scales,
        scales * tilted_cumulants(*_TWO, scales)[:, 1],
        "--",
        color=VERMILION,
        label="$r\\,$Var at $r$, as printed",
    )
    here = variance_identity(*_TWO, at)
    for value, color, place in ((here.gain, BLUE, (-42, 6)), (here.printed, VERMILION, (6, 6))):
        panel.plot(at, value, "D", color=color, markersize=6)
        panel.annotate(f"{value:.4f}", (at, value), place, textcoords="offset points", color=color)
    panel.axvline(at, color=GREY, linewidth=0.8, linestyle=":")
    panel.set_xlabel("$r$")
    panel.set_ylabel("expected reward, less that of $p$")
    panel.set_ylim(0, 0.78)
    panel.legend(loc="upper left", ncols=2)
    return figure
