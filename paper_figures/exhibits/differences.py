"""RWS minus something, with its interval and p: what a difference says, and how it is written.

Rows are those of `paper_figures.studies.summaries.means.summarise` with the baseline rws: mean, low and high of one
method and measure, and its difference to RWS on the same prompts. Here a difference is RWS minus the method: above zero
is better for RWS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

ALPHA = 0.05


@dataclass(frozen=True)
class Difference:
    """RWS minus something: value, 95 % interval, and p, corrected if there are several, or None without a test.

    >>> Difference("mini", 0.2, 0.1, 0.3, 0.2).sign, Difference("mini", -0.2, -0.3, -0.1, 0.04).sign
    (0, -1)
    """

    name: str
    value: float
    low: float
    high: float
    p: float | None

    @property
    def apart(self) -> bool:
        """Return whether the interval excludes zero; one without width needs a test as well."""
        return (self.low > 0 or self.high < 0) and (self.low < self.high or self.p is not None)

    @property
    def sign(self) -> int:
        """Return 1 or -1, the sign, if the interval excludes zero and p is at most `ALPHA`; else 0."""
        if not self.apart or (self.p is not None and self.p > ALPHA):
            return 0
        return 1 if self.low > 0 else -1

    @property
    def none(self) -> bool:
        """Return whether value and interval are all zero, because all pairs are equal."""
        return self.value == self.low == self.high == 0

    def text(self) -> str:
        """Return the difference, its interval and p: "+5 [-10, +20], p 0.3"; a bootstrap of equal pairs has no width.

        >>> Difference("mini", -0.2, -0.3, -0.1, 0.04).text(), Difference("mini", 0.0, 0.0, 0.0, 1.0).text()
        ('-0.2 [-0.3, -0.1], p 0.04', '0 in every prompt')
        """
        if self.none:
            return "0 in every prompt"
        ends = "in every prompt" if self.low == self.high else f"[{self.low:+.3g}, {self.high:+.3g}]"
        return f"{self.value:+.3g} {ends}" + ("" if self.p is None else f", p {self.p:.2g}")


def difference_from_row(name: str, row: Row | None, scale: float = 1.0) -> Difference | None:
    """Return RWS minus the row's method, times `scale`; None without a row or a difference."""
    if row is None or row["difference"] is None:
        return None
    # Means of equal numbers may differ by rounding, which is no difference; adding 0.0 leaves no negative zero.
    ends = ("difference", "difference_high", "difference_low")
    value, low, high = (round(-scale * row[key], 9) + 0.0 for key in ends)
    return Difference(name, value, low, high, row["p_holm"])


def rws_minus(row: Row | None) -> dict[str, Any] | None:
    """Return a row of `means.summarise`, whose difference is to RWS, with RWS minus its method; None without one.

    >>> row = rws_minus({"method": "default", "difference": 0.2, "difference_low": 0.1, "difference_high": 0.4})
    >>> row and (row["difference"], row["low"], row["high"])
    (-0.2, -0.4, -0.1)
    """
    if row is None or row["difference"] is None:
        return None
    ends = {"difference": -row["difference"], "low": -row["difference_high"], "high": -row["difference_low"]}
    return {**row} | {name: value + 0.0 for name, value in ends.items()}  # no minus zero


def excludes_zero(row: Row) -> bool:
    """Return whether the interval from "low" to "high" excludes zero; one without width never does.

    >>> [excludes_zero({"low": low, "high": high}) for low, high in [(0.1, 0.2), (-0.1, 0.2), (0.3, 0.3)]]
    [True, False, False]
    """
    return (row["low"] > 0 or row["high"] < 0) and row["low"] < row["high"]


def clear(row: Row) -> bool:
    """Return whether a difference is shown: its interval excludes zero and p, corrected, is at most 0.05.

    >>> row = {"low": 0.1, "high": 0.3, "p_holm": 0.04}
    >>> clear(row), clear(row | {"low": -0.1}), clear(row | {"p_holm": None})
    (True, False, False)
    """
    return excludes_zero(row) and row["p_holm"] is not None and row["p_holm"] <= ALPHA


def difference_text(row: Row) -> str:
    """Return a difference and its interval to three significant digits.

    >>> difference_text({"difference": 0.1234, "low": -1.0, "high": 20.0})
    '+0.123 [-1, +20]'
    """
    return f"{row['difference']:+.3g} [{row['low']:+.3g}, {row['high']:+.3g}]"


def minus_text(row: Row | None) -> str | None:
    """Return a difference with its interval and corrected p for a table, with * if the interval excludes zero.

    >>> minus_text({"difference": 0.5, "low": 0.25, "high": 0.75, "p_holm": 0.04})
    '+0.5 [+0.25, +0.75] p 0.04 *'
    """
    if row is None:
        return None
    p_text = "" if row["p_holm"] is None else f" p {row['p_holm']:.2g}"
    return f"{difference_text(row)}{p_text}" + (" *" if excludes_zero(row) else "")


def span(row: Row | None, scale: float = 1.0, form: str = ".0f") -> str | None:
    """Return a row's mean and interval: "25 [11, 47]"; None if there is none.

    >>> span({"mean": 0.25, "low": 0.112, "high": 0.469}, 100)
    '25 [11, 47]'
    """
    if row is None or row["mean"] is None:
        return None
    # Rounding must leave no "-0".
    mean, low, high = (f"{round(scale * row[key], 6) + 0.0:{form}}" for key in ("mean", "low", "high"))
    return f"{mean} in every prompt" if row["low"] == row["high"] else f"{mean} [{low}, {high}]"
