"""Compare RWS with confidence decoding on general prompts: the paper's Tables 1 and 5, Figure 5, and what they omit.

For every reward, test prompts are decoded at the scale that validation prompts chose. Every answer is scored by every
reward model and judge. These files go below OUT/reward-bench, besides the units' parts and `selection.json|csv`:

- `win_rates`: each method against confidence in the judgement of its own reward (Table 1), and its GOD; `others_net`,
  the mean over all other reward models of the net win rate, which Table 1 leaves out;
- `mean_win_rates`: means over the rewards (Figure 5), of own and other judges;
- `god_quintiles`: win rates by fifth of GOD (Table 5), and `god_trends`: tests for trend.

Differences are to rws on the same prompts, with paired intervals. Their p is that of the sign-flip
permutation test, corrected over the reward models by Holm's method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from paper_figures.statistics.means import BRACKETS, against_rws, plain, readable, summary_table
from paper_figures.statistics.significance import holm_within
from paper_figures.statistics.win_rates import quintile_rates
from paper_figures.studies.answers import answers_of, by_judge, judged_by_guide, printed_tables
from paper_figures.studies.comparison import run_comparison
from paper_figures.studies.options import ComparisonOptions, Drawn, Usual
from paper_figures.table import Table
from rws_decode.common.later import pd, stats

NAME = "reward-bench"


@dataclass(frozen=True)
class RewardBenchOptions(ComparisonOptions):
    """The options of `experiment reward-bench`."""

    data: str = Usual("stories:all")
    prompts: int = Drawn(40)


LEAST_OF_FIFTHS = 25  # prompts: of fewer, a fifth holds less than five


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

    first = against_rws((*shares, "own_score", "god_tokens", "god_steps", "cost"), "example", "turn")
    # A mean over several scales of one reward would describe no method.
    scale_columns = ["reward_scale"] if judged.groupby("guide")["reward_scale"].nunique().max() > 1 else []
    by, over = (*scale_columns, "relation", "method"), tuple(scale_columns)
    means = replace(first, measures=("win", "draw", "loss", "net"), by=by, over=over)
    grouped = judged.groupby([*scale_columns, "relation", "method", "example", "turn"])
    averaged = grouped[shares[:4]].mean().mul(100).assign(cells=grouped.size()).reset_index()
    # A prompt is dropped if a reward or a judge failed on it: its means would be over fewer values.
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
    study_tables += fifths_tables(by_guide)
    return [table for table in study_tables if table is not None] + printed_tables(
        "table1_win_rate", "table5_god_quintiles"
    )


def fifths_tables(judged: pd.DataFrame) -> list[Table]:
    """Return god_quintiles and god_trends of rows of `judged_by_guide`; none if no answer of RWS was judged.

    The caption of god_trends says so where prompts are fewer than `LEAST_OF_FIFTHS`, and no fifths are made.
    """
    guided = judged[judged["method"] == "rws"]
    if not len(guided):
        return []
    fifths, trends = [], []
    for (guide, scale), rows in guided.groupby(["guide", "reward_scale"]):
        god, net = rows["god_tokens"].to_numpy(float), rows["net"].to_numpy(float)
        name = {"guide": guide, "reward_scale": scale}
        rates = quintile_rates(god, net) if len(rows) >= LEAST_OF_FIFTHS else ()
        for fifth, (n, span, rate) in enumerate(rates, start=1):
            line = name | {"fifth": fifth, "n": n}
            line |= dict(zip(("god_low", "god_high"), span or (None, None), strict=True))
            line |= dict(zip(("win", "win_low", "win_high"), rate.win if rate else (None,) * 3, strict=True))
            fifths.append(line | {key: rate and getattr(rate, key).mean for key in ("draw", "loss")})
        tau, p = stats.kendalltau(god, net) if len(rows) > 1 else (None, None)  # NaN of what does not vary
        trends.append(name | {"n": len(rows), "tau": plain(tau), "p": plain(p)})
    holm_within(trends, ())
    quintiles = Table(
        "god_quintiles",
        fifths,
        readable(fifths),
        "Shares of prompts on which RWS wins over the default in its guide's judgement, by fifth of GOD in tokens "
        "(Table 5). Equal GOD is in one fifth; in brackets Wilson's 95 % interval.",
    )
    few = f"Fifths of GOD are left out: {min(row['n'] for row in trends)} prompts, {LEAST_OF_FIFTHS} are needed. "
    return [
        *([quintiles] if fifths else []),
        Table(
            "god_trends",
            trends,
            readable(trends),
            ("" if fifths else few)
            + "Does the win rate rise with GOD over prompts: Kendall's tau-b of GOD and outcome with its p, corrected "
            "over guides by Holm's method. An association over prompts is no effect of order: prompts differ.",
        ),
    ]
