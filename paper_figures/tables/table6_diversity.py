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

from paper_figures.exhibits.differences import Difference, minus_text
from paper_figures.exhibits.dot_plot import AS_PRINTED, Dots, draw_dots, height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.findings import tally
from paper_figures.exhibits.names import in_words, method_name, methods_in, with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.exhibits.style import GREY, LINES, figure, joint_legend, panel_title
from paper_figures.table import Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("diversity",)
_ORDERS = (1, 2)
_LENGTHS = {"whole": "whole answers", "equal": "at equal length"}
# What is drawn: against whom, of which words.
_DRAWN = (("default", "whole"), ("default", "equal"), ("constant", "equal"))


@dataclass(frozen=True)
class Diversity:
    """The run's `distinct` and `differences` tables, each row with its guide's `name`."""

    distinct: Sequence[Mapping[str, Any]]
    differences: Sequence[Mapping[str, Any]]
    run: Results

    @property
    def names(self) -> list[str]:
        """Return what the guides are called."""
        return list(dict.fromkeys(row["name"] for row in self.distinct))

    def of(self, against: str, n: int, length: str) -> list[Mapping[str, Any]]:
        """Return RWS minus another method in distinct-n, a row per guide; length: whole or equal."""
        key = (against, n, length)
        return [row for row in self.differences if (row["against"], row["n"], row["length"]) == key]


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
    table = printed_in("table6_diversity")
    return {row["model"]: row[f"distinct_{n}"] - table["default"][f"distinct_{n}"] for row in table["rows"]}


def draw(data: Diversity) -> Figure:
    """Draw RWS minus the default and minus the constant by guide, a panel per n, the printed differences hollow."""
    printed = printed_differences(1)
    names = list(dict.fromkeys([*data.names, *printed]))
    picture = figure(6.6, 0.75 + height_of(names, len(_DRAWN) + 1 if set(data.names) & set(printed) else 2))
    panels = picture.subplots(1, len(_ORDERS))
    for axes, n in zip(panels, _ORDERS, strict=True):
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
    marks = {row["name"]: (row["difference"], row["low"], row["high"]) for row in data.of(against, n, length)}
    # Of the same control, other words: the same colour and another marker.
    look = LINES[against] if length == "equal" else replace(LINES[against], marker="o")
    who = "default" if against == "default" else "constant"
    return Dots(look, f"RWS minus {who}, {_LENGTHS[length]}", marks)


def tables(data: Diversity) -> tuple[Table, ...]:
    """Return Table 6 beside ours, and RWS minus every other method, whole and at equal length."""
    return (_printed(data), _differences(data))


def _printed(data: Diversity) -> Table:
    table = printed_in("table6_diversity")
    lines = {method_name("default"): table["default"]} | {f"RWS, {row['model']}": row for row in table["rows"]}
    printed = {name: {f"distinct-{n}": row[f"distinct_{n}"] for n in _ORDERS} for name, row in lines.items()}
    here: dict[str, dict[str, Any]] = {}
    shown: dict[str, dict[str, str | None]] = {}
    for row in data.distinct:
        if row["method"] in ("default", "rws"):
            name = method_name("default") if row["method"] == "default" else f"RWS, {row['name']}"
            here[name] = {f"distinct-{n}": row[f"distinct_{n}"] for n in _ORDERS}
            here[name] |= {"words per answer": row["words"], "repeated answers, share": row["repeated"]}
            if row["method"] == "rws":
                here[name]["s_R"] = row["reward_scale"]
                for n in _ORDERS:
                    column = f"distinct-{n} minus default, equal length"
                    difference = next(
                        (
                            difference
                            for difference in data.of("default", n, "equal")
                            if difference["name"] == row["name"]
                        ),
                        None,
                    )
                    here[name][column] = None if difference is None else difference["difference"]
                    shown.setdefault(name, {})[column] = minus_text(difference)
    caption = (
        f"Distinct-n: different n-grams over all answers / all their words. Left: {table['where']}. Right, here: model "
        f"{data.run.settings['model']}, {data.run.prompts['test']} prompts of {data.run.prompts['source']}. Distinct-n "
        "changes with the size of a set and the length of its answers, so levels cannot be compared across the two "
        "sides; the sign of a difference can. Brackets: 95 % jackknife interval over prompts; p by exchanging the two "
        "answers of random prompts, corrected over the reward models."
    )
    return beside("table6_diversity", "method", printed, here, caption, shown)


def _differences(data: Diversity) -> Table:
    shown = []
    for name in data.names:
        for method in methods_in(data.differences, "against"):
            line: dict[str, str | None] = {"guide": name, "RWS minus": method_name(method)}
            for n in _ORDERS:
                for length, words in _LENGTHS.items():
                    rows = [row for row in data.of(method, n, length) if row["name"] == name]
                    line[f"distinct-{n}, {words}"] = minus_text(rows[0]) if rows else None
            shown.append(line)
    caption = (
        "RWS minus every other method on the same prompts, of whole answers and with each pair of answers cut to the "
        "shorter one's length: difference, its 95 % jackknife interval over prompts, * if that excludes zero, and p of "
        "the exchange test, corrected over the reward models by Holm's method."
    )
    return Table("table6_differences", data.differences, shown, caption)


def conclusions(data: Diversity) -> tuple[str, ...]:
    """Return what follows from the intervals at equal length, how long answers are, and what the paper printed."""
    lines = []
    for against in ("default", "constant"):
        for n in _ORDERS:
            rows = data.of(against, n, "equal")
            found = [Difference(row["name"], row["difference"], row["low"], row["high"], row["p_holm"]) for row in rows]
            said = tally(found, "reward models", brief=True)
            lines.append(f"RWS minus {in_words(against)}, distinct-{n} at equal length: {said}.")
    words = {name: _words(data, name) for name in data.names}
    lengths = "; ".join(f"{name} {rws:.1f} and {base:.1f}" for name, (rws, base) in words.items() if rws and base)
    lines += [f"Words per answer of RWS and of the default: {lengths}."] if lengths else []
    table = printed_in("table6_diversity")
    higher = sum(value > 0 for n in _ORDERS for value in printed_differences(n).values())
    lines.append(
        f"The paper prints a higher distinct-n for RWS than for the default in {higher} of {2 * len(table['rows'])} "
        "comparisons, without intervals, lengths or the number of answers."
    )
    return tuple(lines)


def _words(data: Diversity, name: str) -> tuple[float | None, float | None]:
    by_method = {row["method"]: row["words"] for row in data.distinct if row["name"] == name}
    return by_method.get("rws"), by_method.get("default")


def exhibit(runs: Path) -> Exhibit:
    """Return Table 6 and its picture from the results below `runs`."""
    data = compute(runs)
    settings = data.run.settings
    caption = (
        f"RWS minus the default, and minus a constant factor of equal mean, in distinct-n. Here: model "
        f"{settings['model']}, {data.run.prompts['test']} prompts of {data.run.prompts['source']}, "
        f"{settings['length']} tokens, {settings['steps']} steps, one s_R per guide "
        f"({'chosen on validation prompts' if data.run.selection else 'given'}), 95 % jackknife intervals over "
        f"prompts. Hollow: differences of the printed levels ({printed_in('table6_diversity')['where']}), for which no "
        "interval can be had. Distinct-n falls as answers grow longer: at equal length each pair of answers is cut to "
        "the shorter one's. Sizes of sets differ, so signs can be compared and sizes of differences cannot."
    )
    parts = [
        f"{name}, distinct-{n} minus the {'default' if against == 'default' else 'constant'}, {_LENGTHS[length]}: "
        f"{value:+.3f} [{low:+.3f}, {high:+.3f}]."
        for n in _ORDERS
        for against, length in _DRAWN
        for name, (value, low, high) in _series(data, n, against, length).marks.items()
    ]
    alt = (
        f"Two panels of dots around zero, distinct-1 and distinct-2. {' '.join(parts)} The printed differences, "
        f"hollow, lie between {min(v for n in _ORDERS for v in printed_differences(n).values()):+.3f} and "
        f"{max(v for n in _ORDERS for v in printed_differences(n).values()):+.3f}."
    )
    return Exhibit(
        "Table 6: diversity",
        (Picture("table6_diversity", draw(data), caption, alt),),
        tables(data),
        conclusions=conclusions(data),
        inputs=data.run.inputs,
    )
