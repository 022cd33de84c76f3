"""What the page's first three figures say: the finding, what RWS gains in reward, and the figures' captions."""

from __future__ import annotations

from collections.abc import Sequence

from paper_figures.exhibits.evidence_looks import path_of, title_of
from paper_figures.figures.parts.evidence_sentences import chosen_scale
from paper_figures.figures.reward_frontier import WORLD, Frontiers
from paper_figures.recorded import Recorded
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS
from paper_figures.studies.summaries.evidence_answers import alike_settings
from paper_figures.studies.summaries.evidence_comparisons import Comparison, comparisons_of
from paper_figures.studies.summaries.evidence_measures import MEASURES
from rws_theory.printed import printed_in

__all__ = ["LEAST_SCALE", "captions", "finding", "gain"]

LEAST_SCALE = 0.5  # of temperature: smaller ones lie far to the left


def finding(rows: Sequence[Comparison]) -> str:
    """Return what RWS minus its controls comes to, in three sentences."""
    count, alike = alike_settings(rows)
    more, less, equal = (len(alike[verdict]) for verdict in ("RWS more", "RWS less", "equivalent"))
    share = more / count if count else 0.0
    answer = "No" if not more else "Rarely" if share < 0.25 else "Sometimes" if share < 0.5 else "Mostly"
    where = "; ".join(
        f"{MEASURES[name].title} in {WORLDS[world].model} at s_R = {scale:g}{', tokens drawn' if drawn else ''}"
        for world, drawn, name, scale in alike["RWS more"]
    )
    return (
        f"{answer}. Against three controls whose factors do not follow the reward of the text, on "
        f"{max(row.n for row in rows)} prompts in each of {len({row.world for row in rows})} small worlds, RWS beats "
        f"all three in {more} of {count} settings{f' ({where})' if where else ''}, is equivalent to all three in "
        f"{equal or 'none'}, and loses to all three in {less or 'none'}. The others are mixed or undecided."
    )


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
    words = {"RWS more": "more than", "RWS less": "less than", "equivalent": "the same as", "undecided": "beside"}
    return (
        f"Its best scale for reward in {WORLDS[default.world].model} is s_R = {default.scale:g}. There it has "
        f"{default.text()} of reward against the default, and {words[constant.verdict]} a constant factor of the same "
        f"mean ({constant.text()}).",
    )


def captions(frontier: Frontiers, rows: Sequence[Comparison]) -> dict[str, tuple[str, str]]:
    """Return caption and description of each figure by its name."""
    lowest, highest = (f"{end:.2g}" for end in _ends(rows))
    controls = "; ".join(METHODS[name].title for name in dict.fromkeys(row.arm.method for row in rows))
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
            "Does RWS do more than its factors? RWS minus each control (three more at s_R = 8), with 95 % "
            "intervals. The band is the margin: differences in it are too small to matter. Filled marks are real "
            "(p corrected for all comparisons), if small.",
            f"Forest plot of {len(rows)} differences between RWS and {controls}, from {lowest} to "
            f"{highest} margins, around a band of equivalence from -1 to 1.",
        ),
        "table8": (
            "What did the paper show? On LLaDA, temperatures c of 2 and more raise GOD and lower perplexity too; RWS "
            "lies in the box. The paper prints another GOD for c = 1 than for its default, which should be the same.",
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
