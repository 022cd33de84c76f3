"""What judged comparisons share: names, the run in words, and differences to RWS with what intervals and p say of them.

Rows are those of `paper_figures.studies.summaries.means.summarise` with the baseline rws: mean, low and high of one method
and measure, and its difference to RWS on the same prompts. Differences are read here the other way round, RWS minus the
method: above zero is better for RWS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paper_figures.exhibits.contrasts import ALPHA
from paper_figures.exhibits.paper_beside_ours import named
from paper_figures.exhibits.runs import Results
from paper_figures.exhibits.style import Line
from rws_theory.printed import printed_in

__all__ = ["Difference", "from_row", "guide_looks", "guide_names", "lookup", "setting", "span", "tally"]

Row = Mapping[str, Any]

_LISTED = 6  # more than these are not read; their ends stand for them
_HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (3, 1.5, 1, 1.5)), (0, (1, 1.2)), (0, (7, 2, 2, 2)))


@dataclass(frozen=True)
class Difference:
    """RWS minus something, of one thing compared: value, 95 % interval, p (corrected where there are several; or None).

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
        """Say whether the interval leaves zero outside; one of no width does where a test says so too."""
        return (self.low > 0 or self.high < 0) and (self.low < self.high or self.p is not None)

    @property
    def sign(self) -> int:
        """Return 1 or -1 where the interval leaves zero outside and p is not above `ALPHA`, else 0."""
        if not self.apart or (self.p is not None and self.p > ALPHA):
            return 0
        return 1 if self.low > 0 else -1

    @property
    def none(self) -> bool:
        """Say whether no resample differs either, as where all pairs are equal."""
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


def from_row(name: str, row: Row | None, scale: float = 1.0) -> Difference | None:
    """Return RWS minus the row's method, times `scale`; None where there is no such row or nothing to compare."""
    if row is None or row["difference"] is None:
        return None
    # Means of equal numbers may differ by rounding, which is no difference; adding 0.0 leaves no negative zero.
    ends = ("difference", "difference_high", "difference_low")
    value, low, high = (round(-scale * row[key], 9) + 0.0 for key in ends)
    return Difference(name, value, low, high, row["p_holm"])


def tally(
    differences: Sequence[Difference | None], of: str, words: tuple[str, str] = ("higher", "lower"), brief: bool = False
) -> str:
    """Return for how many RWS is higher, for how many lower, and for how many no difference is shown, and which.

    of: what is counted, in the plural. Higher or lower needs an interval without zero and a p of at most `ALPHA`.
    brief: the numbers alone, and of none shown either way that alone.

    >>> found = [Difference("a", 0.2, 0.1, 0.3, 0.01), Difference("b", 0.0, 0.0, 0.0, 1.0)]
    >>> tally(found, "guides")
    'higher for 1 of 2 guides (a: +0.2 [+0.1, +0.3], p 0.01), lower for none; 0 in every prompt for 1.'
    >>> tally(found, "guides", brief=True)
    'higher for 1 of 2 guides, lower for none'
    >>> tally(found[1:], "guides", brief=True)
    'shown neither higher nor lower for any of 1 guides'
    """
    compared = [difference for difference in differences if difference is not None]
    if not compared:
        return f"nothing to compare for any of the {of}" + ("" if brief else ".")
    if brief and not any(difference.sign for difference in compared):
        above, below = words
        if (end := f" {below.split()[-1]}") in above:
            above = above.removesuffix(end)
        return f"shown neither {above} nor {below} for any of {len(compared)} {of}"
    parts = []
    for word, sign, total in zip(words, (1, -1), (f" of {len(compared)} {of}", ""), strict=True):
        of_sign = [difference for difference in compared if difference.sign == sign]
        if len(of_sign) > _LISTED:
            ends = (min(of_sign, key=lambda difference: difference.value), max(of_sign, key=lambda difference: difference.value))
            shown = "from " + " to ".join(f"{difference.name}: {difference.text()}" for difference in ends)
        else:
            shown = "; ".join(f"{difference.name}: {difference.text()}" for difference in of_sign)
        parts.append(f"{word} for {len(of_sign) or 'none'}{total}" + (f" ({shown})" if of_sign and not brief else ""))
    if brief:
        return ", ".join(parts)
    unclear = [difference for difference in compared if not difference.sign and not difference.none]
    rest = []
    if unclear:
        most = max(unclear, key=lambda difference: abs(difference.value))
        rest.append(f"no difference shown for {len(unclear)} (the largest, {most.name}: {most.text()})")
    if len(unclear) < sum(not difference.sign for difference in compared):
        rest.append(f"0 in every prompt for {sum(difference.none for difference in compared)}")
    return "; ".join([", ".join(parts), *rest]) + "."


def guide_looks(names: Sequence[str]) -> dict[str, Line]:
    """Return a look for every name: the paper's reward models have the same everywhere, others what is left.

    >>> looks = guide_looks(["mini", "GRM"])
    >>> looks["GRM"].marker, looks["mini"].marker == looks["GRM"].marker
    ('s', False)
    """
    paper = sorted(row["model"] for row in printed_in("table1_win_rate")["rows"])
    others = [name for name in dict.fromkeys(names) if name not in paper]
    looks = {}
    for group, markers in ((paper, "os^DvP"), (others, "X*<>ph")):
        for index, name in enumerate(group):
            looks[name] = Line(_HUES[index % len(_HUES)], markers[index % 6], _DASHES[index % len(_DASHES)], name)
    return {name: looks[name] for name in names}


def lookup(rows: Sequence[Row], **match: Any) -> Row | None:
    """Return the row that has all of these values, None where there is none; ValueError where there are several."""
    matching = [row for row in rows if all(row.get(name) == value for name, value in match.items())]
    if len(matching) > 1:
        raise ValueError(f"results hold {len(matching)} rows of {match}: one is needed")
    return matching[0] if matching else None


def guide_names(rows: Sequence[Row]) -> dict[tuple[str, float | None], str]:
    """Return (guide, reward scale) -> the paper's name of the guide, with its scale where the guide has several.

    The paper's reward models come first, in its order, the others as they are in the rows.

    >>> guide_names([{"guide": "mini", "reward_scale": 2.0}, {"guide": "grm", "reward_scale": 4.0}])
    {('grm', 4.0): 'GRM', ('mini', 2.0): 'mini'}
    """
    order = {row["model"]: position for position, row in enumerate(printed_in("table1_win_rate")["rows"])}
    keys: list[tuple[str, float | None]] = [*dict.fromkeys((row["guide"], row.get("reward_scale")) for row in rows)]
    keys.sort(key=lambda key: order.get(named(key[0]), len(order)))
    several = len({guide for guide, _ in keys}) < len(keys)
    return {(guide, scale): f"{named(guide)}, s_R = {scale:g}" if several else named(guide) for guide, scale in keys}


def span(row: Row | None, scale: float = 1.0, form: str = ".0f") -> str | None:
    """Return a row's mean and interval: "25 [11, 47]"; None where there is none.

    >>> span({"mean": 0.25, "low": 0.112, "high": 0.469}, 100)
    '25 [11, 47]'
    """
    if row is None or row["mean"] is None:
        return None
    # Rounding must leave no "-0".
    mean, low, high = (f"{round(scale * row[key], 6) + 0.0:{form}}" for key in ("mean", "low", "high"))
    return f"{mean} in every prompt" if row["low"] == row["high"] else f"{mean} [{low}, {high}]"


def setting(run: Results) -> str:
    """Return what was run, and how it differs from what the paper ran, as two sentences.

    The paper's own is LLaDA on RewardBench or MT-Bench prompts, with six reward models.
    """
    given, prompts = run.settings, run.prompts
    model = given["model"]
    parts = [f"model {model}, {prompts['test']} test prompts of {prompts['source']}"]
    if "length" in given:
        parts.append(f"answers of {given['length']} tokens in {given['steps']} steps, blocks of {given['block']}")
    if run.selection:
        scales = ", ".join(f"{named(guide)} {scale:g}" for guide, scale in run.selection.items())
        parts.append(f"s_R chosen on {prompts['validation']} validation prompts ({scales})")
    elif given.get("reward_scale"):
        parts.append(f"s_R given ({', '.join(f'{scale:g}' for scale in given['reward_scale'])})")
    paper = {row["model"] for row in printed_in("table1_win_rate")["rows"]}
    others = {
        "model": "llada" not in model.lower(),
        "prompts": not str(prompts["source"]).startswith(("reward-bench", "mt-bench")),
        "reward models": not {named(guide) for guide in given["rewards"]} <= paper,
    }
    differ = [name for name, other in others.items() if other]
    apart = f"Not the paper's {', '.join(differ)}: shapes can be compared, levels cannot."
    same = "Model family, kind of prompts and reward models are the paper's; its sample of prompts is not known."
    return f"Here: {'; '.join(parts)}. {apart if differ else same}"
