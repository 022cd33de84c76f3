"""Test whether order or reward brings the wins (the paper's Section "Attribution of Performance Gains").

The paper splits the answers of RWS into fifths by GOD and finds more wins in the upper fifths (Table 5). That compares
different prompts, which differ in more than GOD; `statistics.trend` says what it cannot show. So RWS is also compared
with each control on the same prompts, with the difference in GOD taken out (`partial_effect`). What remains is the
effect of the reward.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.statistics.god_quintiles import quintile_rates
from paper_figures.statistics.intervals import Interval
from paper_figures.statistics.partial_effect import partial_effect
from paper_figures.statistics.significance import holm_within
from paper_figures.statistics.trend import trend_test
from paper_figures.studies.summaries.means import readable
from paper_figures.table import Table


def attribution_tables(judged: pd.DataFrame, seed: int) -> list[Table]:
    """Return the tables god_quintiles, god_trends and reward_at_equal_god; none if no answer of RWS was judged.

    `judged` holds rows of `answers.judged_by_guide`. `seed` seeds the resampling.
    """
    guided = judged[judged["method"] == "rws"]
    if not len(guided):
        return []
    fifths, trends = [], []
    for (guide, scale), rows in guided.groupby(["guide", "reward_scale"]):
        rows = rows.sort_values(["example", "turn"], kind="stable")
        god, net = rows["god_tokens"].to_numpy(float), rows["net"].to_numpy(float)
        rng = np.random.default_rng([seed, *f"{guide} {scale!r}".encode()])
        trend = trend_test(god, net, rng)
        name = {"guide": guide, "reward_scale": scale}
        for fifth, (n, span, rate) in enumerate(quintile_rates(god, net), start=1):
            low, high = span or (None, None)
            line = name | {"fifth": fifth, "n": n, "god_low": low, "god_high": high}
            line |= _ends("win", None if rate is None else rate.win)
            line |= {key: None if rate is None else getattr(rate, key).mean for key in ("draw", "loss")}
            fifths.append(line)
        line = name | {"n": trend.n, "status": trend.status, "tau": trend.tau, "p": trend.p}
        trends.append(line | _ends("slope", trend.slope))
    holm_within(trends, ())
    equal = list(_equal_god(judged, seed))
    holm_within(equal, ("control", "outcome"))
    tables = [
        Table(
            "god_quintiles",
            fifths,
            readable(fifths),
            "Shares of prompts on which RWS wins over the default in its guide's judgement, by fifth of GOD in tokens "
            "(Table 5). Equal GOD is in one fifth; in brackets Wilson's 95 % interval.",
        ),
        Table(
            "god_trends",
            trends,
            readable(trends),
            "Does the win rate rise with GOD over prompts: Kendall's tau-b of GOD and outcome with its permutation p, "
            "corrected over guides by Holm's method; slope, share of wins per fifth, with its 95 % interval. An "
            "association over prompts is no effect of order: prompts differ.",
        ),
        Table(
            "reward_at_equal_god",
            equal,
            readable(equal),
            "RWS minus a control on the same prompts. Difference: of the mean outcome (net: won minus lost against the "
            "default; score: the guide's, normalised); GOD difference, in tokens; alpha: the outcome's difference at "
            "equal GOD, by least squares on the difference in GOD, beta: per token of GOD; 95 % intervals; "
            "p of alpha by flipping pairs, corrected over guides by Holm's method.",
        ),
    ]
    return [table for table in tables if table.rows]


def _equal_god(judged: pd.DataFrame, seed: int) -> Iterator[dict[str, Any]]:
    keys = ["guide", "reward_scale", "example", "turn"]
    outcomes = {"net": "net", "score": "normalised_score"}
    columns = [*keys, "god_tokens", *outcomes.values()]
    guided = judged[judged["method"] == "rws"][columns]
    for control in sorted(set(judged["method"]) - {"rws"}):
        other = judged[judged["method"] == control][columns]
        both = guided.merge(other, on=keys, suffixes=("", "_control"), validate="1:1")
        for (guide, scale), rows in both.groupby(["guide", "reward_scale"]):
            rows = rows.sort_values(["example", "turn"], kind="stable")
            for outcome, column in outcomes.items():
                rng = np.random.default_rng([seed, *f"{guide} {scale!r} {control} {outcome}".encode()])
                guided_values, other, *orders = (
                    rows[name].to_numpy(float)
                    for name in (column, f"{column}_control", "god_tokens", "god_tokens_control")
                )
                effect = partial_effect(guided_values, other, orders[0], orders[1], rng)
                line = {"guide": guide, "reward_scale": scale, "control": control, "outcome": outcome, "n": effect.n}
                line |= {"status": effect.status} | _ends("difference", effect.difference)
                line |= _ends("god_difference", effect.god_difference) | _ends("alpha", effect.alpha)
                yield line | _ends("beta", effect.beta) | {"p": effect.p}


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    mean, low, high = (None, None, None) if interval is None else interval
    return {name: mean, f"{name}_low": low, f"{name}_high": high}
