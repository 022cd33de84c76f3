"""Make tables of means: measures grouped by columns, compared with a baseline on the same prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_figures.statistics.intervals import (
    Interval,
    bootstrap_interval,
    clustered_interval,
    nearly_equal,
    paired_bootstrap_interval,
    share_interval,
)
from paper_figures.statistics.paired_proportions import net_share, paired_share_difference
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.significance import holm_within, paired_test, spread_text
from paper_figures.table import Brief, Table
from rws_decode.common.later import pd

# A table is split by each of these settings in which its results differ.
_SETTINGS = (
    *("predictor", "reward", "length", "steps", "block", "ranking", "precision", "sampling_temperature", "device"),
    *("reward_cost", "study_seed"),
)
_CLEAR = 0.05  # a smaller p is marked
BRACKETS = (
    "In brackets the mean difference to rws of the same guide on the same {}, its paired 95 % interval, and p of the "
    "sign-flip permutation test, corrected over the reward models by Holm's method"
)
# Wins minus losses are not shares, even if nothing was lost: Wilson's interval would exclude 0 after a single win.
_SIGNED = frozenset({"net", "others_net"})
_AGAINST = _SIGNED | {"win", "draw", "loss"}  # what each answer is against that of confidence
_UNITS = (1.0, 100.0)  # of shares: as such, or in percent


@dataclass(frozen=True)
class Summary:
    """A table of means: one line per combination of the columns `by`, each measure with its paired difference.

    `measures` are numeric or boolean columns. `baseline` gives values for some of the columns `by`. A line is compared
    with the line that has these values and otherwise its own, on the rows that agree in the columns `pair`. Holm's
    correction is made over the columns `over`, while the others are equal.
    """

    measures: tuple[str, ...]
    by: tuple[str, ...] = ("strategy", "scale")
    baseline: Mapping[str, Any] = field(default_factory=lambda: {"strategy": "default", "scale": None})
    pair: tuple[str, ...] = ("example", "prompt", "seed")
    over: tuple[str, ...] = ("scale",)


def against_rws(measures: Sequence[str], *pair: str) -> Summary:
    """Return the summary of every method against rws, by reward and reward scale, with one correction over these."""
    by = ("guide", "reward_scale")
    return Summary(tuple(measures), (*by, "method"), {"method": "rws"}, pair, by)


def summary_for(frame: pd.DataFrame) -> Summary:
    """Return a summary of every numeric column of the rows, for an experiment that has no tables of its own."""
    start = list(frame.columns).index("strategy_json") + 1
    return Summary(tuple(name for name in frame.columns[start:] if frame[name].dtype.kind in "bif"))


def summary_table(name: str, caption: str, frame: pd.DataFrame, summary: Summary, seed: int = 0) -> Table | None:
    """Return the table of a summary; None if it has no row.

    Measures that the frame lacks are left out. The caption is as in `means_table`.
    """
    if not len(frame):
        return None
    present = tuple(measure for measure in summary.measures if measure in frame)
    rows = summarise(frame, replace(summary, measures=present), seed=seed)
    return means_table(name, caption, rows, summary.baseline) if rows else None


def summarise(frame: pd.DataFrame, summary: Summary, *, seed: int = 0) -> list[dict[str, Any]]:
    """Return one row per line of the table and measure, ready for CSV and JSON.

    The columns are:

    - those of `by`, and the settings that differ within the frame; the baseline stands before what is compared with it;
    - `measure`; `n`, the number of rows with a value;
    - `mean`, with its 95 % interval from `low` to `high`;
    - if there is a baseline line: `pairs`, and `distinct`, the number of distinct pairs of texts, where rows have a
      `text`; `difference`, the line minus its baseline; its paired 95 % bootstrap interval, `difference_low` and
      `difference_high`; `p` of `significance.paired_test`; `p_holm`, corrected over `over`.

    Where pairs of texts repeat, prompts with the same pair are one cluster of the difference's interval and test. So
    are those with the same text and `default_text`, that of confidence, in the interval of a net win rate.

    The interval of a mean is Wilson's for shares (values of 0 and 1, or 0 and 100), Tango's for a net win rate, and
    otherwise the bootstrap's. A net win rate that is compared with one of 0 in every prompt, such as confidence,
    keeps its interval: both are one comparison. A value that does not exist is None. `seed` seeds the resampling.
    ValueError is raised for a measure or column that the frame lacks.
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
    for key in sorted(lines, key=lambda key: place_of(dict(zip(by, key, strict=True)), summary.baseline)):
        line = dict(zip(by, key, strict=True))
        base_key = tuple((line | dict(summary.baseline))[name] for name in by)
        compared = None if base_key == key else lines.get(base_key)
        seeds = [seed, *key], [seed, *base_key]
        numbers = _measured(lines[key], compared, summary.measures, summary.pair, seeds)
        for measure, values in zip(summary.measures, numbers, strict=True):
            out.append(line | {"measure": measure} | values)
    holm_within(out, [name for name in [*by, "measure"] if name not in summary.over])
    return out


def place_of(line: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[Any]:
    """Return what lines are sorted by: their values in turn, those of the baseline first."""
    return [
        (name in baseline and value != baseline[name], value is not None, str(type(value)), value)
        for name, value in line.items()
    ]


def _measured(
    rows: Any, base: Any, measures: Sequence[str], pair: Sequence[str], seeds: tuple[Sequence[Any], Sequence[Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the numbers of each measure in one line: its mean, and its paired difference from the baseline's rows.

    `seeds` are those of the line and of its baseline.
    """

    def rng(measure: str, statistic: str, seed: Sequence[Any] = seeds[0]) -> np.random.Generator:
        # Each statistic has its own generator, so that none depends on what else is computed.
        return np.random.default_rng(list(json.dumps([*seed, measure, statistic]).encode()))

    def difference(measure: str, first: NDArray[np.float64], second: NDArray[np.float64]) -> Interval:
        # A net win rate less one of 0 in every prompt is that rate, so it has the interval of its mean.
        if measure in _SIGNED and not second.any():
            return _interval(first, rng(measure, "mean"), share=False)
        if measure in _SIGNED and not first.any():
            net = _interval(second, rng(measure, "mean", seeds[1]), share=False)
            return Interval(*(0.0 - end for end in (net.mean, net.high, net.low)))
        return _difference(first, second, rng(measure, "difference"))

    names = ("n", "mean", "low", "high", "pairs", "distinct", "difference", "difference_low", "difference_high")
    names += ("p", "p_holm")
    # Resampling draws row numbers, so rows are sorted: the order in which they were stored must not matter.
    texts = [name for name in ("text", "default_text") if name in rows]
    columns = list(dict.fromkeys([*pair, *measures, *texts]))  # answers are long, and there are many of them
    rows = rows[columns].sort_values(list(pair), kind="stable", ignore_index=True)
    for measure in measures:
        numbers: dict[str, Any] = dict.fromkeys(names)
        values = rows[measure].dropna().to_numpy(float)
        numbers["n"] = len(values)
        if len(values):
            interval = _interval(values, rng(measure, "mean"), measure not in _SIGNED)
            if len(texts) == 2 and measure in _AGAINST:
                known = rows.dropna(subset=[measure])
                interval = over_pairs(values, text_pairs(known["text"], known["default_text"])) or interval
            numbers |= {"mean": interval.mean, "low": interval.low, "high": interval.high}
        if base is not None and len(values):
            first, second, groups = _pairs(rows, base, measure, pair)
            numbers["pairs"], numbers["distinct"] = len(first), len(set(groups)) if "text" in texts else None
            if len(first):
                paired = over_pairs(first - second, groups) or difference(measure, first, second)
                first, second = (np.bincount(groups, weights=values) for values in (first, second))
                numbers |= {"difference": paired.mean, "difference_low": paired.low, "difference_high": paired.high}
                numbers["p"] = paired_test(first, second, rng(measure, "test"))
        yield numbers


def _pairs(
    rows: pd.DataFrame, base: pd.DataFrame, measure: str, pair: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the values of a measure in the pairs of rows that have one in both frames, and their `text_pairs`.

    They are in the first's order. Rows without a `text` are one pair each.
    """
    texts = ["text"] if "text" in rows and "text" not in pair else []
    here, there = (frame[[*pair, *texts, measure]].dropna(subset=[measure]) for frame in (rows, base))
    try:
        both = here.merge(there, on=list(pair), suffixes=("", "_base"), validate="one_to_one")
    except pd.errors.MergeError as error:
        known = " and ".join(pair)
        raise ValueError(f"results hold several rows of one {known} in one line: several runs are mixed") from error
    groups = text_pairs(both["text"], both["text_base"]) if texts else np.arange(len(both))
    return both[measure].to_numpy(float), both[f"{measure}_base"].to_numpy(float), groups


def over_pairs(values: NDArray[np.float64], pairs: NDArray[np.int64]) -> Interval | None:
    """Return the mean with its 95 % interval over distinct pairs of texts; None where no pair repeats, or all do."""
    if not len(values) or pairs.max() + 1 == len(values):
        return None
    found, unit = clustered_interval(values, pairs), np.abs(values).max()
    if unit in _UNITS and np.isin(values, (-unit, 0.0, unit)).all():
        found = Interval(*np.clip(found, -unit if values.min() < 0 else 0.0, unit).tolist())
    return found if np.isfinite(found.low) and not nearly_equal(values) else None


def _interval(values: NDArray[np.float64], rng: np.random.Generator, share: bool = True) -> Interval:
    """Return the mean with its 95 % interval: Wilson's for a share and Tango's for a net rate, in any unit.

    Both have a width where all prompts agree. Other means have the bootstrap's interval.
    """
    unit = np.abs(values).max()
    if unit in _UNITS and share and np.isin(values, (0.0, unit)).all():
        return Interval(*(unit * number for number in share_interval(int((values == unit).sum()), values.size)))
    if unit in _UNITS and not share and np.isin(values, (-unit, 0.0, unit)).all():
        return Interval(*(unit * number for number in net_share(values / unit)))
    return bootstrap_interval(values, rng)


def _difference(first: NDArray[np.float64], second: NDArray[np.float64], rng: np.random.Generator) -> Interval:
    """Return the mean of first - second with its 95 % interval: Tango's where both are shares, else the bootstrap's."""
    unit = max(np.abs(first).max(), np.abs(second).max())
    if unit in _UNITS and np.isin([first, second], (0.0, unit)).all():
        return Interval(*(unit * number for number in paired_share_difference(first / unit, second / unit)))
    return paired_bootstrap_interval(first, second, rng)


def plain(value: Any) -> Any:
    """Return a column's value as JSON has it: None if it is missing, and a Python number for a NumPy scalar."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value


def means_table(name: str, caption: str, rows: Sequence[Mapping[str, Any]], baseline: Mapping[str, Any]) -> Table:
    """Return the table of what `summarise` returned: in full for its files, and brief for a terminal.

    The part of the caption from "In brackets" on is about differences, which a terminal shows as a mark.
    """
    about, brackets, _ = caption.partition(" In brackets ")
    note = repeated_texts((row["distinct"], row["pairs"]) for row in rows if row["distinct"] is not None)
    if brackets:
        reference = " ".join(str(value) for value in baseline.values() if value is not None)
        about += (
            f" A * marks a difference from {reference}, p < {_CLEAR} after Holm's correction; {name}.md has them all."
        )
    return Table(name, rows, _wide(rows, _with_difference), caption + note, Brief(about + note, _wide(rows, _marked)))


def repeated_texts(counts: Iterable[tuple[int, int]]) -> str:
    """Return the sentence that warns of repeated texts, from (distinct pairs of texts, prompts); empty if none repeats.

    >>> repeated_texts([(40, 40), (27, 40)])
    ' Texts repeat: 40 prompts gave only 27 distinct pairs of texts; intervals and p of differences are over these.'
    """
    fewest = min((count for count in counts if count[0] < count[1]), default=None)
    if fewest is None:
        return ""
    sentence = "prompts gave only {} distinct pairs of texts; intervals and p of differences are over these."
    return f" Texts repeat: {fewest[1]} {sentence.format(fewest[0])}"


def readable(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Format rows for reading: a number and its interval, NAME_low to NAME_high, are one cell; columns of None go.

    >>> readable([{"n": 3, "god": 0.5, "god_low": 0.25, "god_high": 0.75, "cpu": None}])
    [{'n': 3, 'god': '0.5 [0.25, 0.75]'}]
    """
    named = {name for row in rows for name, value in row.items() if value is not None}
    shown = []
    for row in rows:
        ends = {f"{name}_{end}" for name in row for end in ("low", "high")}
        out = {name: value for name, value in row.items() if name in named and name not in ends}
        for name, value in out.items():
            if value is not None and row.get(f"{name}_low") is not None:
                out[name] = f"{value:.3g} [{row[f'{name}_low']:.3g}, {row[f'{name}_high']:.3g}]"
        shown.append(out)
    return shown


def _wide(
    rows: Sequence[Mapping[str, Any]], text_of: Callable[[Mapping[str, Any]], str | None]
) -> list[dict[str, Any]]:
    """Return a row per line of the table, with a column per measure that holds its text."""
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    start = list(rows[0]).index("measure") if rows else 0
    for row in rows:
        line = dict(list(row.items())[:start])
        out = table.setdefault(tuple(line.values()), {name: _shown(value) for name, value in line.items()} | {"n": 0})
        out["n"] = max(out["n"], row["n"])
        out[row["measure"]] = text_of(row)
    return list(table.values())


def _with_difference(row: Mapping[str, Any]) -> str:
    """Return a mean, and in brackets its difference from the baseline with the interval and Holm's p (`spread_text`).

    "0.50 (+0.10 [+0.02, +0.19], p 0.031)"; "(+0.10 in all 8, p 0.031)" if all pairs differ by the same number, of which
    a bootstrap interval has no width and says nothing about other prompts.
    """
    text = "-" if row["mean"] is None else f"{row['mean']:.3g}"
    if row["difference"] is not None:
        low, high = row["difference_low"], row["difference_high"]
        spread = spread_text(row["distinct"] or row["pairs"], low, high, row["p_holm"], "+.2g").strip("()")
        text += f" ({row['difference']:+.2g} {spread})"
    return text


def _marked(row: Mapping[str, Any]) -> str | None:
    clear = row["p_holm"] is not None and row["p_holm"] < _CLEAR
    return None if row["mean"] is None else f"{row['mean']:.3g}{'*' if clear else ''}"


def _shown(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value
