"""The figure that the page begins with: what RWS gains over confidence decoding, and over its twins without its reward.

Shows: the reward of greedy RWS minus that of confidence decoding, of a fixed factor of equal mean, and of RWS with
another prompt's rewards, at each reward scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from paper_figures.exhibits.law_frontier import WORLD
from paper_figures.exhibits.shared.evidence import chosen_scale, evidence_of, inputs_of
from paper_figures.exhibits.shared.exhibit import (
    GREY,
    Dots,
    Exhibit,
    Line,
    Picture,
    Story,
    draw_dots,
    figure,
    joint_legend,
)
from paper_figures.recorded.ablations import names_of
from paper_figures.recorded.comparisons import Comparison, comparisons_of, reward_answer, variation_text
from paper_figures.recorded.measures import MEASURES
from rws_decode.common.palette import BLACK, BLUE, VERMILION

NEEDS: tuple[str, ...] = ()  # the record ships with the package
_TWINS = {
    "default": Line(VERMILION, "s", "none", "confidence decoding"),
    "constant": Line(BLUE, "o", "none", "a fixed temperature of equal mean"),
    "swapped": Line(BLACK, "D", "none", "RWS with another prompt's rewards"),
}


def exhibit(runs: Path) -> Exhibit:
    """Return the figure, and what RWS gains in two sentences."""
    evidence, title, inputs = evidence_of(runs), "At a glance", inputs_of(runs)
    compared, best = comparisons_of(evidence), chosen_scale(evidence, WORLD)
    rows = [
        row
        for row in compared
        if (row.world, row.measure, row.drawn, row.arm.one_by_one) == (WORLD, "reward", False, False)
        and row.arm.method in _TWINS
    ]
    chosen = {row.arm.method: row for row in rows if best is not None and row.scale == best.number}
    if not {"default", "constant"} <= chosen.keys():
        return Exhibit(title, conclusions=("The results have no runs of RWS with its twins.",), inputs=inputs)
    confidence, fixed = chosen["default"], chosen["constant"]
    model, reward = names_of(WORLD)
    claim = (
        f"In a {model}, RWS at s_R = {fixed.scale:g} gains {confidence.text()} of reward over confidence decoding. "
        f"Over a fixed temperature of equal mean, which reads no reward, it gains {fixed.text()}."
    )
    text = f"Rows are reward scales. s_R = {fixed.scale:g} gave the most reward on other prompts."
    text += f" Within a run the factor varies by {variation_text(rows)} (median CV)."
    text += "".join(
        f" At s_R = {row.scale:g} RWS gains {row.text()} over its fixed temperature."
        for row in rows
        if row.arm.method == "constant" and row.verdict == "better"
    )
    if confidence.speeches:
        text += f" The prompts are from {len(confidence.speeches)} speeches: in each of them RWS at s_R = "
        text += f"{fixed.scale:g} gains {_ends(confidence)} over confidence decoding, {_ends(fixed)} over the fixed "
        text += "temperature."
        if all(row.by_speech and row.by_speech.verdict == "undecided" for row in rows):
            text += " With speeches as units, these are too few to decide any comparison of the figure."
    caption = (
        f"Mean difference in reward ({reward}) over {fixed.found.n} prompts, by `rws ablate`: intervals hold together "
        "for all twins of a row, with 95 %, at any time. SD: of the reward over confidence texts. Band: margin of "
        f"{MEASURES['reward'].margin:g} SD, fixed beforehand. The fixed temperature multiplies logits by the mean "
        "factor of RWS on the same prompt. Tokens are greedy."
    )
    alt = "; ".join(f"{_TWINS[row.arm.method].label} at s_R = {row.scale:g}: {row.text()}" for row in rows)
    picture = Picture("glance", draw(rows), caption, f"Forest plot of RWS minus {alt}.")
    return Exhibit(
        title,
        (picture,),
        conclusions=tuple(filter(None, (claim, reward_answer(compared)))),
        inputs=inputs,
        story=Story(claim, (text,), "", picture.stem),
    )


def draw(rows: Sequence[Comparison]) -> Figure:
    """Draw RWS minus its twins in one panel, a row for each reward scale."""
    picture = figure(4.2, 3.2)
    axes = picture.subplots()
    margin = MEASURES["reward"].margin
    axes.axvspan(-margin, margin, color="#d9e6f2", zorder=0.5, linewidth=0)
    axes.axvline(0, color=GREY, linewidth=1.0)
    names = {scale: f"$s_R$ = {scale:g}" for scale in sorted({row.scale for row in rows})}
    series = []
    for method, look in _TWINS.items():
        found = {names[row.scale]: row.found for row in rows if row.arm.method == method}
        marks = {name: (each.difference, each.low, each.high) for name, each in found.items()}
        series.append(Dots(look, f"minus {look.label}", marks))
    draw_dots(axes, list(names.values()), series)
    axes.set_xlabel("reward of RWS minus reward of the other  [SD]")
    joint_legend(picture, 1, "outside upper left")
    return picture


def _ends(row: Comparison) -> str:
    """Return the least and the greatest mean of a speech, as "+1.34 to +1.87 SD"."""
    measure = MEASURES[row.measure]
    return f"{measure.text(min(row.speeches))} to {measure.text(max(row.speeches))} {measure.unit}"
