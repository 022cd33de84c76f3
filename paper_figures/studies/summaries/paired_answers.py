"""Group answers into the lines of a table and pair them by prompt, for numbers that are not means over prompts.

`means.summarise` makes tables of means. The functions here serve tables of ratios, pooled numbers and sets of texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.studies.summaries.answers import SETTINGS
from paper_figures.studies.summaries.means import plain

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

    def place(key: tuple[Any, ...]) -> list[Any]:
        of_others = [name == "method" and value != reference for name, value in zip(columns, key, strict=True)]
        return [
            (other, value is not None, str(type(value)), value) for other, value in zip(of_others, key, strict=True)
        ]

    for key in sorted(groups, key=place):
        yield dict(zip(columns, key, strict=True)), groups[key]


def aligned(first: pd.DataFrame, second: pd.DataFrame, columns: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of both frames on the prompts that both have, in the same order.

    Rows without a value in one of `columns` are left out.
    """
    kept = [rows.dropna(subset=list(columns)).set_index(list(PAIR)).sort_index() for rows in (first, second)]
    both = kept[0].index.intersection(kept[1].index)
    return kept[0].loc[both], kept[1].loc[both]


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
