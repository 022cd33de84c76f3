"""Answer the four questions of the evidence study, and the one that 160 prompts left open, in sentences with intervals.

1. Does RWS do anything that its factor, a schedule or another prompt's rewards do not, and in which regime?
2. Is a less left-to-right order better?
3. How far is RWS from the best that its reward allows?
4. What of the paper's Table 8, GOD up and perplexity down, needs a reward?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from paper_figures.recorded import Recorded
from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.studies.summaries.evidence_comparisons import (
    Comparison,
    comparisons_of,
    main_measures,
)
from paper_figures.studies.summaries.evidence_frontier import best_lines
from paper_figures.studies.summaries.evidence_measures import MEASURES, arms_of, worlds_of
from paper_figures.studies.summaries.evidence_orders import order_lines
from paper_figures.studies.summaries.evidence_table8 import table8_lines
from paper_figures.studies.summaries.evidence_words import (
    MADE,
    VERDICTS,
    counted,
    p_text,
    setting_words,
    told,
    verdict_sentence,
)

_OPEN_SCALE = 2.0


@dataclass(frozen=True)
class Answer:
    """A question with its answer in whole sentences, and the exhibit that tells it."""

    question: str
    exhibit: str
    sentences: tuple[str, ...]


@lru_cache(maxsize=2)
def answers_to(record: Recorded) -> tuple[Answer, ...]:
    """Return the answers that a record gives, question by question; without sentences where it has no such arms."""
    rows, worlds = comparisons_of(record), worlds_of(record.answers)
    arms = {world: arms_of(record.answers, world) for world in worlds}
    frontiers = record.frontiers
    told: list[tuple[str, str, list[str]]] = [
        (
            "Does RWS do anything that its factor, a schedule or another prompt's rewards do not?",
            "evidence",
            [*_alike(rows), *(line for world in worlds for line in reward_lines(rows, world, arms[world]))],
        ),
        (
            "Is a less left-to-right order better?",
            "order_quality",
            [line for world in worlds for line in order_lines(arms[world], world)],
        ),
        (
            "How far is RWS from the best that its reward allows?",
            "evidence",
            [line for world in worlds for line in best_lines(arms[world], frontiers, world)],
        ),
        (
            "What of GOD up and perplexity down needs a reward?",
            "table8_pattern",
            [line for world in worlds for line in table8_lines(rows, arms[world], world)],
        ),
        ("What of s_R = 2 against the schedule, by the other judge?", "evidence", schedule_lines(rows)),
    ]
    return tuple(Answer(question, exhibit, tuple(lines)) for question, exhibit, lines in told)


def told_by(exhibit: str, record: Recorded) -> tuple[str, ...]:
    """Return the sentences of the answers that an exhibit tells."""
    return tuple(line for answer in answers_to(record) if answer.exhibit == exhibit for line in answer.sentences)


def reward_lines(rows: Sequence[Comparison], world: str, arms: Mapping[Arm, pd.DataFrame]) -> list[str]:
    """Return what RWS has over the controls that are made from its runs, for each sampling and main measure."""
    lines = []
    for drawn in (False, True):
        for name in main_measures(world):
            kept = [r for r in rows if (r.world, r.drawn, r.measure) == (world, drawn, name) and r.factor_control]
            if kept:
                lines += _against_controls(kept, setting_words(world, drawn))
    return [*_regime(world, arms), *_swapped(rows, world), *lines] if lines else []


def _swapped(rows: Sequence[Comparison], world: str) -> list[str]:
    """Return in how many settings another prompt's rewards do something else."""
    names = main_measures(world)
    kept = [row for row in rows if row.world == world and row.measure in names and row.arm.method == "swapped"]
    if not kept:
        return []
    apart = [row for row in kept if row.verdict.startswith("RWS")]
    return [
        f"There, RWS differs from RWS with another prompt's rewards in {len(apart) or 'none'} of {len(kept)} settings "
        f"of s_R, sampling and measure: {sum(row.verdict == 'RWS more' for row in apart)} more, "
        f"{sum(row.verdict == 'RWS less' for row in apart)} less."
    ]


def alike_settings(rows: Sequence[Comparison]) -> tuple[int, dict[str, list[tuple[str, bool, str, float]]]]:
    """Return how many settings have all three controls, and verdict -> those where all three have it.

    A setting is (world, whether tokens are drawn, measure, s_R). The controls are RWS's constant, its schedule and
    another prompt's rewards.
    """
    sets: dict[tuple[str, bool, str, float], list[Comparison]] = {}
    for row in rows:
        if row.arm.method in MADE and row.measure in main_measures(row.world):
            sets.setdefault((row.world, row.drawn, row.measure, row.scale), []).append(row)
    whole = {key: kept for key, kept in sets.items() if len(kept) == len(MADE)}
    alike = {
        verdict: [k for k, kept in whole.items() if {r.verdict for r in kept} == {verdict}] for verdict in VERDICTS
    }
    return len(whole), alike


def reward_answer(rows: Sequence[Comparison]) -> str:
    """Say in how many settings RWS beats its constant, its schedule and another prompt's rewards alike.

    It is empty where no runs have all three.
    """
    count, alike = alike_settings(rows)
    if not count:
        return ""
    more, less, equal = (len(alike[verdict]) for verdict in ("RWS more", "RWS less", "equivalent"))
    share = more / count
    answer = "No" if not more else "Rarely" if share < 0.25 else "Sometimes" if share < 0.5 else "Mostly"
    where = "; ".join(
        f"{MEASURES[name].title} in {WORLDS[world].model} at s_R = {scale:g}{', tokens drawn' if drawn else ''}"
        for world, drawn, name, scale in alike["RWS more"]
    )
    return (
        f"{answer}. Against three controls whose factors do not follow the reward of the text, on "
        f"{max(row.n for row in rows)} prompts in each of {len({row.world for row in rows})} small worlds, RWS beats "
        f"all three in {more or 'none'} of {count} settings{f' ({where})' if where else ''}, is equivalent to all "
        f"three in {equal or 'none'}, and loses to all three in {less or 'none'}. The others are mixed or undecided."
    )


def _alike(rows: Sequence[Comparison]) -> list[str]:
    said = reward_answer(rows)
    return [said, "A setting is a world, a measure, a sampling and an s_R."] if said else []


def _against_controls(rows: Sequence[Comparison], where: str) -> list[str]:
    measure = MEASURES[rows[0].measure]
    lines = [f"{where}, {measure.title}: {counted(rows)}"]
    real = [row for row in rows if row.verdict.startswith("RWS")]
    if real:
        most = max(real, key=lambda row: abs(row.difference))
        lines.append(f"The largest difference that is real is {told(most)}.")
    return lines


def schedule_lines(rows: Sequence[Comparison]) -> list[str]:
    """Return what the question that 160 prompts left open comes to: s_R = 2 on mini against its schedule."""
    key = ("mini:mini", False, "net mini-judge", _OPEN_SCALE, "schedule")
    kept = [row for row in rows if (row.world, row.drawn, row.measure, row.scale, row.arm.method) == key]
    family = sum((r.world, r.drawn, r.measure) == key[:3] for r in rows)
    lines = []
    for row in kept:
        lines += [
            f"160 prompts left open whether RWS at s_R = 2 beats its schedule on mini by the other judge "
            f"(p 0.005 without correction). {row.n} prompts give a net win rate of {row.text()}.",
            f"That is {row.wins} wins and {row.losses} losses: p {p_text(row.p_alone)} by the exact sign test, "
            f"p {p_text(row.p)} by max-T over all {family} comparisons. "
            f"{row.same} texts are the same. {verdict_sentence(row)}",
        ]
    return lines


def _regime(world: str, arms: Mapping[Arm, pd.DataFrame]) -> list[str]:
    if not {Arm("default"), Arm("random-order")} <= arms.keys():
        return []
    default, random = (float(arms[Arm(name)]["god_tokens"].mean()) for name in ("default", "random-order"))
    share = default / random
    words = "nearly left to right" if share < 0.5 else "about as far from left to right as random"
    god = f"GOD is {default:.1f} tokens, and {random:.1f} for a random order"
    return [f"The default order of {WORLDS[world].model} is {words}: {god}."]
