"""The temperature experiment put together: a row per method and scale, and RWS against every other method.

Columns of the summary: `method`; `guide`, the reward model that it is about or compared under; `scale`, s_R or c
(default: 1; margin: none); `n`, answers. Means, those followed by `_low` and `_high` with a 95 % interval: `perplexity`
= exp(nll / tokens) under the causal model, the end of text counted (`perplexity_median`; `perplexity_pooled`, over all
tokens);
`true_perplexity`, by the exact log P(answer | prompt) of the language, over the `true_perplexity_n` coherent answers
only, as an incoherent one has probability zero, so read it with the share `coherent`; `god_tokens`, `god_steps`;
`exact`, minus the number of rules broken; `judge`, the raw score of the judge, or of several the mean of their
normalised ones: of those that guide nothing, else of the other guides; `reward`, the raw score of the guide;
`keywords_included`; `mean_factor`; `ended`, an end of text was committed; `ties`, over the steps; `reward_calls`,
`reward_calls_saved`; `cost`; `saturated_share`, of candidate positions those whose probability is 1.0 in the precision
of the ranking; `distinct_2`; `same_as_default`, share of equal texts; `paper_perplexity`, `paper_god`, as printed. None
where there is no value, as coherence is the story language's own.

Columns of the controls: `control`, `guide`, `scale`, `metric`, `n`; `rws` and `other`, the means; `difference`, rws
minus the other on the same prompts, with `low` and `high`, its paired 95 % bootstrap interval; `p` of the sign-flip
permutation test, `p_holm` corrected over guides and scales; `same_text`, share of equal texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paper_figures.statistics.causal_scores import AnswerScore, mean_perplexity, pooled_perplexity
from paper_figures.statistics.distinct_n import distinct_n
from paper_figures.statistics.intervals import Interval, bootstrap_interval, paired_bootstrap_interval, share_interval
from paper_figures.statistics.significance import holm_within, paired_test
from paper_figures.studies.summaries.printed import Printed, printed_value

if TYPE_CHECKING:
    import pandas

__all__ = [
    "CAPTION",
    "COMPARED",
    "CONTROLS_CAPTION",
    "METRICS",
    "compare",
    "controls_markdown_rows",
    "summarise",
    "summary_markdown_rows",
]

Row = Mapping[str, Any]

COMPARED = ("constant", "shuffled", "temperature", "default", "flipped", "random", "margin", "best-of-n")
METRICS = ("perplexity", "coherent", "exact", "reward", "judge", "god_tokens", "god_steps", "keywords_included")
CAPTION = (
    "Perplexity: mean over texts under the causal model, given the prompt, with a 95 % bootstrap interval; pooled: "
    "over all tokens. True perplexity: that of the language itself, over the n coherent answers only, as an incoherent "
    "one has probability zero. Coherent: share, Wilson 95 % interval. Keywords: mean number used. Exact: minus the "
    "rules broken. Saturated: share of candidate positions whose probability is 1.0 in the precision of the "
    "ranking. Paper: Table 8, of another model and other prompts."
)
CONTROLS_CAPTION = (
    "Mean difference over the same prompts, rws minus the other method at the same scale (default and margin: their "
    "one run), with its paired 95 % bootstrap interval, and p of the sign-flip permutation test, corrected over guides "
    "and scales by Holm's method."
)
_ORDER = (
    *("default", "margin", "temperature", "temperature-bf16", "rws"),
    *("constant", "shuffled", "flipped", "random", "best-of-n"),
)
_ONCE = ("default", "margin")  # no scale matters to them
_AVERAGED = (
    *("reward", "keywords_included", "mean_factor", "ended", "ties"),
    *("reward_calls", "reward_calls_saved", "cost"),
)
_PRINTED = {
    f"paper_{name}": Printed("table8_temperature", name, {"scale": "scale"}, {"method": "temperature"})
    for name in ("perplexity", "god")
}


def _rng(seed: int, *names: object) -> np.random.Generator:
    """Return a generator of its own for each statistic, so that none depends on what else is computed."""
    return np.random.default_rng([seed, *"-".join(map(str, names)).encode()])


def _cells(answers: pandas.DataFrame) -> dict[tuple[str, str, float], pandas.DataFrame]:
    """Return (method, guide, scale) -> its answers, in the order of the tables."""
    known = {name: place for place, name in enumerate(_ORDER)}
    found: dict[Any, pandas.DataFrame] = dict(iter(answers.groupby(["method", "guide", "reward_scale"], sort=True)))
    return dict(sorted(found.items(), key=lambda item: known[item[0][0]]))


def _mean(values: Any) -> float | None:
    found = values.dropna()
    return float(found.astype(float).mean()) if len(found) else None


def _interval(field: str, rows: pandas.DataFrame, rng: np.random.Generator) -> dict[str, float | None]:
    own = rows[rows[field].notna()]
    if not len(own):
        return dict.fromkeys((field, f"{field}_low", f"{field}_high"))
    found: Interval
    if field == "coherent":
        found = share_interval(int(own[field].sum()), len(own))
    else:
        found = bootstrap_interval(own[field].to_numpy(float), rng)
    return {field: found.mean, f"{field}_low": found.low, f"{field}_high": found.high}


def summarise(answers: pandas.DataFrame, seed: int) -> list[dict[str, Any]]:
    """Return one row per method, guide and scale; the module says what each column means."""
    cells = _cells(answers)
    default = dict(answers[answers["method"] == "default"][["example", "text"]].to_numpy().tolist())
    out: list[dict[str, Any]] = []
    for (method, guide, scale), rows in cells.items():
        if method in _ONCE and any((line["method"], line["guide"]) == (method, guide) for line in out):
            continue
        at = {"default": 1.0, "margin": None}.get(method, scale)
        line: dict[str, Any] = {"method": method, "guide": guide, "scale": at, "n": len(rows)}
        scored = rows[rows["nll"].notna()]
        scores = [AnswerScore(*pair) for pair in zip(scored["nll"], scored["causal_tokens"].astype(int), strict=True)]
        line |= _interval("perplexity", rows, _rng(seed, method, guide, scale, "perplexity"))
        line["perplexity"] = mean_perplexity(scores) if scores else None
        line["perplexity_median"] = float(scored["perplexity"].median()) if scores else None
        line["perplexity_pooled"] = pooled_perplexity(scores) if scores else None
        line["true_perplexity"] = _mean(rows["true_perplexity"])
        line["true_perplexity_n"] = int(rows["true_perplexity"].notna().sum())
        for field in ("coherent", "god_tokens", "god_steps", "exact", "judge"):
            line |= _interval(field, rows, _rng(seed, method, guide, scale, field))
        for field in _AVERAGED:
            line[field] = _mean(rows[field])
        line["saturated_share"] = float(rows["saturated"].sum() / rows["eligible"].sum())
        line["distinct_2"] = distinct_n(rows["text"].tolist(), 2)
        line["same_as_default"] = float(np.mean([text == default.get(name) for name, text in _texts(rows).items()]))
        out.append(line | {name: printed_value(own, line) for name, own in _PRINTED.items()})
    return out


def _texts(rows: pandas.DataFrame) -> dict[str, str]:
    return dict(zip(rows["example"], rows["text"], strict=True))


def compare(answers: pandas.DataFrame, seed: int) -> list[dict[str, Any]]:
    """Return rws minus every other method on the same prompts, with intervals and tests: one row per metric."""
    cells = _cells(answers)
    out: list[dict[str, Any]] = []
    for control in COMPARED:
        for (method, guide, scale), rows in cells.items():
            others = cells.get((control, guide, scale))
            if method != "rws" or others is None:
                continue
            both = rows.merge(others, on="example", suffixes=("", "_other"), validate="one_to_one")
            same = float((both["text"] == both["text_other"]).mean()) if len(both) else None
            for metric in METRICS:
                pairs = both[both[metric].notna() & both[f"{metric}_other"].notna()]
                if len(pairs):
                    line = {"control": control, "guide": guide, "scale": scale, "metric": metric, "n": len(pairs)}
                    ours, theirs = pairs[metric].to_numpy(float), pairs[f"{metric}_other"].to_numpy(float)
                    names = (seed, "rws", control, guide, scale, metric)
                    found = paired_bootstrap_interval(ours, theirs, _rng(*names))
                    line |= {"rws": float(ours.mean()), "other": float(theirs.mean()), "difference": found.mean}
                    line |= {"low": found.low, "high": found.high, "p": paired_test(ours, theirs, _rng(*names, "test"))}
                    out.append(line | {"p_holm": None, "same_text": same})
    holm_within(out, ("control", "metric"))
    return out


def summary_markdown_rows(summary: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the summary's rows with a mean and its interval in one column, for reading."""
    several = len({row["guide"] for row in summary}) > 1
    return [
        {
            **_before(row, "method"),
            "method": row["method"],
            **({"guide": row["guide"]} if several else {}),
            "scale": None if row["scale"] is None else f"{row['scale']:g}",
            "n": row["n"],
            "perplexity": _shown(row, "perplexity"),
            "perplexity, paper": row["paper_perplexity"],
            "pooled": _number(row["perplexity_pooled"]),
            "true perplexity": None
            if row["true_perplexity"] is None
            else f"{row['true_perplexity']:.2f} (n = {row['true_perplexity_n']})",
            "coherent": _shown(row, "coherent"),
            "GOD tokens": _number(row["god_tokens"]),
            "GOD steps": _number(row["god_steps"]),
            "GOD, paper": row["paper_god"],
            "keywords": _number(row["keywords_included"]),
            "reward": _number(row["reward"]),
            "judge": _number(row["judge"]),
            "exact": _number(row["exact"]),
            "mean factor": f"{row['mean_factor']:.3g}",
            "cost": f"{row['cost']:g}",
            "saturated": f"{100 * row['saturated_share']:.1f} %",
        }
        for row in summary
    ]


def controls_markdown_rows(controls: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one row per control, guide and scale, a column per metric, for reading."""
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    several = len({row["guide"] for row in controls}) > 1
    metrics = [metric for metric in METRICS if any(row["metric"] == metric for row in controls)]
    for row in controls:
        start = _before(row, "control") | {"rws minus": row["control"]} | ({"guide": row["guide"]} if several else {})
        start |= {"scale": f"{row['scale']:g}"}
        line = table.setdefault(tuple(start.values()), start | dict.fromkeys(metrics))
        line[row["metric"]] = (
            f"{row['difference']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}], p {row['p_holm']:.2g}"
        )
        line["same text"] = f"{100 * row['same_text']:.0f} %"
    return list(table.values())


def _before(row: Row, column: str) -> dict[str, Any]:
    """Return what stands before a column: settings in which runs differ."""
    return dict(list(row.items())[: list(row).index(column)])


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _shown(row: Row, field: str) -> str | None:
    if row[field] is None:
        return None
    return f"{row[field]:.2f} [{row[f'{field}_low']:.2f}, {row[f'{field}_high']:.2f}]"
