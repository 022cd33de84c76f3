"""Table 6: distinct-1 and distinct-2 by guide, as printed and here, and what of a difference is left at equal length.

Shows: the printed levels beside ours, with answer lengths, as longer answers have a lower distinct-n; RWS minus the
default and minus every control, of whole answers and with each pair cut to the shorter one's length, with jackknife
intervals.
Inputs: RUNS/diversity/results.json, made by `python -m paper_figures experiment diversity --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.differences import Difference, tally
from paper_figures.exhibits.dot_plot import AS_PRINTED, Dots, draw_dots, height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.names import in_words, method_name, names_of, with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.style import GREY, LINES, figure, joint_legend, panel_title
from paper_figures.table import Column, Table, wide
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("diversity",)
_STEM = "table6_diversity"
_ORDERS = (1, 2)
_LENGTHS = {"whole": "whole answers", "equal": "at equal length"}
# What is drawn: against whom, of which words.
_DRAWN = (("default", "whole"), ("default", "equal"), ("constant", "equal"))


@dataclass(frozen=True)
class Diversity:
    """The run's `distinct` and `differences` tables, each row with its guide's `name`."""

    distinct: Sequence[Row]
    differences: Sequence[Row]
    run: Results

    def of(self, against: str, n: int, length: str) -> list[Difference]:
        """Return RWS minus another method in distinct-n for each guide; length: whole or equal."""
        key = (against, n, length)
        return [_minus(row) for row in self.differences if (row["against"], row["n"], row["length"]) == key]


def _minus(row: Row) -> Difference:
    return Difference(row["name"], row["difference"], row["low"], row["high"], row["p_holm"])


def compute(runs: Path) -> Diversity:
    """Read the experiment's results below `runs`; MissingRun, with the command, if they are missing."""
    run = read_run(runs, NEEDS[0])
    distinct, differences = (
        with_guide_names(run.rows.get(name, ()), run.settings["rewards"]) for name in ("distinct", "differences")
    )
    return Diversity(distinct, differences, run)


def printed_differences(n: int) -> dict[str, float]:
    """Return reward model -> printed distinct-n of RWS minus that of the default.

    >>> round(printed_differences(1)["LlamaOB"], 4)
    0.0105
    """
    table = printed_in(_STEM)
    return {row["model"]: row[f"distinct_{n}"] - table["default"][f"distinct_{n}"] for row in table["rows"]}


def draw(data: Diversity) -> Figure:
    """Draw RWS minus the default and minus the constant by guide, a panel per n, the printed differences hollow."""
    here = names_of(data.distinct)
    names = list(dict.fromkeys([*here, *printed_differences(1)]))
    picture = figure(6.6, 0.75 + height_of(names, len(_DRAWN) + 1 if set(here) & set(printed_differences(1)) else 2))
    for axes, n in zip(picture.subplots(1, len(_ORDERS)), _ORDERS, strict=True):
        series = [_series(data, n, *what) for what in _DRAWN]
        marks = {name: (value, None, None) for name, value in printed_differences(n).items()}
        as_printed = Dots(AS_PRINTED, "RWS minus default, as printed", marks, hollow=True)
        draw_dots(axes, names, [*series, as_printed], labelled=n == _ORDERS[0])
        axes.axvline(0, color=GREY, linewidth=1.0)
        panel_title(axes, f"Distinct-{n}")
        axes.set_xlabel(f"difference of distinct-{n}  [n-grams per word]")
    joint_legend(picture, 2)
    return picture


def _series(data: Diversity, n: int, against: str, length: str) -> Dots:
    marks = {minus.name: (minus.value, minus.low, minus.high) for minus in data.of(against, n, length)}
    # Of the same control, other words: the same colour and another marker.
    look = LINES[against] if length == "equal" else replace(LINES[against], marker="o")
    return Dots(look, f"RWS minus {against}, {_LENGTHS[length]}", marks)


def tables(data: Diversity) -> tuple[Table, ...]:
    """Return Table 6 beside ours, and RWS minus every other method, whole and at equal length."""
    table = printed_in(_STEM)
    lines = {method_name("default"): table["default"]} | {f"RWS, {row['model']}": row for row in table["rows"]}
    printed = {name: {f"distinct-{n}": row[f"distinct_{n}"] for n in _ORDERS} for name, row in lines.items()}
    here = {
        method_name("default") if row["method"] == "default" else f"RWS, {row['name']}": {
            **row,
            "reward_scale": None if row["method"] == "default" else row["reward_scale"],
        }
        for row in data.distinct
        if row["method"] in ("default", "rws")
    }
    columns = [Column(f"distinct-{n}", f"distinct_{n}") for n in _ORDERS]
    columns += [Column("words per answer", "words"), Column("repeated answers, share", "repeated")]
    columns.append(Column("s_R", "reward_scale"))
    caption = (
        f"Distinct-n: different n-grams over all answers / all their words. Left: {table['where']}. Right, here: model "
        f"{data.run.settings['model']}, {data.run.prompts['test']} prompts of {data.run.prompts['source']}. Distinct-n "
        "changes with the size of a set and the length of its answers, so levels cannot be compared across the two "
        "sides; the sign of a difference can."
    )
    shown = wide(
        data.differences,
        lambda row: {"guide": row["name"], "RWS minus": method_name(row["against"])},
        lambda row: {f"distinct-{row['n']}, {_LENGTHS[row['length']]}": _minus(row).text()},
    )
    minus = (
        "RWS minus every other method on the same prompts, of whole answers and with each pair of answers cut to the "
        "shorter one's length: difference, its 95 % jackknife interval over prompts, and p of the exchange test, "
        "corrected over the reward models by Holm's method; * if the interval excludes zero and p is at most 0.05."
    )
    return (
        beside(_STEM, "method", printed, here, caption, columns),
        Table("table6_differences", data.differences, shown, minus),
    )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 6 and its picture from the results below `runs`."""
    data = compute(runs)
    settings = data.run.settings
    caption = (
        f"RWS minus the default, and minus a constant factor of equal mean, in distinct-n. Here: model "
        f"{settings['model']}, {data.run.prompts['test']} prompts of {data.run.prompts['source']}, "
        f"{settings['length']} tokens, {settings['steps']} steps, one s_R per guide "
        f"({'chosen on validation prompts' if data.run.selection else 'given'}), 95 % jackknife intervals over "
        f"prompts. Hollow: differences of the printed levels ({printed_in(_STEM)['where']}), for which no interval can "
        "be had. Distinct-n falls as answers grow longer: at equal length each pair of answers is cut to the shorter "
        "one's. Sizes of sets differ, so signs can be compared and sizes of differences cannot."
    )
    printed = [value for n in _ORDERS for value in printed_differences(n).values()]
    alt = (
        "Two panels of dots around zero, distinct-1 and distinct-2. The printed differences, hollow, lie between "
        f"{min(printed):+.3f} and {max(printed):+.3f}."
    )
    said = "; ".join(
        f"minus {in_words(against)}, {tally(data.of(against, 1, 'equal'), 'reward models')}"
        for against in ("default", "constant")
    )
    return Exhibit(
        "Table 6: diversity",
        (Picture(_STEM, draw(data), caption, alt),),
        tables(data),
        conclusions=(f"Distinct-1 of RWS at equal length: {said}.",),
        inputs=data.run.inputs,
    )
