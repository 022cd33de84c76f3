"""Compare temperature with reward on keyword prompts: the paper's scaling table and its keyword figure.

The table is that of the Appendix "Full Results of Softmax Temperature Scaling". Here controls tell a reward's effect
from that of its factor. The methods are:

- those of `paper_figures.studies.design.arms` at every reward scale s_R of the grid;
- `temperature`, the constant factor c, at every c of the same grid;
- `temperature-bf16`, the same ranked by softmax in bfloat16 as public decoders do.

The last two differ by rounding alone. Temperature at c stands beside RWS at s_R = c.

These files go below OUT/temperature, besides the units' parts, which keep the traces of default, temperature and rws:
`summary.csv|md`, a row per method and scale, and `controls.csv|md`, rws minus each other method on the same prompts.
`paper_figures.studies.summaries.temperature` says what the columns mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from paper_figures.runner.units import Unit
from paper_figures.studies.design.arms import Arms, answer_unit, measures_of, run_arms
from paper_figures.studies.design.asked import one_turn
from paper_figures.studies.design.comparison import arms_from, run_comparison
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.stages import Stages
from paper_figures.studies.options import TEMPERATURES, TemperatureOptions
from paper_figures.studies.summaries.answers import SETTINGS
from paper_figures.studies.summaries.printed import printed_tables
from paper_figures.studies.summaries.temperature import METRICS, answers_table, compare, summarise
from paper_figures.table import Table

NAME = "temperature"

TRACED = ("default", "temperature", "rws")
_SUMMARY = (
    "Perplexity: mean over texts under the causal model, given the prompt, with a 95 % interval; pooled: "
    "over all tokens. True perplexity: that of the language itself, over the n coherent answers only, as an incoherent "
    "one has probability zero. Coherent: share, Wilson 95 % interval. Keywords: mean number used. Exact: minus the "
    "rules broken."
)
_COMPARED = (
    "Mean difference over the same prompts, rws minus the other method at the same scale (default and margin: their "
    "one run), with its paired 95 % interval, and p of the sign-flip permutation test, corrected over guides "
    "and scales by Holm's method."
)


def run(options: TemperatureOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    return run_comparison(options, NAME, tables, _run_stages, one_turn)


def _run_stages(options: TemperatureOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:

    scales = tuple(options.reward_scale or ())
    arms = replace(arms_from(options, base, prompts, dict.fromkeys(options.rewards, scales)), traced=TRACED)
    methods = [method for method in TEMPERATURES if method in options.methods]
    frames = [stages.run(method, temperature_units(arms, method, scales)) for method in methods]
    run_arms(arms, stages)
    answers = pd.concat(frames) if frames else pd.DataFrame()
    measures = measures_of(base, answers, arms.scorers, arms.causal) if len(answers) else []
    stages.run("temperature measures", measures)


def temperature_units(arms: Arms, method: str, scales: Sequence[float]) -> list[Unit]:
    """Return the units of `temperature`, or of `temperature-bf16`, at every scale."""
    base = arms.base_of(method)
    if method == "temperature-bf16":
        base = replace(base, ranking="probability", precision="bfloat16")
    labels = {"method": method}
    return [
        answer_unit(base, prompt, "temperature", labels=labels, numbers={"scale": scale})
        for scale in scales
        for prompt in arms.prompts
    ]


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's tables from its rows."""
    answers = answers_table(frame)
    if not len(answers):
        return []
    # The methods of one run differ in their ranking. Other settings separate runs that share a folder.
    by = [name for name in SETTINGS if name in answers and name not in ("ranking", "precision")]
    varied = [name for name in by if answers[name].nunique(dropna=False) > 1]
    summary: list[dict[str, Any]] = []
    controls: list[dict[str, Any]] = []
    for _, rows in answers.groupby(by, dropna=False):
        settings = {name: rows[name].tolist()[0] for name in varied}
        summary += [settings | line for line in summarise(rows, seed)]
        controls += [settings | line for line in compare(rows, seed)]
    study_tables = [Table("summary", summary, _shown_summary(summary), _SUMMARY)]
    study_tables += [Table("controls", controls, _shown_controls(controls), _COMPARED)] if controls else []
    return study_tables + printed_tables("table8_temperature")


def _shown_summary(summary: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Format the summary for reading, with each mean and its interval in one column."""
    several = len({row["guide"] for row in summary}) > 1
    return [
        {
            **_before(row, "method"),
            "method": row["method"],
            **({"guide": row["guide"]} if several else {}),
            "scale": None if row["scale"] is None else f"{row['scale']:g}",
            "n": row["n"],
            "perplexity": _interval(row, "perplexity"),
            "pooled": _number(row["perplexity_pooled"]),
            "true perplexity": None
            if row["true_perplexity"] is None
            else f"{row['true_perplexity']:.2f} (n = {row['true_perplexity_n']})",
            "coherent": _interval(row, "coherent"),
            "GOD tokens": _number(row["god_tokens"]),
            "GOD steps": _number(row["god_steps"]),
            "keywords": _number(row["keywords_included"]),
            "reward": _number(row["reward"]),
            "judge": _number(row["judge"]),
            "exact": _number(row["exact"]),
            "mean factor": f"{row['mean_factor']:.3g}",
            "cost": f"{row['cost']:g}",
        }
        for row in summary
    ]


def _shown_controls(controls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Format the comparisons for reading: one row per control, guide and scale, a column per metric."""
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    several = len({row["guide"] for row in controls}) > 1
    metrics = [metric for metric in METRICS if any(row["metric"] == metric for row in controls)]
    for row in controls:
        start = _before(row, "control") | {"rws minus": row["control"]} | ({"guide": row["guide"]} if several else {})
        start |= {"scale": f"{row['scale']:g}"}
        line = table.setdefault(tuple(start.values()), start | dict.fromkeys(metrics))
        line[row["metric"]] = f"{row['difference']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}], p {row['p_holm']:.2g}"
        line["same text"] = f"{100 * row['same_text']:.0f} %"
    return list(table.values())


def _before(row: Mapping[str, Any], column: str) -> dict[str, Any]:
    """Return the items that stand before a column: the settings in which runs differ."""
    return dict(list(row.items())[: list(row).index(column)])


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _interval(row: Mapping[str, Any], field: str) -> str | None:
    if row[field] is None:
        return None
    return f"{row[field]:.2f} [{row[f'{field}_low']:.2f}, {row[f'{field}_high']:.2f}]"
