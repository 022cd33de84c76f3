"""The recorded study as lesson 10 shows it: where methods lie, RWS minus its controls, and what n prompts can see.

Each function takes the record that ships (`paper_figures.recorded.recorded`), or what another function here returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paper_figures.exhibits import at_a_glance
from paper_figures.exhibits.shared.evidence import (
    Places,
    arms_of,
    difference_of,
    interval_of,
    path_of,
    scatter,
    short_of,
)
from paper_figures.exhibits.shared.evidence import places_of as all_places_of
from paper_figures.exhibits.shared.exhibit import GREY, Label, figure, place_labels, styled
from paper_figures.recorded import Recorded
from paper_figures.recorded.verdicts import Comparison, comparisons_of
from paper_figures.recorded.verdicts import reward_answer as reward_answer
from paper_figures.statistics.equivalence import least_difference, least_net_rate
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.evidence_arms import MEASURES, WORLDS, Arm, differences_of, scores_of
from paper_figures.studies.evidence_arms import arms_of as whole_arms
from paper_figures.table import to_markdown
from rws_decode.common.palette import LOOKS
from rws_decode.rewards import load_reward

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from paper_figures.extra.frontier.points import FrontierText
    from rws_decode.predictors import WorldPredictor
    from rws_theory.worlds import Frontier

_LEAST_SCALE = 0.5  # of temperature: smaller ones lie far to the left
_SHOWN = (Arm("default"), Arm("tilt-decode", 1.0), Arm("best-of", 4.0, 1.0), Arm("lookahead", 4.0))
_PATHS = "temperature", "rws"
WORLD = "english:era"
# Nats per unit of the raw reward: 0 is the most probable text, and 4 the largest weight that the study searched.
BETAS = np.concatenate([[0.0], np.geomspace(0.003, 4.0, 60)])
# Of prompts: those of the findings, and those of the picture.
SIZES, NUMBERS = (16, 160, 400), np.unique(np.geomspace(12, 1600, 40).astype(int)).tolist()


@dataclass(frozen=True, eq=False)
class Frontiers:
    """The mean frontier, shape (betas, 2); each arm's answers; its mean log p per word and reward; its mean regret."""

    curve: NDArray[np.float64]
    arms: Mapping[Arm, pandas.DataFrame]
    places: Places
    regrets: Mapping[Arm, Interval]


def places_of(record: Recorded) -> Frontiers:
    """Return the most probable texts of exact English by reward, and where temperature, RWS and a few others lie."""
    known = arms_of(record, WORLD)
    arms = {arm: known[arm] for arm in _shown(known)}
    regrets = {arm: interval for arm, frame in arms.items() if (interval := interval_of(frame, "regret"))}
    places = all_places_of(record, WORLD, "log_p_word", "reward_sd", lambda arm: arm in arms)
    return Frontiers(mean_frontier(record, WORLD), arms, places, regrets)


def mean_frontier(evidence: Recorded, world: str) -> NDArray[np.float64]:
    """Return the mean over prompts of (log p per word, reward in deviations) of the best text at each of `BETAS`.

    At each beta it is the text of largest log p + beta reward after each prompt. Shape (betas, 2); (0, 2) without
    frontiers.
    """
    rows = evidence.frontiers[evidence.frontiers["world"] == world]
    texts = [np.array([list(point) for point in points], dtype=float) for points in rows["points"]]  # [texts, 2]
    if not texts:
        return np.empty((0, 2))
    best = np.mean([of[(of[:, 0] + BETAS[:, None] * of[:, 1]).argmax(axis=1)] for of in texts], axis=0)
    guide = load_reward(WORLDS[world].reward)
    return np.column_stack([best[:, 0] / WORLDS[world].length, (best[:, 1] - guide.mean) / guide.std])


def _shown(arms: Iterable[Arm]) -> list[Arm]:
    known = dict.fromkeys(arms)
    paths = [arm for method in _PATHS for arm in path_of(known, method) if (arm.number or 1.0) >= _LEAST_SCALE]
    return list(dict.fromkeys([*(arm for arm in _SHOWN if arm in known), *paths]))


def draw_frontier(places: Frontiers) -> Figure:
    """Draw them: mean log p against mean reward, with 95 % intervals."""
    with styled():
        picture = figure(8.5, 5.0)
        axes = picture.subplots()
        if len(places.curve):
            axes.plot(*places.curve.T, color=GREY, linewidth=2.4)
        shown = {arm: places.places[arm] for arm in _shown(places.places)}
        names = {"lookahead": "reward lookahead", "tilt-decode": "decoding the exact tilt"}
        labels = scatter(axes, shown, lambda arm: names.get(arm.method) or short_of(arm), paths=_PATHS)
        labels += [Label(x, y, "", GREY) for x, y in places.curve.tolist()[::6]]
        axes.margins(x=0.08)
        axes.set_xlabel("log p of the text  [nats per word]")
        axes.set_ylabel("reward  [deviations]")
        place_labels(picture, {axes: labels}, size=8.0)
        if len(places.curve):
            style: Any = {"textcoords": "offset points", "fontsize": 8.5, "color": "#4a4a4a", "ha": "right"}
            axes.annotate("the most probable texts", places.curve[len(places.curve) // 2], (-6, 4), **style)
    return picture


def difference(record: Recorded, first: Arm, second: Arm, measure: str = "regret") -> Interval:
    """Return the mean of first - second in exact English over the same prompts, with its 95 % interval.

    measure: "regret", nats below the frontier, or a column of `exhibits.shared.evidence.MEASURES`. ValueError for
    an arm that the study does not have, and for a measure that its answers lack.
    """
    arms = arms_of(record, WORLD)
    for arm in (first, second):
        if arm not in arms:
            raise ValueError(f"the record has no {arm}: such as Arm('rws', 8.0) or Arm('schedule', 8.0) are needed")
    interval = difference_of(arms[first], arms[second], measure)
    if interval is None:
        raise ValueError(f"measure is {measure!r}, which an answer lacks: such as 'regret' or 'reward_sd' is needed")
    return interval


def controls_of(record: Recorded) -> tuple[Comparison, ...]:
    """Return RWS minus each control that keeps its factors but not its reward, by the two main measures of a world.

    These rows are those of the study: the same draws, and the same correction for many comparisons.
    """
    return at_a_glance.with_controls(comparisons_of(record, main=True))


def draw_controls(rows: Sequence[Comparison]) -> Figure:
    """Draw them in margins, with 95 % intervals and the band of what is too small to matter."""
    with styled():
        return at_a_glance.draw_controls(rows, (8.5, 5.4))


def texts_to_read(curve: Frontier, texts: Sequence[FrontierText], predictor: WorldPredictor) -> str:
    """Return a table of texts in Markdown, likeliest first; methods that write one text share a row."""
    rows = [("**most probable**", p.log_prob, p.reward, 0.0, tuple(p.tokens.tolist())) for p in curve.points]
    methods: dict[tuple[int, ...], list[FrontierText]] = {}
    for text in texts:
        methods.setdefault(tuple(text.tokens), []).append(text)
    rows += [
        (", ".join(each.strategy for each in same), same[0].log_prob, same[0].reward, same[0].regret, tokens)
        for tokens, same in methods.items()
    ]
    names = ("whose", "log p, nats", "reward", "below the frontier, nats", "text")
    rows.sort(key=lambda row: -row[1])
    shown = [(who, f"{p:.1f}", f"{r:.1f}", f"{g:.1f}", predictor.words.text(tokens)) for who, p, r, g, tokens in rows]
    return to_markdown([dict(zip(names, row, strict=True)) for row in shown])


def least_of(
    record: Recorded, rows: Sequence[Comparison], numbers: Sequence[int], control: str = "swapped", scale: float = 8.0
) -> dict[str, NDArray[np.float64]]:
    """Return the least true difference, in margins, that so many prompts show with 80 % power: name -> [numbers].

    They are of greedy RWS at s_R = `scale` less a control, as set RWS with another prompt's rewards, and differ from
    prompt to prompt as in the record. NaN: so few prompts differ that even a win on all of them is found less often.
    """
    least = {}
    for row in rows:
        if (row.arm.method, row.scale, row.drawn) == (control, scale, False):
            arms = whole_arms(record.answers, row.world)
            scores = [scores_of(arms[arm], row.world, row.measure) for arm in (Arm("rws", scale), row.arm)]
            values = differences_of(row.measure, *scores)
            found = [_least(row.measure, values, n) for n in numbers]
            name = f"{WORLDS[row.world].model}: {MEASURES[row.measure].title}"
            least[name] = np.array([np.nan if one is None else one / row.margin for one in found])
    return least


def _least(measure: str, values: NDArray[np.float64], n: int) -> float | None:
    if MEASURES[measure].kind == "share":
        share = float((values != 0).mean())
        return least_net_rate(share, n) if share else None
    return least_difference(values, n)


def draw_least(least: Mapping[str, NDArray[np.float64]], numbers: Sequence[int], marked: Sequence[int]) -> Figure:
    """Draw what `least_of` returned against the number of prompts, with upright lines at the marked numbers."""
    with styled():
        picture = figure(8.5, 4.2)
        axes = picture.subplots()
        axes.axhspan(0, 1, color="#d9e6f2", zorder=0, linewidth=0, label="too small to matter")
        for look, (name, values) in zip(LOOKS, least.items(), strict=False):
            axes.plot(numbers, values, color=look.color, linestyle=look.dash, label=name)
        for n in marked:
            axes.axvline(n, color="black", linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_xticks(list(marked), [f"{n:,}" for n in marked])
        axes.set_xticks([], minor=True)
        axes.set_ylim(0, None)
        axes.set_xlabel("prompts")
        axes.set_ylabel("least difference found  [margins]")
        axes.legend(loc="upper right")
    return picture
