"""The locality study's numbers by method and locality, as a table and in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paper_figures.exhibits.differences import Difference, minus_text, span
from paper_figures.exhibits.findings import tally
from paper_figures.exhibits.style import LINES, Line
from paper_figures.table import Table
from rws_decode.common.palette import AMBER
from rws_theory import footrule_mean

Row = Mapping[str, Any]

LOOKS = {
    **{name: LINES[name] for name in ("default", "temperature", "rws", "constant", "shuffled", "left-to-right")},
    "random-order": Line(AMBER, "P", (0, (7, 2, 2, 2)), "random order"),
}
ORDERED = ("default", "temperature", "rws")  # whose GOD is drawn
NAMES = {"log_probability": "log-probability", "normalised_score": "reward"}


@dataclass(frozen=True)
class Localities:
    """The study's outcome: rows of its summary by method, locality and measure; rows of what is the same; settings."""

    summary: Sequence[Row]
    same: Sequence[Row]
    settings: Row

    @property
    def methods(self) -> list[str]:
        """Return the methods that were run, in the order of the legend."""
        present = {row["method"] for row in self.summary}
        return [name for name in LOOKS if name in present]

    @property
    def localities(self) -> list[float]:
        """Return the localities, falling: from left to right to random."""
        return sorted({row["locality"] for row in self.summary}, reverse=True)

    @property
    def prompts(self) -> int:
        """Return the number of prompts behind every mean."""
        return max(row["n"] for row in self.summary)

    @property
    def random(self) -> float | None:
        """Return the mean GOD in steps of a random order within blocks; None if steps commit unequal numbers."""
        length, steps, block = (self.settings[name] for name in ("length", "steps", "block"))
        if length % steps or block % (length // steps):
            return None
        return footrule_mean(length, block, per_step=length // steps, reading="steps")

    def curve(self, method: str, measure: str) -> list[Row]:
        """Return the rows of a method and measure by falling locality."""
        rows = [row for row in self.summary if (row["method"], row["measure"]) == (method, measure)]
        return sorted(rows, key=lambda row: -row["locality"])

    def share(self, method: str, measure: str, locality: float) -> float | None:
        """Return the share of prompts with the same words or commits; None if there was nothing to compare with."""
        match = (method, measure, locality)
        return next(row["mean"] for row in self.same if (row["method"], row["measure"], row["locality"]) == match)

    def everywhere(self, method: str, measure: str) -> bool:
        """Return whether a method has the same words, or commits, at every locality on every prompt."""
        return all(self.share(method, measure, locality) == 1 for locality in self.localities)


def table(data: Localities) -> Table:
    """Return a line per method and locality with GOD, log-probability, reward, and what is the same."""
    cells = {(row["method"], row["locality"], row["measure"]): row for row in data.summary}
    shown = []
    for method in data.methods:
        for locality in data.localities:
            god, tokens, log_p, reward = (cells[method, locality, name] for name in ("god_steps", "god_tokens", *NAMES))
            names = ("default_words", "rws_words", "same_words", "same_commits")
            shares = [_percent(data.share(method, name, locality)) for name in names]
            shown.append(
                {
                    "method": LOOKS[method].label,
                    "locality": f"{locality:g}",
                    "GOD, steps": span(god, form=".2f"),
                    "GOD, tokens": span(tokens, form=".2f"),
                    "GOD minus default's, steps": _minus(god),
                    "log p, nats": f"{log_p['mean']:.1f}",
                    "minus default's, nats": _minus(log_p),
                    "reward, deviations": f"{reward['mean']:+.2f}",
                    "minus default's, deviations": _minus(reward),
                }
                | dict(zip(("default's words", "RWS's words", "own words", "own steps"), shares, strict=True))
            )
    caption = (
        "Means over prompts. In brackets: 95 % interval; of a difference from the default at the same "
        "locality on the same prompts, with p of the sign-flip permutation test, corrected over the localities by "
        "Holm's method, and * if the interval excludes zero. Default's words, RWS's words: share of prompts with its "
        "answer at that locality. Own words: with the answer of the method itself at locality "
        f"{data.localities[0]:g}; own steps: with each word at the same step, too. "
        "Log p is of all words of the answer after the prompt."
    )
    return Table("locality", data.summary, shown, caption)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.0%}"


def _minus(row: Row) -> str | None:
    if row["difference"] is None:
        return None
    ends = {"low": row["difference_low"], "high": row["difference_high"], "p_holm": row["p_holm"]}
    return minus_text({"difference": row["difference"], **ends})


def conclusions(data: Localities) -> tuple[str, ...]:
    """Return in words where the default is left to right, what is the same at every locality, and what RWS does."""
    lines = [_headline(data), _unmoved(data), *_as_rws(data)]
    for method in data.methods[1:]:
        if method in ORDERED:
            lines.append(
                f"GOD of {LOOKS[method].label} minus the default's, in steps: {_compared(data, method, 'god_steps')}"
            )
    for measure, unit in (("log_probability", "nats"), ("normalised_score", "deviations")):
        for method in data.methods[1:]:
            start = f"{NAMES[measure].capitalize()} of {LOOKS[method].label} minus the default's, in {unit}"
            lines.append(f"{start}: {_compared(data, method, measure)}")
    return tuple(lines)


def _headline(data: Localities) -> str:
    default, rws = ((rows[0], rows[-1]) for rows in (data.curve(name, "god_steps") for name in ("default", "rws")))
    god = [f"{span(row, form='.2f')} at locality {row['locality']:g}" for row in default]
    random = "" if data.random is None else f" A random order has {data.random:.2f} on average."
    added = [f"{_difference(row, 'p_holm').text()}, at {row['locality']:g}" for row in rws]
    return f"The default's GOD in steps is {' and '.join(god)}.{random} RWS minus the default: {'; '.join(added)}."


def _unmoved(data: Localities) -> str:
    """Return in words which methods write the same, and commit the same, at every locality."""
    words = [method for method in data.methods if data.everywhere(method, "same_words")]
    steps = [method for method in words if data.everywhere(method, "same_commits")]
    others = [method for method in data.methods if method not in words]
    parts = [("the same words at every locality", words), ("each of them at the same step, too", steps)]
    parts.append(("other words at some locality", others))
    said = [f"{what}: {', '.join(LOOKS[method].label for method in methods)}" for what, methods in parts if methods]
    rest = f" On some prompts, {said.pop()}." if others else ""
    return f"On every prompt, {'; '.join(said)}.{rest}" if said else rest.strip()


def _as_rws(data: Localities) -> list[str]:
    """Return in words how often a control of RWS writes its words."""
    parts = []
    for method in ("constant", "shuffled", "temperature"):
        shares = [data.share(method, "rws_words", row["locality"]) for row in data.curve(method, "god_steps")]
        known = [share for share in shares if share is not None]
        if known:
            ends = dict.fromkeys(f"{end:.0%}" for end in (min(known), max(known)))
            parts.append(f"{LOOKS[method].label} for {' to '.join(ends)} of prompts")
    return [f"RWS's words are also written by: {', '.join(parts)}."] if parts else []


def _compared(data: Localities, method: str, measure: str) -> str:
    """Return a method minus the default in words: once if it is one comparison, else for how many localities."""
    rows = data.curve(method, measure)
    if measure != "god_steps" and all(data.everywhere(name, "same_words") for name in (method, "default")):
        difference = _difference(rows[0], "p")
        return f"{difference.text()}, at every locality alike."
    return tally([_difference(row, "p_holm") for row in rows], "localities")


def _difference(row: Row, p: str) -> Difference:
    value, low, high = (round(row[name], 9) + 0.0 for name in ("difference", "difference_low", "difference_high"))
    return Difference(f"{row['locality']:g}", value, low, high, row[p])
