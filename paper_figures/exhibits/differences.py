"""RWS minus other methods, with intervals and p: what a difference says, and how it is written.

Rows are those of `paper_figures.statistics.means.summarise` with the baseline rws: mean, low and high of one
method and measure, and its difference to RWS on the same prompts. Here a difference is RWS minus the method: above zero
is better for RWS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from paper_figures.exhibits.names import method_name, methods_in
from paper_figures.table import Row, Rows, Table, wide

ALPHA = 0.05
_CAPTION = (
    "RWS minus every other method on the same prompts: mean difference, its paired 95 % interval, and p corrected over "
    "the reward models by Holm's method; * if the interval excludes zero and p is at most 0.05. The CSV has the mean "
    "of each method too."
)


class Difference(NamedTuple):
    """RWS minus something: value, 95 % interval, and p, corrected if there are several, or None without a test.

    >>> Difference(0.2, 0.1, 0.3, 0.2).sign, Difference(-0.2, -0.3, -0.1, 0.04).sign
    (0, -1)
    """

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

    def text(self) -> str:
        """Return the difference, its interval and p, with * for a sign; a bootstrap of equal pairs has no width.

        >>> Difference(-0.2, -0.3, -0.1, 0.04).text(), Difference(0.0, 0.0, 0.0, 1.0).text()
        ('-0.2 [-0.3, -0.1], p 0.04 *', '0 in every prompt')
        """
        if self.value == self.low == self.high == 0:
            return "0 in every prompt"
        ends = "in every prompt" if self.low == self.high else f"[{self.low:+.3g}, {self.high:+.3g}]"
        p_text = "" if self.p is None else f", p {self.p:.2g}"
        return f"{self.value:+.3g} {ends}{p_text}" + (" *" if self.sign else "")


def minus_of(row: Row) -> Difference:
    """Return the difference of a row that is RWS minus something already."""
    return Difference(row["difference"], row["low"], row["high"], row["p_holm"])


def rws_minus(row: Row | None) -> Difference | None:
    """Return RWS minus the row's method; None without a row or a difference."""
    if row is None or row["difference"] is None:
        return None
    # Means of equal numbers may differ by rounding, which is no difference; adding 0.0 leaves no negative zero.
    ends = ("difference", "difference_high", "difference_low")
    value, low, high = (round(-row[key], 9) + 0.0 for key in ends)
    return Difference(value, low, high, row["p_holm"])


def differences_table(stem: str, rows: Sequence[Row], measures: Mapping[str, str]) -> Table:
    """Return a line for each guide and method with RWS minus that method in each measure.

    rows: with their guide's `name`; measures: measure -> what a heading calls it.
    """
    order, names = methods_in(rows), list(dict.fromkeys(row["name"] for row in rows))
    kept = [row for row in rows if row["method"] != "rws"]
    kept.sort(key=lambda row: (names.index(row["name"]), order.index(row["method"])))
    shown = by_measure(kept, lambda row: {"guide": row["name"], "RWS minus": method_name(row["method"])}, measures)
    return Table(stem, rows, shown, _CAPTION)


def by_measure(
    rows: Sequence[Row],
    keys: Callable[[Row], Row],
    measures: Mapping[str, str],
    field: str = "measure",
    minus: Callable[[Row], Difference | None] = rws_minus,
) -> Rows:
    """Return a line for each set of keys, with a difference as text in a column for each of the measures that it has.

    field: the field of a row that names its measure; minus: the difference of a row.
    """
    rows = [row for row in rows if row[field] in measures]
    present = [label for name, label in measures.items() if any(row[field] == name for row in rows)]
    return wide(rows, keys, lambda row: {measures[row[field]]: (of := minus(row)) and of.text()}, present)


def tally(differences: Sequence[Difference | None], of: str, words: tuple[str, str] = ("higher", "lower")) -> str:
    """Return in words for how many RWS is higher, and for how many it is lower; of: what is counted, in the plural.

    >>> found = [Difference(0.2, 0.1, 0.3, 0.01), Difference(0.0, 0.0, 0.0, 1.0)]
    >>> tally(found, "guides"), tally(found[1:], "guides")
    ('higher for 1 of 2 guides, lower for none', 'shown neither higher nor lower for any of 1 guides')
    """
    signs = [difference.sign for difference in differences if difference is not None]
    if not signs:
        return f"nothing to compare for any of the {of}"
    if not any(signs):
        return f"shown neither {words[0]} nor {words[1]} for any of {len(signs)} {of}"
    higher, lower = signs.count(1) or "none", signs.count(-1) or "none"
    return f"{words[0]} for {higher} of {len(signs)} {of}, {words[1]} for {lower}"
