"""The claim check: every statement of the paper that can be checked, with its verdict.

Shows: where each statement is, its verdict with evidence, counterexample and correction; and the number of each verdict
by part of the paper, with our own statements apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import Exhibit, Picture, Story, figure
from paper_figures.exhibits.shared.results import capital, read_results_json
from paper_figures.runner.claims_run import up_to_date
from paper_figures.table import Table
from rws_decode.common.palette import AMBER, GREEN, SKY, VERMILION
from rws_theory.claims import OURS, PAPER, PARTS, REMARKS, Verdict, source

NEEDS: tuple[str, ...] = ("claims",)

# Verdict -> colour, hatch: with its place in the bar three ways to tell it from others.
_LOOKS: dict[Verdict, tuple[str, str]] = {
    "true": (GREEN, ""),
    "true with correction": (SKY, "//"),
    "not about RWS": ("#F0E442", ".."),
    "inconsistent unless": (AMBER, "--"),
    "false": (VERMILION, "\\\\"),
    "not confirmed": ("#999999", "xx"),
}
VERDICTS: tuple[Verdict, ...] = tuple(_LOOKS)
_CENTRAL = ("C1-rws", "AB-selective", "F-temperature-quality")  # what the method rests on, and its baseline


@dataclass(frozen=True)
class Ledger:
    """The claims in the order of `rws_theory.claims`; whether this checkout's code checked them."""

    claims: Sequence[Mapping[str, str | None]]
    current: bool

    def counts(self) -> dict[str, dict[str, int]]:
        """Return part -> verdict -> number of claims; claims of no part are under "others", ours come last."""
        verdicts: dict[str, list[str | None]] = {part: [] for part in (*PARTS, "others", REMARKS, OURS)}
        for claim in self.claims:
            part = next((part for part, checks in PARTS.items() if claim["id"] in checks), "others")
            author = source(str(claim["where"]))
            verdicts[part if author == PAPER else author].append(claim["verdict"])
        return {
            part: {verdict: numbers.count(verdict) for verdict in VERDICTS if verdict in numbers}
            for part, numbers in verdicts.items()
            if numbers
        }


def draw(ledger: Ledger) -> Figure:
    """Draw a bar per part of the paper, cut into its verdicts, each with its number."""
    counts = ledger.counts()
    picture = figure(6.6, 1.1 + 0.42 * len(counts))
    axes = picture.subplots()
    start = np.zeros(len(counts))
    for verdict, (color, hatch) in _LOOKS.items():
        numbers = np.array([count.get(verdict, 0) for count in counts.values()])
        if not numbers.any():
            continue
        look = {"color": color, "hatch": hatch, "edgecolor": "black", "linewidth": 0.8, "label": verdict}
        bars = axes.barh(list(counts), numbers, 0.66, start, **look)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.9}
        axes.bar_label(bars, [str(n or "") for n in numbers], label_type="center", bbox=box if hatch else None)
        start = start + numbers
    for text in [text for text in axes.texts if not text.get_text()]:
        text.remove()
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("statements  [count]")
    picture.legend(loc="outside upper center", ncols=len(VERDICTS))
    return picture


def table(ledger: Ledger) -> Table:
    """Return a row per claim: what the record holds in the CSV, with evidence and counterexample together as text."""
    shown = [
        {
            "claim": claim["id"],
            "where": claim["where"],
            "verdict": claim["verdict"],
            "statement": claim["statement"],
            "what was found": " ".join(filter(None, [claim["evidence"], against and f"Counterexample: {against}"])),
            "instead": claim["correction"],
        }
        for claim in ledger.claims
        for against in (claim["counterexample"],)
    ]
    caption = (
        "Every statement of the paper that can be checked, in the paper's order: the method, Theorem 1, its example, "
        "rewards, tables. Verdicts are computed by proof, exact arithmetic, certified interval or exhaustive search; "
        "the proofs stand in docs/theory.md. “Ours” marks one that is not in the paper."
    )
    if not ledger.current:
        caption += " Checked by other code, or against other printed numbers, than this checkout has."
    return Table("ledger", ledger.claims, shown, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the table of the checked claims below `runs`."""
    claims = read_results_json(runs, NEEDS[0], ("claims",))["claims"]
    ledger = Ledger(claims, up_to_date(runs / NEEDS[0] / "results.json"))
    counts = ledger.counts()
    paper = [counted for part, counted in counts.items() if part not in (REMARKS, OURS)]
    total = {verdict: sum(counted.get(verdict, 0) for counted in paper) for verdict in VERDICTS}
    caption = (
        "Verdicts by part of the paper: how many of its statements that can be checked hold, and how many do not. “Not "
        "about RWS” is true, but of something that the algorithm does not do. “Inconsistent unless”: printed numbers "
        "contradict each other under an unstated assumption. One theorem or table makes several statements, and how "
        "finely we cut them is our choice: the numbers do not measure the paper. Our remarks on its tables and our own "
        "results are counted separately."
    )
    lines = [f"{capital(part)}: {_counted(counted)}." for part, counted in counts.items()]
    alt = f"Stacked bars of verdicts by part of the paper. {' '.join(lines)}"
    summary = f"Of {sum(total.values())} statements of the paper that can be checked: {_counted(total)}."
    picture, inputs, story = (
        Picture("ledger", draw(ledger), caption, alt),
        ("claims/results.json",),
        _story(ledger, total),
    )
    return Exhibit("The claim check", (picture,), (table(ledger),), (summary, *lines), inputs, story)


def _story(ledger: Ledger, total: Mapping[str, int]) -> Story:
    """Return what the page says first: the counts, and the central statements that are false."""
    claims = {claim["id"]: claim for claim in ledger.claims if claim["verdict"] == "false"}
    false = [claims[name] for name in _CENTRAL if name in claims]
    return Story(
        f"Of {sum(total.values())} statements of the paper that can be checked, {total['true']} are true as printed "
        f"and {total['false']} are false.",
        tuple(f"“{claim['statement']}” ({claim['where']}) is false. Instead: {claim['correction']}" for claim in false),
        f"The others: {_counted({v: n for v, n in total.items() if v not in ('true', 'false')})}. How finely we cut "
        "statements is our choice, so read the counts as a guide.",
        "ledger",
    )


def _counted(counts: Mapping[str, int]) -> str:
    """Return numbers of verdicts in words."""
    return ", ".join(f"{number} {verdict}" for verdict in VERDICTS if (number := counts.get(verdict)))
