"""Table 5: win rate of RWS by fifth of GOD, with a test for trend.

Shows: the printed shares beside ours, with 95 % intervals: the prompts of a fifth that RWS wins, and those that
confidence wins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import ALPHA, Results, Row, beside, names_of, read_run, setting
from paper_figures.statistics.intervals import share_interval
from paper_figures.table import Column, Table
from rws_theory.printed import printed_in

NEEDS = ("reward-bench",)
_STEM = "table5_god_quintiles"
_NO_EFFECT = (
    "A trend over prompts does not show an effect of order, because prompts differ in more than GOD: an answer that "
    "RWS does not change is a draw, whatever its GOD."
)


def share(row: Row, outcome: str) -> tuple[float, float, float]:
    """Return a fifth's share of an outcome, "win" or "loss", in percent with Wilson's 95 % interval.

    >>> share({"n": 4, "win": 0.5, "loss": 0.25}, "loss")[0]
    25.0
    """
    mean, low, high = share_interval(round(row[outcome] * row["n"]), row["n"])
    return 100 * mean, 100 * low, 100 * high


def table(run: Results) -> Table:
    """Return the printed table beside ours."""
    fifths = run.named("god_quintiles")
    paper, names = printed_in(_STEM), names_of(fifths)
    labels = [row["quintile"] for row in paper["rows"]]
    printed = {row["quintile"]: {name: row[name] for name in row if name != "quintile"} for row in paper["rows"]}
    here: dict[str, dict[str, Any]] = {label: {} for label in labels}
    for name in names:
        for row in sorted(fifths, key=lambda row: row["fifth"]):
            for title, outcome in ((name, "win"), (f"{name}, default wins", "loss")):
                if row["name"] == name and row["n"]:
                    fields = (title, f"{title} low", f"{title} high")
                    here[labels[row["fifth"] - 1]] |= dict(zip(fields, share(row, outcome), strict=True))
    caption = (
        f"Left: {paper['where']}, {paper['task']}, without intervals. {setting(run)} The same here: percent of "
        "prompts that RWS wins by its own reward, and that confidence decoding wins; the rest are ties. Brackets: "
        f"Wilson's 95 % intervals. Fifths are of GOD in tokens; equal GOD is in one fifth. {_NO_EFFECT}"
        + ("" if fifths else f" Ours are left out: {run.prompts['test']} prompts are too few for fifths.")
    )
    titles = [title for name in names for title in (name, f"{name}, default wins")]
    columns = [Column(title, form=".0f", ends=(f"{title} low", f"{title} high")) for title in titles]
    return beside(_STEM, "fifth of GOD", printed, here, caption, columns)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 5 from the experiment's results below `runs`."""
    run = read_run(runs, NEEDS[0])
    made, trends = table(run), run.named("god_trends", "no answer of RWS was judged")
    clear = [row for row in trends if row["tau"] is not None and row["p_holm"] <= ALPHA]
    up, down = (sum(sign * row["tau"] > 0 for row in clear) for sign in (1, -1))
    summary = (
        f"From prompts of low GOD to prompts of high GOD the outcome of RWS is shown to rise for {up or 'none'} of "
        f"{len(trends)} rewards, to fall for {down or 'none'} (Kendall's tau, p at most {ALPHA:g} after "
        "correction). A trend would not show an effect of order: prompts differ in more."
    )
    return Exhibit("Table 5: win rate by fifth of GOD", tables=(made,), conclusions=(summary,), inputs=run.inputs)
