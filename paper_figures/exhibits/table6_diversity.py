"""Table 6: distinct-1 and distinct-2 by reward, as printed and here, and which difference is left at equal length.

Shows: the printed levels beside ours, with answer lengths, as longer answers have a lower distinct-n; RWS minus
confidence and minus every control, of whole answers and with each pair cut to the shorter one's length, with jackknife
intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import Results, Row, beside, in_words, method_name, minus_of, read_run, tally
from paper_figures.table import Column, Table, wide
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("diversity",)
_STEM = "table6_diversity"
_ORDERS = (1, 2)
_LENGTHS = {"whole": "whole answers", "equal": "at equal length"}


def tables(run: Results, differences: Sequence[Row]) -> tuple[Table, ...]:
    """Return Table 6 beside ours, and RWS minus every other method, whole and at equal length."""
    table = printed_in(_STEM)
    lines = {method_name("default"): table["default"]} | {f"RWS, {row['model']}": row for row in table["rows"]}
    printed = {name: {f"distinct-{n}": row[f"distinct_{n}"] for n in _ORDERS} for name, row in lines.items()}
    here = {
        method_name("default") if row["method"] == "default" else f"RWS, {row['name']}": {
            **row,
            "reward_scale": None if row["method"] == "default" else row["reward_scale"],
        }
        for row in run.named("distinct")
        if row["method"] in ("default", "rws")
    }
    columns = [Column(f"distinct-{n}", f"distinct_{n}") for n in _ORDERS]
    columns += [Column("words per answer", "words"), Column("repeated answers, share", "repeated")]
    columns.append(Column("s_R", "reward_scale"))
    caption = (
        f"Distinct-n: different n-grams over all answers / all their words. Left: {table['where']}. Right, here: model "
        f"{run.settings['model']}, {run.prompts['test']} prompts of {run.prompts['source']}. Distinct-n "
        "changes with the size of a set and the length of its answers, so levels cannot be compared across the two "
        "sides; the sign of a difference can."
    )
    shown = wide(
        differences,
        lambda row: {"guide": row["name"], "RWS minus": method_name(row["against"])},
        lambda row: {f"distinct-{row['n']}, {_LENGTHS[row['length']]}": minus_of(row).text()},
    )
    minus = (
        "RWS minus every other method on the same prompts, of whole answers and with each pair of answers cut to the "
        "shorter one's length: difference, its 95 % jackknife interval over prompts, and p of the exchange test, "
        "corrected over the reward models by Holm's method; * if the interval excludes zero and p is at most 0.05."
    )
    return (
        beside(_STEM, "method", printed, here, caption, columns),
        Table("table6_differences", differences, shown, minus),
    )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 6 from the results below `runs`."""
    run = read_run(runs, NEEDS[0])
    differences = run.named("differences")
    equal = [row for row in differences if (row["n"], row["length"]) == (1, "equal")]
    summary = "; ".join(
        f"minus {in_words(name)}, {tally([minus_of(row) for row in equal if row['against'] == name], 'reward models')}"
        for name in ("default", "constant")
    )
    return Exhibit(
        "Table 6: diversity",
        tables=tables(run, differences),
        conclusions=(f"Distinct-1 of RWS at equal length: {summary}.",),
        inputs=run.inputs,
    )
