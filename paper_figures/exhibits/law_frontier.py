"""How far each sampler's distribution is from the model's, and what reward it gains there.

Shows: KL(q || p) against the mean reward of samplers, beside the Pareto front of p exp(beta R) / Z, which no other
distribution can pass (docs/theory.md, T88); tables of every sampler, of sources of error, and of orders on given texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from paper_figures.exhibits.shared.evidence import bound_text, ends_of, inputs_of, own_run, source_line, text_of
from paper_figures.exhibits.shared.exhibit import GREY, Exhibit, Label, MissingRun, Picture, figure, place_labels
from paper_figures.recorded import FOLDERS, Recorded, read_recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.statistics.leaks import least_divergence, mean_of, sampler_values
from paper_figures.studies import laws
from paper_figures.studies.laws import NAME, frontier_rows, tables_of
from rws_decode.common.palette import BLACK, BLUE, VERMILION

Key = tuple[str, int, str]  # method, words a step, drawing

ALT = "Reward against KL from the model: tilted samplers rise steeply, best of 8 too; RWS and orders lie flat near 0."
NEEDS: tuple[str, ...] = ()  # the record ships with the package
WORLD = "english:era"
RWS, BEST, CONFIDENCE = ("rws:8", 2, "commit"), ("best-of:8", 1, "commit"), ("default", 2, "commit")
_SHOWN: dict[Key, tuple[str, str, str]] = {  # name, colour, marker
    RWS: ("RWS, s_R = 8", VERMILION, "s"),
    ("rws:1", 2, "commit"): ("RWS, s_R = 1", VERMILION, "s"),
    CONFIDENCE: ("confidence decoding", BLUE, "o"),
    ("temperature:5.6", 2, "commit"): ("fixed factor 5.6", BLUE, "o"),
    ("random-order", 2, "commit"): ("random order", BLUE, "o"),
    ("left-to-right", 2, "commit"): ("left to right", BLUE, "o"),
    BEST: ("best of 8 texts", BLACK, "P"),
}


@dataclass(frozen=True, eq=False)
class Laws:
    """The study's results: KL and reward by sampler, the gain that RWS needs to be seen, the curve, the model's spread.

    curve: KL of p exp(beta R) / Z and its mean reward above the model's own, by beta, shape (2, points).
    """

    record: Recorded
    places: Mapping[Key, tuple[Interval, Interval]]
    least: float
    curve: np.ndarray
    spread: float


def compute(runs: Path) -> Laws:
    """Read the study; MissingRun if there is neither a run nor a record of `WORLD`."""
    if (runs / NAME / "about.json").is_file():
        record = own_run(runs, NAME, laws)
    else:
        try:
            record = read_recorded(FOLDERS[NAME])
        except ValueError as error:
            raise MissingRun(f"{error}: make it with rws experiment {NAME} --out {runs}") from error
    values, places = sampler_values(record.answers, record.frontiers, WORLD), {}
    for row in frontier_rows(values, record.frontiers, WORLD):
        kl, reward = (Interval(*(row[f"{name}{end}"] for end in ("", ", low", ", high"))) for name in ("kl", "reward"))
        places[row["method"], row["words"], row["drawing"]] = kl, reward
    if not {RWS, BEST, CONFIDENCE} <= places.keys():
        raise MissingRun(f"{runs / NAME} has no texts of {WORLD}: make them with experiment {NAME} --models {WORLD}")
    worlds = record.frontiers[record.frontiers["world"] == WORLD]
    log_z = np.mean([[0.0, *row] for row in worlds["log_z"]], axis=0)
    gains = np.linspace(0.0, 1.25 * places[BEST][1].mean, 120)
    curve = least_divergence(gains + worlds["mean"].mean(), [0.0, *worlds["betas"].iloc[0]], log_z), gains
    least = mean_of(values[RWS]["reward"].to_numpy(dtype=float))[1] or 0.0
    return Laws(record, places, least, np.stack(curve), np.mean([np.std(r, ddof=1) for r in worlds["rewards"]]).item())


def draw(data: Laws) -> Figure:
    """Draw the samplers of two tokens a step beside the Pareto front of p exp(beta R) / Z."""
    picture = figure(5.4, 3.7)
    axes = picture.subplots()
    kl, reward = data.curve
    axes.plot(kl, reward, color=GREY, linewidth=2.4)
    axes.fill_betweenx(reward, kl, color="#ececec", linewidth=0)
    axes.axhline(0.0, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    note: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8.0, "va": "top"}
    axes.annotate("infeasible region", (0.0, reward[-1]), (6, -8), **note, color="#4a4a4a")
    labels = [Label(x, y, "", GREY) for x, y in zip(kl[::6], reward[::6], strict=True)]
    for key, (name, color, marker) in _SHOWN.items():
        if key in data.places:
            x, y = data.places[key]
            style: Any = {"color": color, "marker": marker, "elinewidth": 0.8, "clip_on": False}
            axes.errorbar(x.mean, y.mean, ends_of(y), ends_of(x), **style)
            labels.append(Label(x.mean, y.mean, name, color))
    axes.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0.0)), np.square))
    axes.set_xlim(0.0, 18.0)
    axes.set_xticks([0, 0.25, 1, 2, 4, 8, 16], ["0", "0.25", "1", "2", "4", "8", "16"])
    axes.set_xlabel("KL(q || p) from the model's distribution  [nats, root scale]")
    axes.set_ylabel("mean reward minus the model's own")
    near, best = data.places[BEST]
    gain = max(y.mean for (_, words, drawing), (_, y) in data.places.items() if (words, drawing) == (2, "commit"))
    claim = f"Two tokens a step: RWS and other orders gain at most {bound_text(gain, 1)};\n"
    claim += f"the best of 8 texts gains {best.mean:.1f} within {bound_text(near.mean)} nats"
    axes.set_title(claim, loc="left", fontsize=9.0)
    place_labels(picture, {axes: labels}, size=8.0)
    return picture


def headline(data: Laws) -> str:
    """Return what RWS gains and how far it goes, beside best of N, in one sentence."""
    (far, gain), (near, best), (default, usual) = (data.places[key] for key in (RWS, BEST, CONFIDENCE))
    return (
        f"Sampling two tokens a step from the 4-gram model, RWS at s_R = 8 gains {text_of(gain)} of reward over the "
        f"model and lies {text_of(far)} nats away from it; the best of 8 texts gains {text_of(best)} within "
        f"{bound_text(near.mean)} nats, confidence decoding {text_of(usual)} at {default.mean:.2f}."
    )


def caption_of(data: Laws) -> str:
    """Return what the picture shows, and how its numbers are to be read."""
    return (
        f"What does a sampler gain for its distance from the model? {data.record.about['prompts']} prompts of a 4-gram "
        "model, 16 tokens, two a step. Grey: no distribution lies left of the Pareto front, which "
        "p exp(beta R) / Z reaches. Best of 8: an upper bound of KL. Bars: 95 %. The model's texts vary by "
        f"{data.spread:.2f} of reward (SD); a gain of RWS of {data.least:.2f} would have been found in 4 of 5 studies."
    )


def exhibit(runs: Path) -> Exhibit:
    """Return the Pareto front and the tables of the study."""
    data = compute(runs)
    picture = Picture("law_frontier", draw(data), f"{caption_of(data)} {source_line(data.record)}", ALT)
    title = "What a sampler gains, and how far its distribution goes for it"
    tables = tables_of(data.record.answers, data.record.frontiers)
    return Exhibit(title, (picture,), tuple(tables), (headline(data),), inputs_of(runs, NAME))
