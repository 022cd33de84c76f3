"""What the page's first three figures say: the finding, what RWS gains in reward, and the figures' captions."""

from __future__ import annotations

from collections.abc import Sequence

from paper_figures.exhibits.evidence_looks import path_of, title_of
from paper_figures.figures.parts.evidence_sentences import chosen_scale
from paper_figures.figures.parts.table8_printed import printed_pattern
from paper_figures.figures.reward_frontier import WORLD, Frontiers
from paper_figures.recorded import Recorded
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS
from paper_figures.studies.summaries.evidence_comparisons import Comparison, comparisons_of
from rws_theory.printed import printed_in

LEAST_SCALE = 0.5  # of temperature: smaller ones lie far to the left


def gain(evidence: Recorded) -> tuple[str, ...]:
    """Return what RWS has over the default in reward, and over a constant factor of the same mean."""
    rws = chosen_scale(evidence, WORLD)
    rows = {
        row.arm.method: row
        for row in comparisons_of(evidence)
        if (row.world, row.drawn, row.measure) == (WORLD, False, "reward")
        and rws is not None
        and (row.scale, row.arm.one_by_one) == (rws.number, False)
    }
    if not {"default", "constant"} <= rows.keys():
        return ()
    default, constant = rows["default"], rows["constant"]
    words = {"RWS more": "more than", "RWS less": "less than", "equivalent": "the same within a margin as"}
    beside = words.get(constant.verdict, "a reward not shown to differ from that of")
    return (
        f"On other prompts, s_R = {default.scale:g} gave the most reward in {WORLDS[default.world].model}. "
        f"With it, RWS has {default.text()} of reward against the default, and {beside} a constant factor of the same "
        f"mean ({constant.text()}).",
    )


def captions(frontier: Frontiers, rows: Sequence[Comparison]) -> dict[str, tuple[str, str]]:
    """Return caption and description of each figure by its name."""
    lowest, highest = (f"{end:.2g}" for end in _ends(rows))
    scales: dict[str, set[float]] = {}
    for row in rows:
        scales.setdefault(row.arm.method, set()).add(row.scale)
    single = [min(of) for of in scales.values() if len(of) == 1]
    at = ", ".join(f"{scale:g}" for scale in sorted(set(single)))
    more = f" ({len(single)} of them at s_R = {at} alone)" if single else ""
    controls = "; ".join(METHODS[name].title for name in scales)
    printed = printed_in("table8_temperature")
    distance = _distance(frontier)
    return {
        "frontier": (
            "How far from the best? An n-gram model of English, whose probabilities are exact; no method can lie above "
            "the grey curve. c multiplies all logits by a constant, RWS by s_R times a function of the reward. "
            f"{distance}",
            f"Reward against log p of {len(frontier.places)} methods below a curve of the best texts. {distance}",
        ),
        "controls": (
            f"Does RWS do more than its factors? RWS minus each of {len(scales)} controls{more}, with 95 % "
            "intervals. The band is the margin: differences in it are too small to matter. Filled marks are real "
            "(p corrected for all comparisons), if small.",
            f"Forest plot of {len(rows)} differences between RWS and {controls}, from {lowest} to "
            f"{highest} margins, around a band of equivalence from -1 to 1.",
        ),
        "table8": (
            f"What did the paper show? RWS lies in the box. {printed_pattern()}",
            "Printed perplexity against GOD for temperatures: "
            + ", ".join(f"c {row['scale']:g}: {row['god']} and {row['perplexity']}" for row in printed["rows"]),
        ),
    }


def _distance(frontier: Frontiers) -> str:
    """Return how far RWS lies below the frontier, and what the temperature of most reward has beside it."""
    rws = chosen_scale(frontier.evidence, WORLD)
    regret = frontier.regrets.get(rws) if rws is not None else None
    if rws is None or regret is None:
        return ""
    length = WORLDS[WORLD].length
    said = f"{title_of(rws)} lies {regret.mean / length:.2f} nats per word below it."
    path = [arm for arm in path_of(frontier.places, "temperature") if (arm.number or 1.0) >= LEAST_SCALE]
    if not path:
        return said
    best = max(path, key=lambda arm: frontier.places[arm][1].mean)
    words, reward = (frontier.places[best][side].mean - frontier.places[rws][side].mean for side in (0, 1))
    return (
        f"{said} A temperature, c = {best.number or 1:g}, has {_more(reward)} reward (deviations) and {_more(words)} "
        "log p (nats per word)."
    )


def _more(difference: float) -> str:
    return f"{abs(difference):.2f} {'more' if difference > 0 else 'less'}"


def _ends(rows: Sequence[Comparison]) -> tuple[float, float]:
    values = [row.difference / row.margin for row in rows]
    return min(values), max(values)
