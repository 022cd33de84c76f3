"""Make the tables of the regimes experiment: shares of pairs with intervals, cases, and the reach of crossings.

A source of pairs is a distribution with a dimension, or the real steps of one predictor, reward scale and shape. Pairs
whose curves are equal at every scale are left out and counted (`identical`).

`summary` has a row per source and measure. `count` of the `pairs` have the property, which is the share `share`. Its 95
% interval goes from `low` to `high`, and `interval` names the method. The measures are:

- "case a", "case b", "case both", "case neither": which premises of Theorem 1 as printed are met;
- "mended a", "mended b", "mended both", "mended neither": the same with premise (b) mended;
- "crossings 0", "crossings 1", "crossings 2+": how many crossings there are;
- "crossing below 1", "crossing above 1": at least one crossing is there;
- "printed false", "items false", "mended false", "corrected false": the theorem in that form is false of the pair. The
  items are (a), (b) and (c) as printed, without "exactly one of the following holds";
- "no flip proved": majorisation proves that there is no crossing;
- "undecided": the number of crossings is not proved.

Random pairs are independent, and their interval is the exact one of Clopper and Pearson. Real pairs are not: pairs of
one step share their logits, and steps of one answer share its text. So whole prompts are resampled (percentile
bootstrap of the pooled share). If every prompt has a share of 0, or of 1, that interval has no width. The exact
interval of so many prompts then replaces it, which covers the mean share as well. With one prompt nothing is known of
others, and the interval is 0 to 1.

`cases` has a row per source and printed case: the number of `pairs` and what the case asserts. It counts the pairs with
crossings only below 1, only above 1, on both sides, or nowhere. It also counts pairs with several crossings on a side,
and how often each form is false there.

`reach` is about real pairs only. It gives the shares of all crossings that lie in three ranges: the grid's range, the
factors that any reward can give at s_R, and the range of the answer's own factors. It also gives the share of pairs
whose order at the step's own factor is not that at 1 (`reversed`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paper_figures.statistics.intervals import clustered_share, exact_share
from paper_figures.studies.design.options import GRID
from rws_theory.gain import factor_range

if TYPE_CHECKING:
    import pandas

    from paper_figures.table import Table

__all__ = ["CASES", "FORMS", "MEASURES", "case_of", "drawn_of", "regime_tables"]

Pair = Mapping[str, Any]

# The forms of Theorem 1: as printed; its items (a), (b), (c) each by itself; with (b) mended; and what is true.
FORMS = ("printed", "items", "mended", "corrected")
# What Theorem 1 as printed asserts, by the premises that a pair meets.
CASES = {
    "a": "one crossing in (0, 1), none above 1",
    "b": "one crossing in (1, inf), none below 1",
    "both": "excluded",
    "neither": "no crossing",
}


def case_of(pair: Pair, *, mended: bool = False) -> str:
    """Return which premises a pair meets: "a", "b", "both" or "neither".

    If `mended` is true, premise (b) is delta_a < delta_b.

    >>> case_of({"sigma": 0.1, "delta": -0.2}), case_of({"sigma": 0.1, "delta": -0.2}, mended=True)
    ('both', 'a')
    """
    low, high = pair["sigma"] > 0, pair["delta"] > 0 if mended else pair["delta"] < 0
    return "both" if low and high else "a" if low else "b" if high else "neither"


def _sides(pair: Pair) -> tuple[int, int] | None:
    return None if pair["below"] is None else (pair["below"], pair["above"])


def _crossings(least: int, most: float) -> Callable[[Pair], bool]:
    return lambda pair: (sides := _sides(pair)) is not None and least <= sum(sides) <= most


MEASURES: dict[str, Callable[[Pair], bool]] = {
    **{f"case {name}": lambda pair, name=name: case_of(pair) == name for name in CASES},
    **{f"mended {name}": lambda pair, name=name: case_of(pair, mended=True) == name for name in CASES},
    "crossings 0": _crossings(0, 0),
    "crossings 1": _crossings(1, 1),
    "crossings 2+": _crossings(2, np.inf),
    "crossing below 1": lambda pair: bool(pair["below"]),
    "crossing above 1": lambda pair: bool(pair["above"]),
    **{f"{form} false": lambda pair, form=form: pair[form] is False for form in FORMS},
    "no flip proved": lambda pair: pair["no_flip"],
    "undecided": lambda pair: pair["below"] is None,
}
_SHOWN = {name: name for name in MEASURES if not name.startswith("mended ") or name == "mended false"}
_CAPTIONS = {
    "summary": "Theorem 1 over pairs of positions, the one ahead at scale 1 being a: shares with 95 % intervals, exact "
    "for random pairs (independent), by resampling prompts for real ones (pairs of a step are not independent). Cases: "
    "which premises of the theorem as printed are met. False: what it asserts is not true of the pair.",
    "cases": "What the printed theorem asserts of each case, and the crossings that there are, proved complete.",
    "reach": "Where the crossings of real pairs lie: how many are within the factors that decoding can use.",
}


def regime_tables(frame: pandas.DataFrame, seed: int) -> list[Table]:
    """Return the tables summary, cases and reach from the rows of the units; `seed` seeds the bootstrap."""
    from paper_figures.table import Table

    sources = _sources(frame)
    summary, cases, reach = [], [], []
    for name, (at, prompts) in sources.items():
        kept = [[pair for pair in pairs if not pair["identical"]] for _, pairs in prompts]
        identical_count = sum(len(pairs) for _, pairs in prompts) - sum(map(len, kept))
        summary += [
            at | {"identical": identical_count} | row for row in _summary(kept, at["source"] == "real", [seed, name])
        ]
        cases += [at | row for row in _cases([pair for pairs in kept for pair in pairs])]
        if at["source"] == "real":
            reach += [at | row for row in _reach(prompts, at["reward_scale"], [seed, name])]
    parts_of = {"summary": (summary, _wide(summary)), "cases": (cases, cases), "reach": (reach, _texts(reach))}
    return [Table(name, rows, shown, _CAPTIONS[name]) for name, (rows, shown) in parts_of.items()]


def _sources(frame: pandas.DataFrame) -> dict[str, tuple[dict[str, Any], list[tuple[list[float], list[Pair]]]]]:
    """Group the rows by source, random sources first: what each is, and the factors and pairs of its units."""
    sources: dict[str, tuple[dict[str, Any], list[Any]]] = {}
    shapes = ["predictor", "reward", "length", "steps", "block", "seed"]
    varied = [name for name in shapes if frame[name].dropna().nunique() > 1]
    for row in frame.to_dict("records"):
        random_numbers = drawn_of(row["strategy_json"])
        at = {"source": "real" if random_numbers is None else random_numbers["distribution"]}
        at |= {"dimension": None if random_numbers is None else random_numbers["dimension"]}
        at |= {"reward_scale": None if random_numbers else row["scale"]}
        at |= {name: None if random_numbers and name != "seed" else row[name] for name in varied}
        sources.setdefault(json.dumps(at), (at, []))[1].append((row["factors"], row["pairs"]))
    return dict(sorted(sources.items(), key=lambda item: (item[1][0]["source"] == "real",)))


def drawn_of(strategy: str) -> dict[str, Any] | None:
    """Return the numbers of a unit's strategy (JSON) if its logits are random; None if they are of real steps."""
    numbers = json.loads(strategy)
    return numbers if numbers["name"] == "random-logits" else None


def _summary(prompts: Sequence[Sequence[Pair]], clustered: bool, key: Sequence[Any]) -> list[dict[str, Any]]:
    totals = [len(pairs) for pairs in prompts if pairs]
    rows = []
    for name, holds in MEASURES.items():
        counts = [sum(map(holds, pairs)) for pairs in prompts if pairs]
        rows.append({"measure": name} | _share(counts, totals, clustered, [*key, name]))
    return rows


def _share(counts: Sequence[int], totals: Sequence[int], clustered: bool, key: Sequence[Any]) -> dict[str, Any]:
    share: dict[str, Any] = {"count": sum(counts), "pairs": sum(totals), "share": None, "low": None, "high": None}
    share["interval"] = "prompts resampled" if clustered else "Clopper-Pearson"
    if share["pairs"]:
        rng = np.random.default_rng(list(json.dumps(list(key)).encode()))
        interval = clustered_share(counts, totals, rng) if clustered else exact_share(sum(counts), sum(totals))
        share |= {"share": interval.mean, "low": interval.low, "high": interval.high}
    return share


def _cases(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    rows = []
    for name, asserted in CASES.items():
        members = [pair for pair in pairs if case_of(pair) == name]
        sides = [counts for pair in members if (counts := _sides(pair)) is not None]
        rows.append(
            {"case": name, "printed claim": asserted, "pairs": len(members)}
            | {"none": sum(1 for low, high in sides if not low and not high)}
            | {"below 1": sum(1 for low, high in sides if low and not high)}
            | {"above 1": sum(1 for low, high in sides if high and not low)}
            | {"both sides": sum(1 for low, high in sides if low and high)}
            | {"several on a side": sum(1 for counts in sides if max(counts) > 1)}
            | {f"{form} false": sum(pair[form] is False for pair in members) for form in FORMS}
        )
    return rows


def _reach(prompts: Sequence[tuple[Sequence[float], Sequence[Pair]]], scale: float, key: list[Any]) -> list[Any]:
    """Return the share of the crossings in each range, and of the pairs whose order the step's factor reverses."""
    ranges = {
        f"crossings in [{GRID[0]:g}, {GRID[-1]:g}], the grid's range": lambda _: (GRID[0], GRID[-1]),
        f"crossings in the factors of any reward at s_R = {scale:g}": lambda _: factor_range(scale),
        "crossings between the least and the greatest factor of the answer": lambda used: (min(used), max(used)),
    }
    counted = []
    for name, range_of in ranges.items():
        counts, totals = [], []
        for used, pairs in prompts:
            roots = [root for pair in pairs for root in pair["roots"]]
            if roots:
                low, high = range_of(used)
                counts.append(sum(low <= root <= high for root in roots))
                totals.append(len(roots))
        counted.append((name, counts, totals))
    decided = [[pair["reversed"] for pair in pairs if pair["reversed"] is not None] for _, pairs in prompts]
    name = "pairs whose order at the step's own factor is not that at 1"
    counted.append(
        (
            name,
            [sum(reversed_pairs) for reversed_pairs in decided if reversed_pairs],
            [len(reversed_pairs) for reversed_pairs in decided if reversed_pairs],
        )
    )
    rows = [{"measure": name} | _share(counts, totals, True, [*key, name]) for name, counts, totals in counted]
    return [{"of" if name == "pairs" else name: value for name, value in row.items()} for row in rows]


def _wide(summary: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one line per source, with a column per measure."""
    lines: dict[str, dict[str, Any]] = {}
    for row in summary:
        at = dict(list(row.items())[: list(row).index("measure")])
        line = lines.setdefault(json.dumps(at), {**at, "pairs": row["pairs"]})
        if row["measure"] in _SHOWN:
            line[row["measure"]] = _text(row)
    return list(lines.values())


def _texts(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    dropped = ("low", "high", "interval")
    return [{name: value for name, value in row.items() if name not in dropped} | {"share": _text(row)} for row in rows]


def _text(row: Mapping[str, Any]) -> str | None:
    return None if row["share"] is None else f"{row['share']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
