"""Compare RWS with the default on general prompts: Tables 1 and 5 and Figure 5 of the paper, and what they leave out.

Every guide decodes the test prompts at the reward scale that validation prompts chose for it. Every answer is scored by
every guide and judge. These files go below OUT/reward-bench, besides the units' parts and `selection.json|csv`:

- `win_rates`: each method against the default in the judgement of its own guide (Table 1), and its GOD; `others_net`,
  the mean over all other reward models of the net win rate, which Table 1 leaves out;
- `mean_win_rates`: means over the guides (Figure 5), of own and other judges;
- `god_quintiles`: win rates by fifth of GOD (Table 5), `god_trends`: tests for trend, and `reward_at_equal_god`: what
  the reward adds where GOD is equal.

Differences are to rws on the same prompts, with paired intervals. Their p is that of the sign-flip
permutation test, corrected over the reward models by Holm's method.
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
from paper_figures.studies.design.comparison import run_comparison
from paper_figures.studies.options import RewardBenchOptions
from paper_figures.studies.summaries.answers import answers_of, by_judge, judged_by_guide
from paper_figures.studies.summaries.means import BRACKETS, Summary, readable, summary_table
from paper_figures.studies.summaries.printed import printed_tables
from paper_figures.table import Table

NAME = "reward-bench"


def run(options: RewardBenchOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    return run_comparison(options, NAME, tables)


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the tables of the study from its rows."""
    answers = answers_of(frame)
    judged = by_judge(answers) if len(answers) else answers
    if not len(judged):
        return []
    by_guide = judged_by_guide(answers)
    shares = ["win", "draw", "loss", "net", "others_net"]
    percent = by_guide.assign(**{share: 100 * by_guide[share] for share in shares})

    shared: dict[str, Any] = {"baseline": {"method": "rws"}, "pair": ("example", "turn")}
    first = Summary(
        (*shares, "own_score", "god_tokens", "god_steps", "cost"),
        ("guide", "reward_scale", "method"),
        over=("guide", "reward_scale"),
        **shared,
    )
    # A mean over several scales of one guide would describe no method.
    scale_columns = ["reward_scale"] if judged.groupby("guide")["reward_scale"].nunique().max() > 1 else []
    means = Summary(
        ("win", "draw", "loss", "net"), (*scale_columns, "relation", "method"), over=tuple(scale_columns), **shared
    )
    grouped = judged.groupby([*scale_columns, "relation", "method", "example", "turn"])
    averaged = grouped[shares[:4]].mean().mul(100).assign(cells=grouped.size()).reset_index()
    # A prompt is dropped if a guide or a judge failed on it: its means would be over fewer values.
    averaged = averaged[averaged["cells"] == averaged.groupby([*scale_columns, "relation"])["cells"].transform("max")]
    study_tables = [
        summary_table(
            "win_rates",
            "Each method against the default on the same prompts, judged by its guide: percent of prompts won, drawn, "
            "lost; net: won minus lost; others_net: the mean net of all other reward models; own_score is raw; GOD is "
            f"that of the method. {BRACKETS.format('prompts')}.",
            percent,
            first,
            seed,
        ),
        summary_table(
            "mean_win_rates",
            f"Means over {judged['guide'].nunique()} guides, prompt by prompt, in percent (Figure 5): own, judged by "
            "the guide; other, by all other reward models. In brackets the difference to rws, its interval and p, not "
            "corrected for several reward models, as there is one mean.",
            averaged,
            means,
            seed,
        ),
    ]
    study_tables += attribution_tables(by_guide, seed)
    return [table for table in study_tables if table is not None] + printed_tables(
        "table1_win_rate", "table5_god_quintiles"
    )


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
