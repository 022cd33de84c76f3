"""Notebook 2: three words whose probabilities are tilted by a reward, or scaled, on a page to drag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rws_decode.common.page import Page
from rws_decode.extra.pages.case_pages import BarsCase, bars_page
from rws_theory.tilting import tilt

WEIGHTS: Mapping[str, float] = {"likely": 8, "middle": 4, "rare": 1}
REWARDS = {f"on the {word} word": tuple(float(word == other) for other in WEIGHTS) for word in WEIGHTS}
_DRAGGED = np.geomspace(0.125, 8.0, 97)


def drag(weights: Mapping[str, float], rewards: Mapping[str, Sequence[float]]) -> Page:
    """Return a page on which c is dragged: p, p scaled by c and p tilted by r = c - 1, and their expected rewards."""
    log_p = np.log(np.array(list(weights.values()), dtype=float))
    return bars_page(
        "Three words, scaled and tilted",
        "Drag c. Scaling moves probability to the likely word, whichever word has the reward. Tilting by "
        "r = c \u2212 1 moves it to the word with the reward. Below c = 1 both work the other way.",
        "c",
        _DRAGGED,
        list(weights),
        [_case(f"reward 1 {name}", log_p, np.array(values)) for name, values in rewards.items()],
        start=3.0,
    )


def _case(name: str, log_p: np.ndarray, rewards: np.ndarray) -> BarsCase:
    bars = {
        "tilted by r = c \u2212 1": np.exp([tilt(log_p, rewards, c - 1) for c in _DRAGGED]),
        "scaled by c": np.exp([tilt(log_p, log_p, c - 1) for c in _DRAGGED]),
        "p itself": np.exp([tilt(log_p, rewards, 0.0)] * len(_DRAGGED)),
    }
    means = {label: values @ rewards for label, values in bars.items()}
    sentences = [
        f"Expected reward at c = {c:.3g}: {scaled:.4f} scaled, {tilted:.4f} tilted, {own:.4f} under p."
        for c, tilted, scaled, own in zip(_DRAGGED, *means.values(), strict=True)
    ]
    return BarsCase(name, bars, means, sentences, "probability", "expected reward", (0, 1))
