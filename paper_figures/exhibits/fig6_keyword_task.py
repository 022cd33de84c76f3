"""Figure 6: perplexity and Generation Order Deviation on keyword prompts, by reward: confidence, RWS, a fixed factor.

Shows: the levels measured here, by reward, with 95 % intervals. Beside them, what the paper's text says: how far
perplexity is below that of confidence, and the ratio of both GODs. The paper's figure itself prints no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import (
    GREY,
    LINES,
    PRINTED,
    Dots,
    Exhibit,
    Picture,
    draw_dots,
    figure,
    height_of,
    joint_legend,
    marks_of,
    panel_title,
)
from paper_figures.exhibits.shared.results import (
    Results,
    Row,
    differences_table,
    names_of,
    printed_range,
    ranges_table,
    read_run,
)
from paper_figures.table import Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("keywords",)
DRAWN = ("default", "rws", "constant")
# A claim of the text: the quantity here, the quantity as printed, the value at which there is no difference.
BELOW = ("perplexity per text, % below default", "perplexity of RWS below that of the default", 0.0)
OVER = ("GOD in steps over default's", "GOD of RWS over that of the default, at least", 1.0)
_MEASURES = {
    "perplexity_per_text": "perplexity, mean over answers",
    "god_steps": "GOD, steps",
    "god_tokens": "GOD, tokens",
    "keywords_included": "keywords included",
    "coherent": "share coherent",
}


@dataclass(frozen=True)
class KeywordTask:
    """The run's means by reward, method and measure, and what Section 5.4 claims, each with its reward's `name`."""

    means: Sequence[Row]
    claims: Sequence[Row]
    run: Results

    def of(self, method: str, measure: str) -> dict[str, Row]:
        """Return a reward's name -> the row of a method and measure, or a claim's quantity, that has a number."""
        means = [row for row in self.means if row["measure"] == measure and row["mean"] is not None]
        claims = [row for row in self.claims if row["quantity"] == measure and row["value"] is not None]
        return {row["name"]: row for row in (*means, *claims) if row["method"] == method}


def compute(runs: Path) -> KeywordTask:
    """Read the experiment's results below `runs`; MissingRun, with the command, if they are missing."""
    run = read_run(runs, NEEDS[0])
    return KeywordTask(run.named("perplexity_and_god"), run.named("claims"), run)


def draw(data: KeywordTask) -> Figure:
    """Draw perplexity above GOD: left the levels by reward, right what the paper's text can be compared with."""
    names = names_of(data.means)
    wanted = {"perplexity_per_text": BELOW, "god_steps": OVER}
    claims = {measure: claim for measure, claim in wanted.items() if data.of("rws", measure)}
    picture = figure(6.6, 0.7 + height_of(names, len(DRAWN)) * len(claims))
    for row, (measure, claim) in enumerate(claims.items()):
        left, right = (picture.add_subplot(len(claims), 2, 2 * row + column) for column in (1, 2))
        levels = [Dots(LINES[name], LINES[name].label, marks_of(data.of(name, measure))) for name in DRAWN]
        draw_dots(left, names, levels)
        panel_title(left, "Perplexity (lower is better)" if claim is BELOW else "Generation Order Deviation")
        left.set_xlabel("perplexity, mean over answers" if claim is BELOW else "GOD  [steps]")
        _draw_claim(right, data, claim)
    joint_legend(picture, 2)
    return picture


def _draw_claim(axes: Axes, data: KeywordTask, claim: tuple[str, str, float]) -> None:
    quantity, printed, nothing = claim
    series = [Dots(LINES[name], LINES[name].label, marks_of(data.of(name, quantity), "value")) for name in DRAWN[1:]]
    draw_dots(axes, names_of(data.means), series)
    axes.axvline(nothing, color=GREY, linewidth=1.0)
    low, high = printed_range(printed)
    if low == high:
        # "More than": from the printed number to the end of the axis.
        left, right = min(axes.get_xlim()[0], nothing), max(axes.get_xlim()[1], low)
        high = right + 0.2 * (right - left)
        axes.set_xlim(left - 0.06 * (right - left), high)
    span = {"facecolor": "none", "edgecolor": PRINTED, "hatch": "////", "linewidth": 0.8, "alpha": 0.6}
    axes.axvspan(low, high, label="RWS in the paper's text, as printed", zorder=0.5, **span)
    panel_title(axes, "Perplexity, below the default's" if claim is BELOW else "GOD, over the default's")
    axes.set_xlabel("below default's  [%], more is better" if claim is BELOW else "ratio of means")


def tables(data: KeywordTask) -> tuple[Table, ...]:
    """Return the text's ranges beside ours, and RWS minus every other method."""
    ours = {
        "keywords included, all methods": [row["mean"] for row in data.means if row["measure"] == "keywords_included"],
        BELOW[1]: [row["value"] for row in data.of("rws", BELOW[0]).values()],
        "worst perplexity of RWS": sorted(row["mean"] for row in data.of("rws", "perplexity_per_text").values())[-1:],
        "GOD of the default": [row["mean"] for row in data.of("default", "god_steps").values()],
        "GOD of RWS at every step": [row["mean"] for row in data.of("rws", "god_steps").values()],
        OVER[1]: [row["value"] for row in data.of("rws", OVER[0]).values()],
    }
    measures = {name: label for name, label in _MEASURES.items() if data.of("rws", name)}
    return (
        ranges_table("fig6_keyword_task", ours, f"the rewards ({', '.join(names_of(data.means))})"),
        differences_table("fig6_differences", data.means, measures),
    )


def exhibit(runs: Path) -> Exhibit:
    """Return Figure 6 and its tables from the results below `runs`."""
    data = compute(runs)
    settings = data.run.settings
    scales = {row["name"]: f"{row['name']} {row['reward_scale']:g}" for row in data.means}
    chosen = "chosen on validation prompts" if data.run.selection else "given"
    caption = (
        f"Keyword prompts: {data.run.prompts['test']} of {data.run.prompts['source']}, model {settings['model']}, "
        f"{settings['length']} tokens, {settings['steps']} steps; s_R {chosen}: {', '.join(scales.values())}. Left: "
        "means with 95 % intervals. Right: the same answers against the default's, prompt by prompt. Hatched: what the "
        f"paper's text says of RWS ({printed_in('keyword_task')['where']}); its Figure 6 prints no number. The "
        "fixed factor has the mean of RWS's: what it reaches too does not come from the reward. Model, language and "
        "causal model are not the paper's: the right side can be compared with the paper, the left side cannot."
    )
    alt = (
        "Dots with intervals by reward for confidence decoding, RWS and a fixed factor of equal mean: perplexity and "
        "Generation Order Deviation, and how both compare with the default's."
    )
    lines = (
        _claim_line(data, "Perplexity of RWS, % below the default's (negative: above)", BELOW),
        _claim_line(data, "GOD of RWS over the default's", OVER),
    )
    summary = tuple(filter(None, lines)) or ("The run has no numbers of RWS to compare.",)
    pictures = (Picture("fig6_keyword_task", draw(data), caption, alt),) if data.means else ()
    return Exhibit("Figure 6: perplexity and GOD on keyword prompts", pictures, tables(data), summary, data.run.inputs)


def _claim_line(data: KeywordTask, what: str, claim: tuple[str, str, float]) -> str:
    """Return in words a claim's printed range and ours by reward, with intervals; "" without values."""
    rows, (low, high) = data.of("rws", claim[0]), printed_range(claim[1])
    span = f"{low:g} to {high:g}" if low != high else f"more than {low:g}"
    ours = "; ".join(f"{name} {row['value']:.3g} [{row['low']:.3g}, {row['high']:.3g}]" for name, row in rows.items())
    return f"{what}: the paper says {span}; here {ours}." if rows else ""
