"""Make the table of perplexities by an exact world and by a causal model, and of how far the two agree."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.statistics.intervals import Interval, clustered_interval, mean_interval, share_interval
from paper_figures.studies.summaries.means import readable
from paper_figures.table import Table

NAME = "perplexity"
BY = {"causal": "log_perplexity", "world": "world_nll"}
_CAPTION = (
    "Perplexity: exp of the mean over texts of nats per token, by the causal model, and per word, by the exact world, "
    "given the prompt and without an end of text. n and world_n: texts that each can read. causal and world: the mean "
    "difference in nats from the default on the same prompts, with its interval over prompts, and clustered: over "
    "addresses. agree: the share of prompts, of those with another text than the default's, where both find the same "
    "one of the two texts likelier. Intervals are of 95 %."
)


def perplexity_table(frame: pd.DataFrame, seed: int = 0) -> Table | None:
    """Return a row for each method of each world, the default first; None where no world is exact."""
    rows = []
    for world, own in frame[frame["world_nll"].notna() | frame["log_perplexity"].notna()].groupby("predictor"):
        default = own[own["method"] == "default"].set_index("prompt")
        if own["world_nll"].notna().any():
            rows += [_row(str(world), method, of, default, seed) for method, of in own.groupby("method", sort=False)]
    return Table(NAME, rows, readable(rows), _CAPTION) if rows else None


def _row(world: str, method: Any, own: pd.DataFrame, default: pd.DataFrame, seed: int) -> dict[str, Any]:
    own = own.set_index("prompt").sort_index()
    row: dict[str, Any] = {"predictor": world, "method": method}
    row |= {"n": int(own["log_perplexity"].notna().sum()), "world_n": int(own["world_nll"].notna().sum())}
    changes = own[[*BY.values()]] - default.loc[own.index, [*BY.values()]]
    for name, column in BY.items():
        values = own[column].dropna().to_numpy(float)
        found = mean_interval(values, np.random.default_rng(seed)) if len(values) else None
        row |= _ends(f"{name}_perplexity", None if found is None else Interval(*map(math.exp, found)))
    for name, column in BY.items():
        change = changes[column].dropna()
        known = method != "default" and len(change) > 0
        values, groups = change.to_numpy(float), own.loc[change.index, "address"].to_numpy(str)
        row |= _ends(name, mean_interval(values, np.random.default_rng(seed)) if known else None)
        row |= _ends(f"{name}_clustered", clustered_interval(values, groups) if known else None)
    other = changes[own["text"] != default.loc[own.index, "text"]].dropna()
    signs = np.sign(other.to_numpy(float))
    same = int((signs[:, 0] == signs[:, 1]).sum())
    row["differ"] = len(other)
    return row | _ends("agree", share_interval(same, len(other)) if len(other) else None)


def _ends(name: str, found: Interval | None) -> dict[str, float | None]:
    """Return an interval as columns; an end that is not finite is None."""
    values = (None, None, None) if found is None else (end if math.isfinite(end) else None for end in found)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))
