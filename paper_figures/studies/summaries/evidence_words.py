"""The words in which comparisons of the evidence study are told: each a whole sentence, or the end of one."""

from __future__ import annotations

from collections.abc import Sequence

from paper_figures.studies.design.evidence_arms import WORLDS
from paper_figures.studies.summaries.evidence_comparisons import Comparison
from paper_figures.studies.summaries.evidence_measures import MEASURES

MADE = ("constant", "schedule", "swapped")  # at every s_R
_WORDS = {
    "constant": "the constant of equal mean",
    "schedule": "the mean schedule by step",
    "swapped": "another prompt's rewards",
}
VERDICTS = {"RWS more": "more", "RWS less": "less", "equivalent": "equivalent", "undecided": "undecided"}


def counted(rows: Sequence[Comparison]) -> str:
    """Return how many comparisons have which verdict, and what an undecided one could have seen, as the end of a line.

    An empty sequence has no such line, and raises ValueError.
    """
    if not rows:
        raise ValueError("rows is empty: comparisons of one measure are needed")
    measure = MEASURES[rows[0].measure]
    counts = {verdict: [row for row in rows if row.verdict == verdict] for verdict in VERDICTS}
    listed = listed_words([f"{word} in {len(counts[verdict]) or 'none'}" for verdict, word in VERDICTS.items()])
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


def p_text(p: float) -> str:
    """Return a p-value for reading.

    >>> p_text(0.00001), p_text(0.0312), p_text(0.5)
    ('< 0.001', '0.031', '0.50')
    """
    return "< 0.001" if p < 0.001 else f"{p:.2f}" if p >= 0.095 else f"{p:.3f}"


def told(row: Comparison) -> str:
    """Return a comparison as the end of a sentence, from "against" on."""
    return f"against {control_name(row.arm.method, row.title)} at s_R = {row.scale:g}, {row.text()}, p {p_text(row.p)}"


def short_text(row: Comparison) -> str:
    """Return a difference and what it says, as "+0.1 [-0.1, +0.3] points, equivalent." """
    if row.alike:
        return f"the same in every prompt ({row.same} of {row.n} texts are the same)."
    if row.verdict.startswith("RWS"):
        said = "real, but within the margin" if row.within else f"real (p {p_text(row.p)})"
    elif row.verdict == "undecided" and row.least is not None:
        said = f"undecided; {MEASURES[row.measure].text(row.least, sign=False)} would have been seen with 80 % power"
    else:
        said = row.verdict
    return f"{row.text()}, {said}."


def verdict_sentence(row: Comparison) -> str:
    """Return what a comparison says, as one whole sentence."""
    measure = MEASURES[row.measure]
    margin = measure.text(row.margin, sign=False)
    if row.verdict in ("RWS more", "RWS less"):
        inside = f", and too small to matter: it lies within ±{margin} {measure.unit}" if row.within else ""
        return f"This difference is real{inside}."
    if row.verdict == "equivalent":
        return f"The two are equivalent within ±{margin} {measure.unit}."
    if row.alike:
        return "The two are the same in every prompt."
    if row.least is None:
        return "No difference was seen; so few prompts that differ cannot show one."
    least = measure.text(row.least, sign=False)
    return f"No difference was seen; one of {least} {measure.unit} would have been seen with 80 % power."


def control_name(method: str, title: str | None = None) -> str:
    """Return what a control is called in sentences, else `title`.

    >>> control_name("swapped"), control_name("random", "random rewards")
    ("another prompt's rewards", 'random rewards')
    """
    return "RWS" if method == "rws" else _WORDS.get(method, title or method)


def setting_words(world: str, drawn: bool) -> str:
    """Return the start of a sentence on a world and a sampling.

    >>> setting_words("mini:mini", True)
    'In mini, tokens drawn'
    """
    return f"In {WORLDS[world].model}, {'tokens drawn' if drawn else 'greedy'}"


def listed_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence; at least one is needed.

    >>> listed_words(["a"]), listed_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
