"""Tables of means: which measures, grouped by what, compared with which baseline, beside what the paper printed.

An experiment's module has a function `tables(frame, seed=...) -> list[Table]`, by which it and the command
`python -m paper_figures summarize` print the same tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paper_figures.statistics.intervals import Interval, bootstrap_interval, paired_bootstrap_interval, share_interval
from paper_figures.statistics.significance import holm_within, paired_test
from paper_figures.studies.summaries.printed import Printed, printed_value
from paper_figures.table import Table

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Summary",
    "markdown_rows",
    "plain",
    "summarise",
    "summary_for",
    "summary_table",
]

# Settings by which a table is split where its results differ in them.
_SETTINGS = (
    *("predictor", "reward", "length", "steps", "block", "ranking", "precision", "sampling_temperature", "device"),
    *("reward_cost", "study_seed"),
)

# Won minus lost: no share, even where nothing was lost, and Wilson's interval would leave zero out after a single win.
_SIGNED = frozenset({"net", "others_net"})


@dataclass(frozen=True)
class Summary:
    """A table of means: one line per combination of the columns `by`, each measure with its paired difference.

    measures: numeric or boolean columns; baseline: values of some of `by`: a line is compared with the line that has
    these values and otherwise its own, on the rows that agree in `pair`; over: columns of `by` over which Holm's
    correction is made, the others being equal; printed: measure -> where the paper printed it.
    """

    measures: tuple[str, ...]
    by: tuple[str, ...] = ("strategy", "scale")
    baseline: Mapping[str, Any] = field(default_factory=lambda: {"strategy": "default", "scale": None})
    pair: tuple[str, ...] = ("example", "prompt", "seed")
    over: tuple[str, ...] = ("scale",)
    printed: Mapping[str, Printed] = field(default_factory=dict)


def summary_for(frame: pandas.DataFrame) -> Summary:
    """Return a summary of every numeric column of the rows, for an experiment that has no tables of its own."""
    start = list(frame.columns).index("strategy_json") + 1
    return Summary(tuple(name for name in frame.columns[start:] if frame[name].dtype.kind in "bif"))


def summary_table(name: str, caption: str, frame: pandas.DataFrame, summary: Summary, seed: int = 0) -> Table | None:
    """Return the table of a summary, measures that the frame lacks left out; None where it has no row."""
    if not len(frame):
        return None
    present = tuple(measure for measure in summary.measures if measure in frame)
    rows = summarise(frame, replace(summary, measures=present), seed=seed)
    return Table(name, rows, markdown_rows(rows), caption) if rows else None


def summarise(frame: pandas.DataFrame, summary: Summary, *, seed: int = 0) -> list[dict[str, Any]]:
    """Return a row per line of the table and measure, ready for CSV and JSON.

    Columns: those of `by`, and of settings that differ within the frame; measure; n, rows with a value; mean, low,
    high, with a 95 % interval, Wilson's for shares (values of 0 and 1, or 0 and 100), else, and for a net win rate, the
    bootstrap's; and where there is a baseline line: pairs, difference (the line minus its baseline), difference_low and
    _high, the paired 95 % bootstrap interval, p of `significance.paired_test`, and p_holm, corrected over `over`;
    printed, the paper's value. None where there is none. seed: of the resampling. ValueError for a measure or column
    that the frame lacks.
    """
    extra = [
        name for name in _SETTINGS if name in frame and name not in summary.by and frame[name].nunique(dropna=False) > 1
    ]
    by = [*summary.by, *extra]
    missing = {*by, *summary.pair, *summary.measures} - set(frame.columns)
    if missing:
        raise ValueError(f"results lack {sorted(missing)}: columns of the summary; they hold {list(frame.columns)}")
    lines: dict[tuple[Any, ...], Any] = {}
    for key, rows in frame.groupby(by, dropna=False, sort=False):
        lines[tuple(plain(value) for value in key)] = rows
    out = []
    for key in sorted(lines, key=lambda key: [(value is not None, str(type(value)), value) for value in key]):
        line = dict(zip(by, key, strict=True))
        base = lines.get(tuple((line | dict(summary.baseline))[name] for name in by))
        compared = None if base is lines[key] else base
        numbers = _measured(lines[key], compared, summary.measures, summary.pair, [seed, *key])
        for measure, found in zip(summary.measures, numbers, strict=True):
            printed = printed_value(summary.printed.get(measure), line)
            out.append(line | {"measure": measure} | found | {"printed": printed})
    holm_within(out, [name for name in [*by, "measure"] if name not in summary.over])
    return out


def _measured(
    rows: Any, base: Any, measures: Sequence[str], pair: Sequence[str], seed: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """Yield the numbers of each measure in one line: its mean, and its paired difference from the baseline's rows."""

    def rng(measure: str, what: str) -> np.random.Generator:
        # A generator of its own for each statistic, so that none depends on what else is computed.
        return np.random.default_rng(list(json.dumps([*seed, measure, what]).encode()))

    names = ("n", "mean", "low", "high", "pairs", "difference", "difference_low", "difference_high", "p", "p_holm")
    # Resampling goes by place: the order in which rows were stored must not matter.
    columns = list(dict.fromkeys([*pair, *measures]))  # answers are long, and there are many of them
    rows = rows[columns].sort_values(list(pair), kind="stable", ignore_index=True)
    pairs = None if base is None else _pairs(rows, base, measures, pair)
    for measure in measures:
        numbers: dict[str, Any] = dict.fromkeys(names)
        values = rows[measure].dropna().to_numpy(float)
        numbers["n"] = len(values)
        if len(values):
            interval = _interval(values, rng(measure, "mean"), measure not in _SIGNED)
            numbers |= {"mean": interval.mean, "low": interval.low, "high": interval.high}
        if pairs is not None:
            first, second = next(pairs)
            numbers["pairs"] = len(first) if len(values) else None
            if len(first):
                paired = paired_bootstrap_interval(first, second, rng(measure, "difference"))
                numbers |= {"difference": paired.mean, "difference_low": paired.low, "difference_high": paired.high}
                numbers["p"] = paired_test(first, second, rng(measure, "test"))
        yield numbers


def _pairs(
    rows: Any, base: Any, measures: Sequence[str], pair: Sequence[str]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the values of each measure in the pairs of rows that have one in both frames, in the first's order."""
    keys, others = rows[list(pair)], base[list(pair)].reset_index(drop=True)
    here, there = _places(keys, others)
    repeated = keys.duplicated().any() or others.duplicated().any()
    for measure in measures:
        present, compared = rows[measure].notna().to_numpy(), base[measure].notna().to_numpy()
        if repeated and present.any() and (keys[present].duplicated().any() or others[compared].duplicated().any()):
            known = " and ".join(pair)
            raise ValueError(f"results hold several rows of one {known} in one line: several runs are mixed")
        both = present[here] & compared[there]
        yield (
            rows[measure].to_numpy()[here[both]].astype(float),
            base[measure].to_numpy()[there[both]].astype(float),
        )


def _places(one: Any, other: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the rows that two frames share, in the order of the first."""
    places = one.assign(_here=np.arange(len(one))).merge(other.assign(_there=np.arange(len(other))), on=list(one))
    return places["_here"].to_numpy(), places["_there"].to_numpy()


def _interval(values: NDArray[np.float64], rng: np.random.Generator, share: bool = True) -> Interval:
    """Return the mean with its 95 % interval: Wilson's for a share, in whatever unit, else the bootstrap's."""
    unit = values.max()
    if share and unit in (1.0, 100.0) and np.isin(values, (0.0, unit)).all():
        return Interval(*(unit * number for number in share_interval(int((values == unit).sum()), values.size)))
    return bootstrap_interval(values, rng)


def plain(value: Any) -> Any:
    """Return a column's value as JSON has it: None for missing, and no NumPy scalars."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value


def markdown_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a summary for reading: a row per line of the table, a column per measure, differences in brackets.

    "0.50 (+0.10 [+0.02, +0.19], p 0.031)": mean, difference to the baseline with its interval, Holm's p. Where all
    pairs differ by the same, a bootstrap has no width and knows nothing of other prompts: "(+0.10 in all 8, p 0.031)".
    """
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    start = list(rows[0]).index("measure") if rows else 0
    shown = any(row["printed"] is not None for row in rows)
    for row in rows:
        line = dict(list(row.items())[:start])
        out = table.setdefault(tuple(line.values()), {name: _shown(value) for name, value in line.items()} | {"n": 0})
        out["n"] = max(out["n"], row["n"])
        text = "-" if row["mean"] is None else f"{row['mean']:.3g}"
        if row["difference"] is not None:
            low, high = row["difference_low"], row["difference_high"]
            spread = f"in all {row['pairs']}" if low == high else f"[{low:+.2g}, {high:+.2g}]"
            text += f" ({row['difference']:+.2g} {spread}, p {row['p_holm']:.2g})"
        out[row["measure"]] = text
        if shown and any(other["printed"] is not None and other["measure"] == row["measure"] for other in rows):
            out[f"{row['measure']}, paper"] = row["printed"]
    return list(table.values())


def _shown(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value
