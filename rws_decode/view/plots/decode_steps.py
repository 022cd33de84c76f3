"""What one step ranked and committed, and the reward and factor of every step."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rws_decode.common.palette import AMBER, BLACK, BLUE, GREEN, GREY, PALE, VERMILION
from rws_decode.trace.data import NOT_ASKED, NOT_NEEDED, REUSED, SCORED, check_known
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.axes import shown_word, values_label, whole_ticks
from rws_decode.view.plots.sheet import Panels, drawn, finished, legend, panels_of
from rws_decode.view.sentences import at_position, count, joined
from rws_theory.checks import whole

_MOST = 36
_LEVEL = 1e-2  # a relative range of values that is shown as a level line


@drawn
def step(trace: Trace, number: int, *, most: int = _MOST, axes: Panels = None) -> Figure:
    """Draw what a step ranked its positions by, those committed hatched, with the words of the candidates.

    A bar is a position whose value the trace kept (docs/trace-format.md, Rows), from left to right; its height is what
    positions are ranked by, log-odds [nats] as a rule. The title has the factor and the reward of the step. A triangle
    marks the positions that confidence at factor 1 would have committed, where the trace knows them
    (`Trace.unscaled`). An infinite value ends at the edge, with its sign.

    number: the step, from 0. most: so many positions are shown at most, those that rank highest, and all that are
    committed or marked.

    ValueError for a step that was not run, and for more than one of axes.
    """
    check_known(trace, "plots.step", whole=True)
    whole("number", number, 0, trace.steps_run - 1)
    value, chosen, unscaled = trace.value[number], trace.chosen[number], trace.unscaled[number]
    kept = np.flatnonzero(~np.isnan(value) | chosen | unscaled)
    ranked = np.where(np.isnan(value[kept]), -np.inf, value[kept])
    ranked[chosen[kept] | unscaled[kept]] = np.inf
    place = kept[foremost(ranked, most=max(most, int((ranked == np.inf).sum())))]
    figure, (panel,) = panels_of(axes, 1, 1, (float(np.clip(2.2 + 0.2 * len(place), 6.5, 10.0)), 4.2))
    words = trace.words(trace.candidate[number, place])
    known = _bars(panel, value[place], chosen[place])
    if unscaled.any():
        marks = np.flatnonzero(unscaled[place])
        over = np.maximum(np.nan_to_num(known[marks]), 0)
        label = "factor 1 would commit"
        panel.plot(marks, over, "v", color=BLACK, markersize=7, label=label, clip_on=False, zorder=4)
        legend(figure, panel, axes)
    names = [f"{shown_word(word)}  {position}" for word, position in zip(words, place.tolist(), strict=True)]
    panel.set_xticks(range(len(place)), names, rotation=90, parse_math=False)
    panel.tick_params(axis="x", length=0)
    panel.grid(visible=False, axis="x")
    panel.set_xlim(-0.7, len(place) - 0.3)
    panel.set_ylabel(values_label(trace.ranking))
    panel.set_xlabel("candidate and position in the answer [tokens, from 0]")
    panel.set_title(_title(trace, number), parse_math=False)
    return finished(figure, axes, *_sentences(trace, number, len(place), np.isnan(value[place]).any()))


def foremost(*values: NDArray[np.float64], most: int = _MOST) -> NDArray[np.int64]:
    """Return which of m positions to draw, in rising order: the `most` that rank highest in any of the rankings.

    >>> foremost(np.array([3.0, 1.0, 2.0]), np.array([0.0, 5.0, 1.0]), most=2).tolist()
    [0, 1]
    """
    best = np.min([np.argsort(np.argsort(-ranking, kind="stable")) for ranking in values], axis=0)
    return np.sort(np.argsort(best, kind="stable")[:most])


def _bars(axes: Axes, value: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Draw values as bars and return their heights; infinite ones end beyond all others, unknown ones have none."""
    finite = value[np.isfinite(value)]
    reach = 1.15 * max(float(np.abs(finite).max(initial=0.0)), 1e-9)
    width = 0.8 * min(1.0, value.size / 8)
    height = np.where(np.isinf(value), np.sign(value) * reach, value)
    for index, (top, hit) in enumerate(zip(height.tolist(), chosen.tolist(), strict=True)):
        look: dict[str, Any] = {"color": PALE, "edgecolor": GREY}
        look = {"color": VERMILION, "hatch": "////", "edgecolor": BLACK} if hit else look
        if not np.isnan(top):
            axes.bar(index, top, width, linewidth=0.6, **look)
        elif hit:
            axes.plot(index, 0, "s", color=VERMILION, markeredgecolor=BLACK, markersize=8)
        if np.isinf(value[index]):
            sign = "∞" if top > 0 else "\u2212∞"
            axes.annotate(sign, (index, top), (0, 1 if top > 0 else -11), textcoords="offset points", ha="center")
    axes.axhline(0, color=BLACK, linewidth=0.8)
    axes.margins(y=0.12)
    return height


def _title(trace: Trace, number: int) -> str:
    factor, use = trace.factor[number], trace.reward_use[number]
    parts = [f"step {number} (0 to {trace.steps_run - 1})"]
    if use == NOT_NEEDED:
        return f"{parts[0]}; reward not needed: every factor commits the same"
    parts.append(f"factor {factor:.3g}")
    if trace.reward_asked[number]:
        again = f", {_USES[REUSED][0]}" if use == REUSED else ""
        parts.append(f"reward {trace.reward_normalised[number]:+.2f} SD{again}")
    return "; ".join(parts).replace("-", "\u2212")


def _sentences(trace: Trace, number: int, shown: int, unknown: bool) -> list[str]:
    def named(chosen: NDArray[np.bool_]) -> str:
        place = np.flatnonzero(chosen)
        words = trace.words(trace.candidate[number, place])
        return joined([at_position(shown_word(word), p) for word, p in zip(words, place.tolist(), strict=True)], 6)

    chosen, unscaled, eligible = trace.chosen[number], trace.unscaled[number], int(trace.eligible[number].sum())
    drawn_of = "" if shown == eligible else f" The {shown} foremost are drawn."
    sentences = [f"The step commits {named(chosen)} (hatched), of {count(eligible, 'masked position')}.{drawn_of}"]
    if trace.changed[number]:
        sentences.append(f"At factor 1 confidence would commit {named(unscaled)} (triangles).")
    elif unscaled.any():
        sentences.append("Confidence at factor 1 would commit the same (triangles).")
    if trace.ties[number]:
        sentences.append(
            f"{count(int(trace.ties[number]), 'position')} left out were level with the last one committed."
        )
    if unknown:
        sentences.append("Values were not computed where there is no bar.")
    return sentences


_REUSED = "At {} the text was that of an earlier step, whose score was used again."
_NOT_NEEDED = "No reward was needed at {}, as every factor commits the same."
# What became of the reward of a step: in the legend, colour, marker, and in the caption.
_USES = {
    NOT_ASKED: ("no reward asked", BLACK, "D", "No reward was asked at {}."),
    SCORED: ("scored", VERMILION, "s", "The reward model scored the completed text at {}."),
    REUSED: ("scored at an earlier step", BLUE, "o", _REUSED),
    NOT_NEEDED: ("no reward needed", GREEN, "^", _NOT_NEEDED),
}


@drawn
def steps(trace: Trace, *, axes: Panels = None) -> Figure:
    """Draw the reward of the completed text and the factor at every step, by what became of the reward.

    Above: the reward [SD of the reward model]; below: the factor that multiplied all logits. A marker says
    whether the text was scored at the step, or at an earlier one, as it was the same text. Where no reward was needed,
    as every factor commits the same, there is neither number, and the marker stands at the lower edge. Bands mark the
    steps at which the factor changed what was committed, where the trace knows it (`Trace.changed`). Where no reward
    was asked there is the factor alone.

    axes: two, or one where no reward was asked. ValueError for other numbers of axes.
    """
    check_known(trace, "plots.steps", whole=True)
    scored = bool((trace.reward_use != NOT_ASKED).any())
    rows = 2 if scored else 1
    figure, panels = panels_of(axes, rows, 1, (8.0, 2.2 + 1.4 * rows), sharex=True)
    series = [(trace.factor, "factor")]
    if scored:
        series.insert(0, (trace.reward_normalised, "normalised\nreward r"))
    steps_run = np.arange(trace.steps_run)
    for panel, (values, label) in zip(panels, series, strict=True):
        for index, changed in enumerate(np.flatnonzero(trace.changed).tolist()):
            band: dict[str, Any] = {"label": "factor changed the commit"} if index == 0 else {}
            panel.axvspan(changed - 0.4, changed + 0.4, facecolor=AMBER, alpha=0.35, linewidth=0, zorder=0, **band)
        panel.plot(steps_run, values, color=GREY, linewidth=1)
        for use, (name, color, marker, _) in _USES.items():
            place = steps_run[trace.reward_use == use]
            look = {"linestyle": "none", "marker": marker, "color": color, "markersize": 6}
            if place.size and use == NOT_NEEDED:
                edge = panel.get_xaxis_transform()
                panel.plot(place, np.full(place.size, 0.03), transform=edge, label=name, clip_on=False, **look)
            elif place.size:
                panel.plot(place, values[place], label=name, **look)
        panel.set_ylabel(label)
        panel.set_xlim(-0.8, trace.steps_run - 0.2)
        panel.margins(y=0.12)
        panel.ticklabel_format(axis="y", useOffset=False)
        known = values[~np.isnan(values)]
        if known.size and np.ptp(known) <= _LEVEL * np.abs(known).max():
            panel.set_ylim(min(0, 2 * known[0]), max(0, 2 * known[0]) or 1)
    whole_ticks(panels[-1])
    panels[-1].set_xlabel("step, from 0")
    legend(figure, panels[-1], axes)
    return finished(figure, axes, *_sentences_of_steps(trace))


def _sentences_of_steps(trace: Trace) -> list[str]:
    factor = trace.factor[~np.isnan(trace.factor)]
    sentences = []
    if factor.size:
        low, high = float(factor.min()), float(factor.max())
        level = f"{low:.3g}" == f"{high:.3g}"
        spread = f"is {low:.3g}" if level else f"lies between {low:.3g} and {high:.3g}"
        sentences.append(f"The factor of all logits {spread}.")
    for use, (*_, sentence) in _USES.items():
        if times := int((trace.reward_use == use).sum()):
            sentences.append(sentence.format(count(times, "step")))
    if trace.unscaled.any():
        changed = np.flatnonzero(trace.changed).tolist()
        where = f"at {len(changed)} of {trace.steps_run} steps (bands): {joined([*map(str, changed)], 12)}"
        sentences.append(f"The factor changed what was committed {where if changed else 'at no step'}.")
    return sentences
