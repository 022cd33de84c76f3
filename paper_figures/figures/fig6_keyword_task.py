"""Figure 6: perplexity and Generation Order Deviation on keyword prompts, by guide: the default, RWS and a constant.

Shows: the levels measured here, by guide, with 95 % intervals. Beside them, what the paper's text says: how far
perplexity is below the default's, and GOD over the default's. The paper's figure itself prints no number.
Inputs: RUNS/keywords/results.json, made by `python -m paper_figures experiment keywords --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.differences import minus_text, rws_minus
from paper_figures.exhibits.dot_plot import Dots, draw_dots, height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.keyword_ranges import printed_range, ranges_table
from paper_figures.exhibits.names import method_name, methods_in, with_guide_names
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.style import GREY, LINES, PRINTED, figure, joint_legend, panel_title
from paper_figures.figures.parts.fig6_claims import BELOW, OVER, claim_line, claims_table
from paper_figures.table import Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("keywords",)
DRAWN = ("default", "rws", "constant")
_CONTROLS = ("constant", "shuffled")
_TABLES = ("perplexity_and_god", "claims")
_MEASURES = {
    "perplexity_per_text": "perplexity, mean over answers",
    "perplexity_pooled": "perplexity, pooled over tokens",
    "god_steps": "GOD, steps",
    "god_tokens": "GOD, tokens",
    "keywords_included": "keywords included",
    "coherent": "share coherent",
}


@dataclass(frozen=True)
class KeywordTask:
    """The run's means by guide, method and measure, and what Section 5.4 claims, each with its guide's `name`."""

    means: Sequence[Mapping[str, Any]]
    claims: Sequence[Mapping[str, Any]]
    run: Results

    @property
    def names(self) -> list[str]:
        """Return what the guides are called."""
        return list(dict.fromkeys(row["name"] for row in self.means))

    def has(self, measure: str) -> bool:
        """Return whether RWS has a value: without a causal model there is no perplexity."""
        return any(row["mean"] is not None for row in self.means if _is(row, method="rws", measure=measure))


def _is(row: Mapping[str, Any], **values: Any) -> bool:
    return all(row[name] == value for name, value in values.items())


def compute(runs: Path) -> KeywordTask:
    """Read the experiment's results below `runs`; MissingRun, with the command, if they are missing."""
    run = read_run(runs, NEEDS[0])
    means, claims = (with_guide_names(run.rows.get(name, ()), run.settings["rewards"]) for name in _TABLES)
    return KeywordTask(means, claims, run)


def draw(data: KeywordTask) -> Figure:
    """Draw perplexity above GOD: left the levels by guide, right what the paper's text can be compared with."""
    measures = [name for name in ("perplexity_per_text", "god_steps") if data.has(name)]
    height = height_of(data.names, len(DRAWN))
    picture = figure(6.6, 0.7 + height * len(measures))
    for row, measure in enumerate(measures):
        left, right = (picture.add_subplot(len(measures), 2, 2 * row + column) for column in (1, 2))
        draw_dots(left, data.names, [_series(data.means, method, "mean", measure=measure) for method in DRAWN])
        title = "Perplexity (lower is better)" if measure != "god_steps" else "Generation Order Deviation"
        unit = "perplexity, mean over answers" if measure != "god_steps" else "GOD  [steps]"
        panel_title(left, title)
        left.set_xlabel(unit)
        claim = BELOW if measure != "god_steps" else OVER
        _draw_claim(right, data, claim)
    joint_legend(picture, 2)
    return picture


def _draw_claim(axes: Axes, data: KeywordTask, claim: tuple[str, str, float]) -> None:
    quantity, printed, nothing = claim
    draw_dots(axes, data.names, [_series(data.claims, method, "value", quantity=quantity) for method in DRAWN[1:]])
    axes.axvline(nothing, color=GREY, linewidth=1.0)
    low, high = printed_range(printed)
    if low == high:
        # "More than": from the printed number to the end of the axis.
        left, right = min(axes.get_xlim()[0], nothing), max(axes.get_xlim()[1], low)
        high = right + 0.2 * (right - left)
        axes.set_xlim(left - 0.06 * (right - left), high)
    span = {"facecolor": "none", "edgecolor": PRINTED, "hatch": "////", "linewidth": 0.8, "alpha": 0.6}
    axes.axvspan(low, high, label="RWS in the paper's text, as printed", zorder=0.5, **span)
    if quantity == BELOW[0]:
        panel_title(axes, "Perplexity, below the default's")
        axes.set_xlabel("below default's  [%], more is better")
    else:
        panel_title(axes, "GOD, over the default's")
        axes.set_xlabel("ratio of means")


def _series(rows: Sequence[Mapping[str, Any]], method: str, value: str, **values: str) -> Dots:
    kept = [row for row in rows if _is(row, method=method, **values) and row["guide"] != "all"]
    marks = {row["name"]: (row[value], row["low"], row["high"]) for row in kept if row[value] is not None}
    return Dots(LINES[method], LINES[method].label, marks)


def tables(data: KeywordTask) -> tuple[Table, ...]:
    """Return the text's ranges beside ours, Section 5.4's claims by guide, and every method's means and differences."""
    claims = claims_table("fig6_claims", data.claims, data.run.prompts["test"], _CONTROLS)
    return (_ranges(data), claims, *_methods(data))


def _ranges(data: KeywordTask) -> Table:
    def means(method: str | None, measure: str) -> list[float]:
        rows = [row for row in data.means if row["measure"] == measure and row["mean"] is not None]
        return [row["mean"] for row in rows if method in (None, row["method"])]

    def claimed(quantity: str) -> list[float]:
        rows = [row for row in data.claims if _is(row, method="rws", quantity=quantity) and row["guide"] != "all"]
        return [row["value"] for row in rows if row["value"] is not None]

    ours = {
        "keywords included, all methods": means(None, "keywords_included"),
        BELOW[1]: claimed(BELOW[0]),
        "worst perplexity of RWS": sorted(means("rws", "perplexity_per_text"))[-1:],
        "GOD of the default": means("default", "god_steps"),
        "GOD of RWS at every step": means("rws", "god_steps"),
        OVER[1]: claimed(OVER[0]),
    }
    return ranges_table("fig6_keyword_task", ours, f"the guides ({', '.join(data.names)})")


def _methods(data: KeywordTask) -> tuple[Table, Table]:
    measures = {name: label for name, label in _MEASURES.items() if data.has(name)}
    kept = [row for row in data.means if row["measure"] in measures]
    means, differences = [], []
    for name in data.names:
        for method in methods_in(kept):
            rows = {row["measure"]: row for row in kept if _is(row, name=name, method=method)}
            start = {"guide": name, "method": method_name(method)}
            means.append(start | {label: _level(rows.get(measure)) for measure, label in measures.items()})
            minus = {measure: rws_minus(rows.get(measure)) for measure in measures}
            if method != "rws":
                line = {"guide": name, "RWS minus": method_name(method)}
                differences.append(line | {label: minus_text(minus[measure]) for measure, label in measures.items()})
    both = "Both means of perplexity and both readings of GOD: the paper does not say which are its own."
    caption = (
        "RWS minus every other method on the same prompts: mean difference, its paired 95 % interval, * if "
        "that excludes zero, and p of the sign-flip permutation test, corrected over the reward models by Holm's "
        "method."
    )
    return (
        Table("fig6_methods", kept, means, f"Every method by guide, with 95 % intervals. {both}"),
        Table("fig6_differences", [row for row in kept if row["method"] != "rws"], differences, caption),
    )


def _level(row: Mapping[str, Any] | None) -> str | None:
    if row is None or row["mean"] is None:
        return None
    return f"{row['mean']:.3g} [{row['low']:.3g}, {row['high']:.3g}]"


def conclusions(data: KeywordTask) -> tuple[str, ...]:
    """Return what follows from the intervals, of RWS against the default as the paper claims it."""
    lines = [
        claim_line(data.claims, "Perplexity of RWS, % below the default's (negative: above)", *BELOW),
        claim_line(data.claims, "GOD of RWS over the default's", *OVER),
    ]
    return tuple(line for line in lines if line is not None) or ("The run has no numbers of RWS to compare.",)


def exhibit(runs: Path) -> Exhibit:
    """Return Figure 6 and its tables from the results below `runs`."""
    data = compute(runs)
    settings = data.run.settings
    scales = ", ".join(f"{row['name']} {row['reward_scale']:g}" for row in _first_of_each(data))
    chosen = "chosen on validation prompts" if data.run.selection else "given"
    caption = (
        f"Keyword prompts: {data.run.prompts['test']} of {data.run.prompts['source']}, model {settings['model']}, "
        f"{settings['length']} tokens, {settings['steps']} steps; s_R {chosen}: {scales}. Left: means with 95 % "
        "intervals. Right: the same answers against the default's, prompt by prompt. Hatched: what the paper's text "
        f"says of RWS ({printed_in('keyword_task')['where']}); its Figure 6 prints no number. The constant is the "
        "factor of equal mean: what it reaches too does not come from the reward. Model, language and causal model are "
        "not the paper's: the right side can be compared with the paper, the left side cannot."
    )
    alt = "Dots with intervals by guide for the default, RWS and a constant of equal mean. " + " ".join(
        f"{row['name']}, {LINES[method].label}: {_MEASURES[row['measure']]} {_level(row)}."
        for measure in ("perplexity_per_text", "god_steps")
        for method in DRAWN
        for row in data.means
        if _is(row, method=method, measure=measure) and row["mean"] is not None
    )
    pictures = (Picture("fig6_keyword_task", draw(data), caption, alt),) if data.means else ()
    return Exhibit(
        "Figure 6: perplexity and GOD on keyword prompts",
        pictures,
        tables(data),
        conclusions=conclusions(data),
        inputs=data.run.inputs,
    )


def _first_of_each(data: KeywordTask) -> list[Mapping[str, Any]]:
    return list({row["name"]: row for row in reversed(data.means)}.values())[::-1]
