"""Group answers into the lines of a table and pair them by prompt, for numbers that are not means over prompts.

`means.summarise` makes tables of means. The functions here serve tables of ratios, pooled numbers and sets of texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.statistics.totals import Statistic, TotalsComparison, compare_totals, mean_of
from paper_figures.studies.summaries.answers import SETTINGS
from paper_figures.studies.summaries.means import place_of, plain

LINE = ("guide", "reward_scale", "method")
PAIR = ("example", "turn")


def settings_of(frame: pd.DataFrame) -> list[str]:
    """Return the settings in which the rows of a frame differ: rows that differ in one are never compared."""
    return [name for name in SETTINGS if name in frame and frame[name].nunique(dropna=False) > 1]


def lines_of(
    frame: pd.DataFrame, by: Sequence[str] = LINE, reference: str = "default"
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield (values, rows) for each combination of `by` and of the settings that differ.

    Lines are sorted by their values in turn, those of the method `reference` before those of other methods. The rows
    are sorted by `PAIR`, so their order in the frame does not matter. Missing values are None.
    """
    columns = list(dict.fromkeys([*by, *settings_of(frame)]))
    groups = {}
    for key, rows in frame.groupby(columns, dropna=False, sort=False):
        groups[tuple(plain(value) for value in key)] = rows.sort_values(list(PAIR), kind="stable", ignore_index=True)

    lines = [(dict(zip(columns, key, strict=True)), rows) for key, rows in groups.items()]
    yield from sorted(lines, key=lambda line: place_of(line[0], {"method": reference}))


def aligned(first: pd.DataFrame, second: pd.DataFrame, columns: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `columns` of both frames on the prompts where both have a value in each, in the same order."""
    kept = [rows.set_index(list(PAIR))[list(columns)].dropna().sort_index() for rows in (first, second)]
    both = kept[0].index.intersection(kept[1].index)
    return kept[0].loc[both], kept[1].loc[both]


def totals(rows: pd.DataFrame, columns: Sequence[str]) -> list[Any]:
    """Return columns of numbers; a single one gets a column of ones beside it, as the statistic of a mean needs."""
    numbers = [rows[name].to_numpy(float) for name in columns]
    return numbers if len(numbers) > 1 else [*numbers, np.ones(len(rows))]


def comparisons(
    lines: Sequence[tuple[dict[str, Any], pd.DataFrame]],
    columns: Sequence[str],
    seed: int,
    *name: str,
    statistic: Statistic = mean_of,
    reference: str = "default",
) -> Iterator[TotalsComparison | None]:
    """Yield, for each line of `lines_of`, how a statistic of its totals compares with that of the reference's line.

    The reference's line is that of its method, and otherwise the same. None where there is no such line, where it is
    the line itself, or where no prompt has a value in both. `name` is that of the statistic, for its generator.
    """
    bases = {str(line | {"method": None}): rows for line, rows in lines if line["method"] == reference}
    for line, rows in lines:
        base = bases.get(str(line | {"method": None}))
        pair = () if base is None or line["method"] == reference else aligned(rows, base, columns)
        if pair and len(pair[0]):
            yield compare_totals(statistic, *(totals(part, columns) for part in pair), rng_for(seed, line, *name))
        else:
            yield None


def over_guides(answers: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the means of columns over the guides, for each prompt and method; `guide` is "all".

    A prompt is left out if some guide has no answer to it. If guides have several reward scales, each scale is averaged
    by itself. Otherwise `reward_scale` is None, because every guide has its own.
    """
    several = answers.groupby("guide")["reward_scale"].nunique().max() > 1
    keys = [*settings_of(answers), *(["reward_scale"] if several else []), "method", *PAIR]
    groups = answers.groupby(keys, dropna=False)
    means = groups[list(columns)].mean()
    complete = means[groups["guide"].nunique() == answers["guide"].nunique()].reset_index()
    return complete.assign(guide="all") if several else complete.assign(guide="all", reward_scale=None)


def rng_for(seed: int, line: Mapping[str, Any], *statistic: Any) -> np.random.Generator:
    """Return a generator for one statistic, so that it does not depend on what else is computed."""
    return np.random.default_rng(list(json.dumps([seed, *line.values(), *statistic]).encode()))
