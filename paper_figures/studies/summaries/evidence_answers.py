"""Answer the four questions of the evidence study, and the one that 160 prompts left open, in sentences with intervals.

1. Does RWS do anything that its factor, a schedule or another prompt's rewards do not, and in which regime?
2. Is a less left-to-right order better?
3. How far is RWS from the best that its reward allows?
4. What of the paper's Table 8, GOD up and perplexity down, needs a reward?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.studies.summaries.evidence_comparisons import (
    ALPHA,
    Comparison,
    comparisons_of,
    difference_interval,
    main_measures,
)
from paper_figures.studies.summaries.evidence_frontier import best_lines
from paper_figures.studies.summaries.evidence_measures import MEASURES, arms_of, worlds_of
from paper_figures.studies.summaries.evidence_orders import order_lines

if TYPE_CHECKING:
    import pandas

    from paper_figures.recorded import Recorded
    from paper_figures.statistics.intervals import Interval

__all__ = ["Answer", "answers_to", "counted", "p_text", "reward_lines", "schedule_lines", "table8_lines"]

_MADE = ("constant", "schedule", "swapped")  # at every s_R
_WORDS = {
    "constant": "the constant of equal mean",
    "schedule": "the mean schedule by step",
    "swapped": "another prompt's rewards",
}
_OPEN_SCALE = 2.0


@dataclass(frozen=True)
class Answer:
    """A question with its answer in whole sentences."""

    question: str
    sentences: tuple[str, ...]


def answers_to(record: Recorded) -> tuple[Answer, ...]:
    """Return the answers that a record gives, question by question; without sentences where it has no such arms."""
    rows, worlds = comparisons_of(record), worlds_of(record.answers)
    arms = {world: arms_of(record.answers, world) for world in worlds}
    asked = {
        "Does RWS do anything that its factor, a schedule or another prompt's rewards do not?": [
            line for world in worlds for line in reward_lines(rows, world, arms[world])
        ],
        "Is a less left-to-right order better?": [line for world in worlds for line in order_lines(arms[world], world)],
        "How far is RWS from the best that its reward allows?": [
            line for world in worlds for line in best_lines(arms[world], record.frontiers, world)
        ],
        "What of GOD up and perplexity down needs a reward?": [
            line for world in worlds for line in table8_lines(rows, arms[world], world)
        ],
        "What of s_R = 2 against the schedule, by the other judge?": schedule_lines(rows),
    }
    return tuple(Answer(question, tuple(lines)) for question, lines in asked.items())


def reward_lines(rows: Sequence[Comparison], world: str, arms: Mapping[Arm, pandas.DataFrame]) -> list[str]:
    """Return what RWS has over the controls that are made from its runs, for each sampling and main measure."""
    lines = []
    for drawn in (False, True):
        for name in main_measures(world):
            kept = [r for r in rows if (r.world, r.drawn, r.measure) == (world, drawn, name) and r.factor_control]
            if kept:
                lines += _against_controls(kept, _where(world, drawn))
    return [*_regime(world, arms), *lines] if lines else []


def _against_controls(rows: Sequence[Comparison], where: str) -> list[str]:
    measure = MEASURES[rows[0].measure]
    made = {
        scale: [row for row in rows if row.scale == scale and row.arm.method in _MADE]
        for scale in sorted({row.scale for row in rows})
    }
    whole = {scale: kept for scale, kept in made.items() if len(kept) == len(_MADE)}
    lines = []
    for verdict in ("RWS more", "RWS less"):
        agreed = [scale for scale, kept in whole.items() if all(row.verdict == verdict for row in kept)]
        if agreed:
            word = "greater" if verdict == "RWS more" else "smaller"
            lines.append(
                f"{where}, RWS has a {word} {measure.title} than its constant, its schedule and another prompt's "
                f"rewards alike at {_scales(agreed)}."
            )
    if not lines and whole:
        lines.append(
            f"{where}, RWS differs in {measure.title} from its constant, its schedule and another prompt's rewards "
            "alike at no scale."
        )
    lines.append(f"{where}, {measure.title}: {counted(rows)}")
    real = [row for row in rows if row.verdict.startswith("RWS")]
    if real:
        most = max(real, key=lambda row: abs(row.difference))
        lines.append(f"The largest difference that is real is {_told(most)}.")
    swapped = [row for row in rows if row.arm.method == "swapped"]
    lines += [f"RWS minus another prompt's rewards {_told(row, named=False)}: {_verdict_words(row)}" for row in swapped]
    return lines


def counted(rows: Sequence[Comparison]) -> str:
    """Return how many comparisons have which verdict, and what an undecided one could have seen, as the end of a line.

    An empty sequence has no such line, and raises ValueError.
    """
    if not rows:
        raise ValueError("rows is empty: comparisons of one measure are needed")
    measure = MEASURES[rows[0].measure]
    counts = {verdict: [row for row in rows if row.verdict == verdict] for verdict in _VERDICTS}
    listed = _listed([f"{word} in {len(counts[verdict]) or 'none'}" for verdict, word in _VERDICTS.items()])
    margin = measure.text(measure.margin, sign=False)
    line = f"in {len(rows)} comparisons RWS is {listed} (equivalent: within ±{margin} {measure.unit} by TOST)."
    least = [row.least for row in counts["undecided"] if row.least is not None]
    if least:
        ends = list(dict.fromkeys(measure.text(value, sign=False) for value in (min(least), max(least))))
        line += (
            f" Where nothing is decided, a difference of {' to '.join(ends)} {measure.unit} would have been seen with "
            "80 % power."
        )
    return line


_VERDICTS = {"RWS more": "more", "RWS less": "less", "equivalent": "equivalent", "undecided": "undecided"}


def table8_lines(rows: Sequence[Comparison], arms: Mapping[Arm, pandas.DataFrame], world: str) -> list[str]:
    """Return the change of GOD and of perplexity against the default, of RWS and of its constant and schedule."""
    default, quality = arms.get(Arm("default")), "log_prob" if WORLDS[world].exact else "nll"
    if default is None:
        return []
    better = 1 if quality == "log_prob" else -1  # log p up, or log perplexity down
    lines: list[str] = []
    for rws in sorted(arm for arm in arms if arm.method == "rws" and not arm.sampling_temperature):
        changes = {}
        for arm in (rws, *(Arm(method, rws.number) for method in _MADE)):
            pair = [difference_interval((arms[arm], default), world, name) for name in ("god", quality) if arm in arms]
            if len(pair) == 2 and pair[0] is not None and pair[1] is not None:
                changes[arm.method] = (pair[0], pair[1])
        if "rws" not in changes:
            continue
        told = [f"{_name(method)} {_change(*pair, quality)}" for method, pair in changes.items()]
        lines.append(f"{_where(world, False)}, s_R = {rws.number:g}, against the default: {'; '.join(told)}.")
        shown = [_name(m) for m, (god, other) in changes.items() if god.low > 0 and _clear(other, better)]
        lines.append(
            f"GOD rises and perplexity falls for {_listed(shown)}."
            if shown
            else "GOD up and perplexity down, as in Table 8, is seen for none of these."
        )
        direct = [r for r in rows if (r.world, r.drawn, r.measure, r.scale) == (world, False, quality, rws.number)]
        direct = [r for r in direct if r.arm.method in _MADE]
        lines += [f"RWS minus {_name(r.arm.method)}: {r.text()}, {_p(r)}. {_verdict_words(r)}" for r in direct]
    return lines


def schedule_lines(rows: Sequence[Comparison]) -> list[str]:
    """Return what the question that 160 prompts left open comes to: s_R = 2 on mini against its schedule."""
    key = ("mini:mini", False, "net mini-judge", _OPEN_SCALE, "schedule")
    kept = [row for row in rows if (row.world, row.drawn, row.measure, row.scale, row.arm.method) == key]
    lines = []
    for row in kept:
        lines += [
            f"160 prompts left open whether RWS at s_R = 2 beats its schedule on mini by the other judge "
            f"(p 0.005 without correction). {row.n} prompts give a net win rate of {row.text()}.",
            f"That is {row.wins} wins and {row.losses} losses: p {p_text(row.p_alone)} by the exact sign test, "
            f"{_p(row)} by max-T over all {sum(r.measure == row.measure and not r.drawn for r in rows)} comparisons. "
            f"{row.same} texts are the same. {_verdict_words(row)}",
        ]
    return lines


def p_text(p: float) -> str:
    """Return a p-value for reading.

    >>> p_text(0.00001), p_text(0.0312), p_text(0.5)
    ('< 0.001', '0.031', '0.50')
    """
    return "< 0.001" if p < 0.001 else f"{p:.2f}" if p >= 0.095 else f"{p:.3f}"


def _p(row: Comparison) -> str:
    return f"p {p_text(row.p)}"


def _told(row: Comparison, named: bool = True) -> str:
    control = f"against {_name(row.arm.method, row.title)} " if named else ""
    return f"{control}at s_R = {row.scale:g}, {row.text()}, {_p(row)}, {row.same} of {row.n} texts the same"


def _verdict_words(row: Comparison) -> str:
    """Return what a comparison says, as one whole sentence."""
    measure = MEASURES[row.measure]
    margin = measure.text(row.margin, sign=False)
    if row.verdict in ("RWS more", "RWS less"):
        inside = f", and too small to matter: it lies within ±{margin} {measure.unit}" if row.within else ""
        return f"This difference is real{inside}."
    if row.verdict == "equivalent":
        return f"The two are equivalent within ±{margin} {measure.unit}."
    if row.least is None:
        return "The two are the same in every prompt."
    least = measure.text(row.least, sign=False)
    return f"No difference was seen; one of {least} {measure.unit} would have been seen with 80 % power."


def _regime(world: str, arms: Mapping[Arm, pandas.DataFrame]) -> list[str]:
    if not {Arm("default"), Arm("random-order")} <= arms.keys():
        return []
    default, random = (float(arms[Arm(name)]["god_tokens"].mean()) for name in ("default", "random-order"))
    share = default / random
    words = "nearly left to right" if share < 0.5 else "about as far from left to right as random"
    return [f"The default order of {WORLDS[world].model} is {words}: GOD {default:.1f}, {random:.1f} at random, tokens."]


def _change(god: Interval, other: Interval, quality: str) -> str:
    measures = (MEASURES["god"], MEASURES[quality])
    parts = [f"{m.title} {m.text(i.mean)} [{m.text(i.low)}, {m.text(i.high)}]" for m, i in zip(measures, (god, other))]
    return f"{parts[0]} tokens, {parts[1]} {measures[1].unit}"


def _clear(interval: Interval, sign: int) -> bool:
    return min(sign * interval.low, sign * interval.high) > 0


def _name(method: str, title: str | None = None) -> str:
    return "RWS" if method == "rws" else _WORDS.get(method, title or method)


def _where(world: str, drawn: bool) -> str:
    return f"In {WORLDS[world].model}, {'tokens drawn' if drawn else 'greedy'}"


def _scales(scales: Sequence[float]) -> str:
    return f"s_R = {_listed([f'{scale:g}' for scale in scales])}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
