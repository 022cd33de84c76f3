"""Group answers into the lines of a table and pair them by prompt, for numbers that are not means over prompts.

`means.summarise` makes tables of means. The functions here serve tables of ratios and of sets of texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from paper_figures.statistics.intervals import Interval, ratio_interval
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.significance import paired_test
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
    parts = (rows[[*PAIR, *columns]] for rows in (first, second))
    kept = [rows.set_index(list(PAIR)).dropna().sort_index() for rows in parts]
    both = kept[0].index.intersection(kept[1].index)
    return kept[0].loc[both], kept[1].loc[both]


class Compared(NamedTuple):
    """A mean over the default's on the same prompts, None if that may be 0, and p of no difference.

    distinct: the number of distinct pairs of texts. Where it is below `pairs`, interval and p are over these.
    """

    ratio: Interval | None
    p: float
    pairs: int
    distinct: int


def comparisons(
    lines: Sequence[tuple[dict[str, Any], pd.DataFrame]], column: str, seed: int, name: str
) -> Iterator[Compared | None]:
    """Yield, for each line of `lines_of`, how the mean of a column compares with that of the default's line.

    The default's line is that of its method, and otherwise the same. None where there is no such line, where it is the
    line itself, or where no prompt has a value in both. `name` is that of the number, for its generator.
    """
    bases = {str(line | {"method": None}): rows for line, rows in lines if line["method"] == "default"}
    for line, rows in lines:
        base = bases.get(str(line | {"method": None}))
        texts = ["text"] if "text" in rows else []
        pair = () if base is None or line["method"] == "default" else aligned(rows, base, [column, *texts])
        if pair and (n := len(pair[0])):
            of = text_pairs(*(part["text"] for part in pair)) if texts else np.arange(n)
            # Prompts with the same two texts are one, with the sum of their values.
            first, second = (np.bincount(of, weights=part[column].to_numpy(float)) for part in pair)
            rng = rng_for(seed, line, name)
            yield Compared(ratio_interval(first, second, rng), paired_test(first, second, rng), n, first.size)
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
