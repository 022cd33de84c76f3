"""What several differences say together, in sentences that follow from their intervals and p."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paper_figures.exhibits.differences import ALPHA, Difference, difference_text, excludes_zero
from paper_figures.exhibits.names import in_words, method_name
from paper_figures.table import Table

Row = Mapping[str, Any]

_METRICS = {
    "coherent": "share coherent",
    "perplexity": "perplexity",
    "judge": "judge's reward",
    "god_steps": "GOD in steps",
}
_QUALITY = ("coherent", "judge")
# What RWS is set against, and by which metrics.
_CONTROLS: dict[str, Sequence[str]] = {
    **dict.fromkeys(("constant", "shuffled", "temperature", "default"), tuple(_METRICS)),
    **dict.fromkeys(("flipped", "random", "margin", "best-of-n"), _QUALITY),
}
# How `finding` and `tally` say that none of their differences is shown.
_NOTHING = re.compile(
    r"no 95 % interval of \d+ excludes zero; no difference is shown"
    r"|for none of \d+ [^,;(]+, [^,;(]+ for none; no difference shown"
    r"|no difference shown for the one "
)
_LISTED = 6  # more than these are not read; their ends stand for them


def finding(
    rows: Sequence[Row],
    of: Callable[[Row], str] = lambda row: f"s_R = {row['scale']:g}",
    family: str = "scales",
    preposition: str = "at ",
) -> str:
    """Return in words what the differences of one comparison say together.

    rows: difference, low, high, p_holm (None without a test). of: what a row is called; family: what the rows are, in
    the plural; preposition: the word before one of them.

    >>> row = {"guide": "mini", "difference": 0.2, "low": 0.1, "high": 0.3, "p_holm": 0.01}
    >>> finding([row], lambda row: row["guide"], "reward models", "with ")  # doctest: +NORMALIZE_WHITESPACE
    '1 of 1 95 % intervals exclude zero, RWS higher (mini: +0.2 [+0.1, +0.3]); p, corrected for 1 reward model, is at
    most 0.05 with mini.'
    """
    count, outside = len(rows), [row for row in rows if excludes_zero(row)]
    if not any(row[field] for row in rows for field in ("difference", "low", "high")):
        return f"every difference is exactly zero ({count} {family if count > 1 else _singular(family)})."
    if not outside:
        most = max(rows, key=lambda row: abs(row["difference"]))
        shown = f"the largest is {preposition}{of(most)}: {difference_text(most)}"
        return f"no 95 % interval of {count} excludes zero; no difference is shown ({shown})."
    signs = {"higher" if row["low"] > 0 else "lower" for row in outside}
    direction = signs.pop() if len(signs) == 1 else f"higher {preposition}some {family} and lower {preposition}others"
    shown = "; ".join(f"{of(row)}: {difference_text(row)}" for row in outside)
    kept = [of(row) for row in rows if row["p_holm"] is not None and row["p_holm"] <= ALPHA]
    where = f"{preposition}{', '.join(kept)}" if kept else "nowhere"
    return (
        f"{len(outside)} of {count} 95 % intervals exclude zero, RWS {direction} ({shown}); p, corrected for {count} "
        f"{family if count > 1 else _singular(family)}, is at most {ALPHA:g} {where}."
    )


def tally(
    differences: Sequence[Difference | None], of: str, words: tuple[str, str] = ("higher", "lower"), brief: bool = False
) -> str:
    """Return in words for how many RWS is higher, lower, or not shown to differ, and which they are.

    of: what is counted, in the plural. Higher or lower needs an interval that excludes zero and a p of at most `ALPHA`.
    brief: return the numbers alone.

    >>> found = [Difference("a", 0.2, 0.1, 0.3, 0.01), Difference("b", 0.0, 0.0, 0.0, 1.0)]
    >>> tally(found, "guides")
    'higher for 1 of 2 guides (a: +0.2 [+0.1, +0.3], p 0.01), lower for none; 0 in every prompt for 1.'
    >>> tally(found, "guides", brief=True)
    'higher for 1 of 2 guides, lower for none'
    >>> tally(found[:1], "guides")
    'higher for the one guide (a: +0.2 [+0.1, +0.3], p 0.01).'
    >>> tally(found[1:], "guides", brief=True)
    'shown neither higher nor lower for the one guide'
    """
    compared = [difference for difference in differences if difference is not None]
    if not compared:
        return f"nothing to compare for any of the {of}" + ("" if brief else ".")
    one = f"the one {_singular(of)}" + (" that can be compared" if len(differences) > 1 else "")
    if brief and not any(difference.sign for difference in compared):
        above, below = words
        if (end := f" {below.split()[-1]}") in above:
            above = above.removesuffix(end)
        which = f"any of {len(compared)} {of}" if len(compared) > 1 else one
        return f"shown neither {above} nor {below} for {which}"
    if len(compared) == 1:
        (only,) = compared
        word = words[0] if only.sign > 0 else words[1] if only.sign else "no difference shown"
        if only.none:
            word, numbers = "0 in every prompt", only.name
        else:
            numbers = f"{only.name}: {only.text()}"
        return f"{word} for {one}" + ("" if brief else f" ({numbers}).")
    parts = []
    for word, sign, total in zip(words, (1, -1), (f" of {len(compared)} {of}", ""), strict=True):
        of_sign = [difference for difference in compared if difference.sign == sign]
        if len(of_sign) > _LISTED:
            ends = (
                min(of_sign, key=lambda difference: difference.value),
                max(of_sign, key=lambda difference: difference.value),
            )
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


def _singular(plural: str) -> str:
    return f"{plural.removesuffix('ies')}y" if plural.endswith("ies") else plural.removesuffix("s")


def shows_nothing(line: str) -> bool:
    """Return whether a line says of all its differences that none is shown, as `finding` and `tally` word it.

    >>> unclear = [Difference("a", 0.1, -0.1, 0.3, 0.5)]
    >>> shows_nothing(tally(unclear, "guides")), shows_nothing(tally([*unclear, Difference("b", 2, 1, 3, 0)], "guides"))
    (True, False)
    """
    return _NOTHING.search(line) is not None


def contrast_lines(controls: Sequence[Row]) -> tuple[str, ...]:
    """Return a line per control and metric: at how many scales RWS differs from it, where, by how much, and p.

    controls: rows with control, scale, metric, difference (RWS minus control), low, high, p_holm.

    >>> row = {"control": "constant", "metric": "coherent", "scale": 8.0, "difference": 0.1, "low": 0.0, "high": 0.2}
    >>> contrast_lines([row | {"p_holm": 0.1}])[0].partition(": ")[2]
    'no 95 % interval of 1 excludes zero; no difference is shown (the largest is at s_R = 8: +0.1 [+0, +0.2]).'
    """
    lines = []
    for control, metrics in _CONTROLS.items():
        for metric in metrics:
            rows = [row for row in controls if row["control"] == control and row["metric"] == metric]
            if rows:
                summary = finding(sorted(rows, key=lambda row: row["scale"]))
                lines.append(f"RWS minus {in_words(control)}, {_METRICS[metric]}: {summary}")
    return tuple(lines)


def differences_table(stem: str, controls: Sequence[Row], metrics: Mapping[str, str]) -> Table:
    """Return a line per control and scale with RWS minus the control in every metric that `controls` have.

    metrics: metric -> its column, in order.
    """
    lines: dict[tuple[str, float], dict[str, str | None]] = {}
    present = {metric: name for metric, name in metrics.items() if any(row["metric"] == metric for row in controls)}
    for row in controls:
        control, scale = row["control"], row["scale"]
        start = {"RWS minus": method_name(control), "scale": f"{scale:g}"}
        line = lines.setdefault((control, scale), start | dict.fromkeys(present.values()))
        if row["metric"] in present:
            text = f"{difference_text(row)} p {row['p_holm']:.2g}"
            line[present[row["metric"]]] = text + (" *" if excludes_zero(row) else "")
    caption = (
        "RWS minus each control on the same prompts: mean difference with its 95 % interval, * if it "
        "excludes zero, and p of the sign-flip permutation test, corrected over the scales by Holm's method. The "
        "default and margin order have one run, the others one at each scale. The CSV has further metrics."
    )
    return Table(stem, controls, list(lines.values()), caption)


def range_line(summary: Sequence[Row]) -> str | None:
    """Return in words the ranges of perplexity of temperature and RWS over the scales; None if a method is missing.

    The paper's claim is that every temperature is worse than the worst RWS (Appendix F).

    >>> rows = [{"method": "rws", "perplexity": 2.0}, {"method": "temperature", "perplexity": 3.0}]
    >>> range_line(rows).partition("; ")[2]
    'every temperature is worse than the worst RWS.'
    """
    of = {name: [row["perplexity"] for row in summary if row["method"] == name] for name in ("temperature", "rws")}
    if not all(of.values()):
        return None
    (low_t, high_t), (low_r, high_r) = ((min(values), max(values)) for values in of.values())
    if low_t > high_r:
        order = "every temperature is worse than the worst RWS"
    elif low_r > high_t:
        order = "every RWS is worse than the worst temperature"
    else:
        order = "the ranges overlap, so not every temperature is worse than the worst RWS"
    spans = f"temperature {low_t:.2f} to {high_t:.2f}, RWS {low_r:.2f} to {high_r:.2f}"
    return f"Perplexity over the scales: {spans}; {order}."
