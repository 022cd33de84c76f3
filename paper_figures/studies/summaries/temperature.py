"""Summarise the temperature experiment: a row per method and scale, and RWS against every other method.

The summary has these columns:

- `method`; `guide`, the reward model that it is about or compared under;
- `scale`, s_R or c (1 for the default, None for margin); `n`, the number of answers;
- `perplexity`, exp(nll / tokens) under the causal model, with the end of text counted; `perplexity_pooled`, over all
  tokens;
- `true_perplexity`, by the exact log P(answer | prompt) of the language. An incoherent answer has probability zero, so
  it is over the `true_perplexity_n` coherent answers only: read it with the share `coherent`;
- `god_tokens`, `god_steps`; `exact`, minus the number of rules broken;
- `judge`, the raw score of the judge. With several judges it is the mean of their normalised scores, of those that
  guide nothing, or if there are none, of the other guides;
- `reward`, the raw score of the guide; `keywords_included`; `mean_factor`; `cost`.

Numbers of answers are averaged. Columns that end in `_low` and `_high` are the ends of a mean's 95 % interval. A value
that does not exist is None, as coherence outside of the story language.

The controls have these columns:

- `control`, `guide`, `scale`, `metric`, `n`; `rws` and `other`, the means;
- `difference`, rws minus the other on the same prompts, with `low` and `high`, its paired 95 % interval;
- `p` of the sign-flip permutation test; `p_holm`, corrected over guides and scales; `same_text`, the share of equal
  texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.statistics.causal_scores import exp_or_inf
from paper_figures.statistics.intervals import Interval, bootstrap_interval, paired_bootstrap_interval, share_interval
from paper_figures.statistics.significance import holm_within, paired_test
from paper_figures.studies.summaries.answers import answers_of

COMPARED = ("constant", "shuffled", "temperature", "default", "flipped", "random", "margin", "best-of-n")
METRICS = ("perplexity", "coherent", "exact", "reward", "judge", "god_tokens", "god_steps", "keywords_included")
_ORDER = (
    *("default", "margin", "temperature", "temperature-bf16", "rws"),
    *("constant", "shuffled", "flipped", "random", "best-of-n"),
)
_ONCE = ("default", "margin")  # methods that no scale changes
_AVERAGED = ("reward", "keywords_included", "mean_factor", "cost")


def answers_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return every method's answers at every guide and scale, with the numbers that the tables average.

    `frame` holds the rows of the experiment's units. Temperatures are repeated for every guide, at the reward scale
    that equals their factor. All columns of `METRICS` are present; a value that an answer lacks is nan. The result is
    empty if there are no answers.
    """
    if "method" not in frame:
        return frame.iloc[:0]
    plain = frame["method"].isin(("temperature", "temperature-bf16"))
    guides = sorted(frame["guide"].dropna().unique()) if "guide" in frame else []
    at = [frame[plain].assign(guide=guide, reward_scale=frame[plain]["scale"]) for guide in guides]
    answers = answers_of(pd.concat([frame[~plain], *at], ignore_index=True))
    if not len(answers):
        return answers

    def numbers(column: str) -> Any:
        # The table lacks a column if no answer has a value for it.
        values = answers[column] if column in answers else pd.Series(np.nan, answers.index)
        return pd.to_numeric(values.astype(object), errors="coerce").astype(float)

    logs, tokens = numbers("log_probability"), numbers("causal_tokens")
    # An answer that the language cannot produce has no true perplexity.
    true = np.exp(-logs.where(np.isfinite(logs)) / tokens)
    columns = {name: numbers(name) for name in ("perplexity", "nll", "coherent", "keywords_included")}
    return answers.assign(
        **columns,
        causal_tokens=tokens,
        true_perplexity=true,
        exact=-numbers("violations"),
        reward=numbers("own_score"),
        judge=_judged(answers, guides),
    ).sort_values("example", kind="stable")


def _judged(answers: pd.DataFrame, guides: Sequence[str]) -> list[float]:
    scorers = [str(name).removeprefix("score of ") for name in answers if str(name).startswith("score of ")]
    alone = sorted(name for name in scorers if name not in guides)
    if len(alone) == 1:
        return answers[f"score of {alone[0]}"].to_list()
    rows = answers.to_dict("records")
    scores = [[row[f"normalised score of {name}"] for name in alone or scorers if name != row["guide"]] for row in rows]
    return [float(np.mean(row_scores)) if row_scores else float("nan") for row_scores in scores]


def _rng(seed: int, *names: object) -> np.random.Generator:
    """Return a generator for one statistic, so that it does not depend on what else is computed."""
    return np.random.default_rng([seed, *"-".join(map(str, names)).encode()])


def _cells(answers: pd.DataFrame) -> dict[tuple[str, str, float], pd.DataFrame]:
    """Return the answers of each (method, guide, scale), in the order of the tables."""
    rank = {name: number for number, name in enumerate(_ORDER)}
    cells: dict[Any, pd.DataFrame] = dict(iter(answers.groupby(["method", "guide", "reward_scale"], sort=True)))
    return dict(sorted(cells.items(), key=lambda item: rank[item[0][0]]))


def _mean(values: Any) -> float | None:
    present = values.dropna()
    return float(present.astype(float).mean()) if len(present) else None


def _interval(field: str, rows: pd.DataFrame, rng: np.random.Generator) -> dict[str, float | None]:
    valued = rows[rows[field].notna()]
    if not len(valued):
        return dict.fromkeys((field, f"{field}_low", f"{field}_high"))
    interval: Interval
    if field == "coherent":
        interval = share_interval(int(valued[field].sum()), len(valued))
    else:
        interval = bootstrap_interval(valued[field].to_numpy(float), rng)
    return {field: interval.mean, f"{field}_low": interval.low, f"{field}_high": interval.high}


def summarise(answers: pd.DataFrame, seed: int) -> list[dict[str, Any]]:
    """Return one row per method, guide and scale; the module says what each column means."""
    cells = _cells(answers)
    out: list[dict[str, Any]] = []
    for (method, guide, scale), rows in cells.items():
        if method in _ONCE and any((line["method"], line["guide"]) == (method, guide) for line in out):
            continue
        at = {"default": 1.0, "margin": None}.get(method, scale)
        line: dict[str, Any] = {"method": method, "guide": guide, "scale": at, "n": len(rows)}
        scored = rows[rows["nll"].notna()]
        line |= _interval("perplexity", rows, _rng(seed, method, guide, scale, "perplexity"))
        total = scored["causal_tokens"].sum()
        line["perplexity_pooled"] = exp_or_inf(math.fsum(scored["nll"]) / total) if len(scored) else None
        line["true_perplexity"] = _mean(rows["true_perplexity"])
        line["true_perplexity_n"] = int(rows["true_perplexity"].notna().sum())
        for field in ("coherent", "god_tokens", "god_steps", "exact", "judge"):
            line |= _interval(field, rows, _rng(seed, method, guide, scale, field))
        for field in _AVERAGED:
            line[field] = _mean(rows[field])
        out.append(line)
    return out


def compare(answers: pd.DataFrame, seed: int) -> list[dict[str, Any]]:
    """Compare rws with every other method on the same prompts: one row per metric, with intervals and tests.

    Differences are rws minus the other method.
    """
    cells = _cells(answers)
    out: list[dict[str, Any]] = []
    for control in COMPARED:
        for (method, guide, scale), rows in cells.items():
            others = cells.get((control, guide, scale))
            if method != "rws" or others is None:
                continue
            both = rows.merge(others, on="example", suffixes=("", "_other"), validate="one_to_one")
            same_text_share = float((both["text"] == both["text_other"]).mean()) if len(both) else None
            for metric in METRICS:
                pairs = both[both[metric].notna() & both[f"{metric}_other"].notna()]
                if len(pairs):
                    line = {"control": control, "guide": guide, "scale": scale, "metric": metric, "n": len(pairs)}
                    ours, theirs = pairs[metric].to_numpy(float), pairs[f"{metric}_other"].to_numpy(float)
                    names = (seed, "rws", control, guide, scale, metric)
                    interval = paired_bootstrap_interval(ours, theirs, _rng(*names))
                    line |= {"rws": float(ours.mean()), "other": float(theirs.mean()), "difference": interval.mean}
                    line |= {
                        "low": interval.low,
                        "high": interval.high,
                        "p": paired_test(ours, theirs, _rng(*names, "test")),
                    }
                    out.append(line | {"p_holm": None, "same_text": same_text_share})
    holm_within(out, ("control", "metric"))
    return out
