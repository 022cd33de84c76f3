"""Measure perplexity, GOD and keywords on keyword-constrained prompts, by guide and method (Table 3, Figure 6).

Every guide decodes the prompts at the reward scale that validation prompts chose for it. A causal model, which guides
nobody, reads every answer. These files go below OUT/keywords, besides the units' parts and `selection.json|csv`:

- `perplexity_and_god`: every method against rws; perplexity as the mean over texts and pooled over tokens;
- `claims`: what Section 5.4 says of rws against the default, measured for every method;
- `examples`: the first prompts with their keywords, and the answers of default and rws.

Perplexity is that of the answer and its end, given the prompt (`causal_scores.answer_scores`). The paper does not say
which of the two means it reports, nor what its causal model is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import pandas as pd

from paper_figures.statistics.significance import holm_within
from paper_figures.statistics.totals import interval_of_totals, mean_of, pooled_perplexity_of
from paper_figures.studies.design.asked import require
from paper_figures.studies.design.comparison import run_comparison
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.options import KeywordsOptions
from paper_figures.studies.summaries.answers import answers_of
from paper_figures.studies.summaries.means import BRACKETS, Summary, means_table, plain, summarise
from paper_figures.studies.summaries.paired_answers import (
    LINE,
    PAIR,
    comparisons,
    lines_of,
    over_guides,
    rng_for,
    totals,
)
from paper_figures.table import Table
from rws_theory.printed import printed_in

NAME = "keywords"
_POOLED = ("nll", "causal_tokens")
_EXAMPLES, _SHOWN = 4, ("method", "guide", "reward_scale")


class _Claim(NamedTuple):
    """A number of Section 5.4 of the paper.

    It is the mean of `columns`, or the pooled perplexity. By `kind` it is this number itself, its ratio to the
    default's, or 100 (1 - ratio). `printed` names the paper's quantity.
    """

    quantity: str
    columns: tuple[str, ...]
    kind: Literal["mean", "ratio", "percent below"]
    printed: str


_BELOW, _OVER = "perplexity of RWS below that of the default", "GOD of RWS over that of the default, at least"
_CLAIMS = (
    _Claim("perplexity per text, % below default", ("perplexity",), "percent below", _BELOW),
    _Claim("perplexity pooled, % below default", _POOLED, "percent below", _BELOW),
    _Claim("GOD in tokens over default's", ("god_tokens",), "ratio", _OVER),
    _Claim("GOD in steps over default's", ("god_steps",), "ratio", _OVER),
    _Claim("keywords included", ("keywords_included",), "mean", "keywords included, all methods"),
)


def run(options: KeywordsOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    return run_comparison(options, NAME, tables, check=_check)


def _check(options: KeywordsOptions, prompts: Prompts) -> None:
    lacking = "no keywords, which this study counts: --data FILE with the fields prompt and keywords has"
    require(options, prompts, lambda prompt: bool(prompt.labels.get("keywords")), lacking)


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the tables of the study from its rows."""
    answers = answers_of(frame)
    if not len(answers) or not (answers["method"] == "rws").any():
        return []
    study_tables = [_means(answers, seed), _claims(answers, seed), _examples(answers)]
    return [table for table in study_tables if table is not None]


def _means(answers: pd.DataFrame, seed: int) -> Table | None:
    measures = ("perplexity_per_text", "god_tokens", "god_steps", "keywords_included", "coherent", "cost")
    frame = answers.rename(columns={"perplexity": "perplexity_per_text"})
    present = tuple(measure for measure in measures if measure in frame)
    over = ("guide", "reward_scale")
    rows = summarise(frame, Summary(present, LINE, {"method": "rws"}, PAIR, over), seed=seed)
    if "perplexity_per_text" in present:
        names = list(rows[0])[: list(rows[0]).index("measure")]
        pooled = {tuple(row[name] for name in names): row for row in _pooled(answers, rows[0], seed)}
        # The pooled perplexity follows the other perplexity of the same line.
        rows = [
            line
            for row in rows
            for line in ([row, pooled[tuple(row[name] for name in names)]] if row["measure"] == present[0] else [row])
        ]
    caption = (
        "perplexity_per_text: mean over the answers of each one's perplexity; perplexity_pooled: exp of all nats over "
        "all tokens, of which long answers have more; both given the prompt, the end of text included. GOD counts "
        "tokens, or steps. keywords_included: of those asked for; coherent: share with no rule of the story language "
        f"broken; cost: forwards and reward calls. {BRACKETS.format('prompts')}; for pooled perplexity, prompts are "
        "resampled and exchanged with their tokens."
    )
    return means_table("perplexity_and_god", caption, rows, {"method": "rws"})


def _pooled(answers: pd.DataFrame, like: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    """Return the rows of pooled perplexity as `summarise` has them, a row per line.

    `like` is one of the rows of `summarise`.
    """
    names = list(like)[: list(like).index("measure")]
    lines = list(lines_of(answers, names))
    compared = comparisons(lines, _POOLED, seed, "pooled against rws", statistic=pooled_perplexity_of, reference="rws")
    pooled = []
    for (line, rows), comparison in zip(lines, compared, strict=True):
        row: dict[str, Any] = {name: line[name] for name in names}
        row |= {name: None for name in like if name not in names} | {"measure": "perplexity_pooled"}
        scored = rows.dropna(subset=list(_POOLED))
        row["n"] = len(scored)
        if len(scored):
            of = interval_of_totals(pooled_perplexity_of, totals(scored, _POOLED), rng_for(seed, line, "pooled"))
            row |= {"mean": of.mean, "low": of.low, "high": of.high}
        if comparison is not None:
            row |= {"pairs": comparison.pairs, "difference": comparison.difference.mean, "p": comparison.p}
            row |= {"difference_low": comparison.difference.low, "difference_high": comparison.difference.high}
        pooled.append(row)
    holm_within(pooled, [name for name in names if name not in ("guide", "reward_scale")])
    return pooled


def _claims(answers: pd.DataFrame, seed: int) -> Table | None:
    claims = [claim for claim in _CLAIMS if set(claim.columns) <= set(answers)]
    columns = list(dict.fromkeys(name for claim in claims for name in claim.columns))
    numbers = answers.assign(**{name: answers[name].astype(float) for name in columns})
    guide_means = [over_guides(numbers, columns)] if numbers["guide"].nunique() > 1 else []
    lines = [line for part in (numbers, *guide_means) for line in lines_of(part)]
    statistics = {claim: pooled_perplexity_of if claim.columns == _POOLED else mean_of for claim in claims}
    compared = [
        list(comparisons(lines, claim.columns, seed, claim.quantity, statistic=statistics[claim])) for claim in claims
    ]
    printed = _printed()
    tested: list[dict[str, Any]] = []
    for index, (line, rows) in enumerate(lines):
        for claim, of_claim in zip(claims, compared, strict=True):
            answered, comparison = rows.dropna(subset=list(claim.columns)), of_claim[index]
            row = line | {"quantity": claim.quantity, "n": len(answered)}
            row |= dict.fromkeys(("value", "low", "high", "p"))
            if comparison is not None:
                row |= {"n": comparison.pairs, "p": comparison.p}
                if claim.kind != "mean" and comparison.ratio is not None:
                    row |= _as_claimed(claim, *comparison.ratio)
            if claim.kind == "mean" and len(answered):
                values, rng = totals(answered, claim.columns), rng_for(seed, line, claim.quantity)
                row |= _as_claimed(claim, *interval_of_totals(statistics[claim], values, rng))
            about = claim.kind == "mean" or line["method"] == "rws"
            tested.append(row | {"printed": printed.get(claim.printed) if about else None})
    settings = [name for name in lines[0][0] if name not in LINE]
    # The mean over the guides is a separate comparison and does not belong to the family of the guides.
    parts = [[row for row in tested if (row["guide"] == "all") == mean] for mean in (False, True)]
    for part in parts:
        holm_within(part, [*settings, "method", "quantity"])
    rows = [row for part in parts for row in part]
    if all(row["value"] is None for row in rows):
        return None
    caption = (
        "Section 5.4 in numbers: each method beside the default on the same prompts, guide by guide, and of the means "
        "over the guides (all). Ratios are of means, or of pooled perplexities; below 0 is above the default. "
        "Intervals: 95 %, percentile bootstrap over prompts; p: of no difference to the default, exchanging the two on "
        "random prompts, corrected over the reward models by Holm's method. The paper's numbers are of LLaDA-8B, "
        "prompts of its own and another causal model."
    )
    return Table("claims", rows, _shown(rows), caption)


def _as_claimed(claim: _Claim, value: float, low: float, high: float) -> dict[str, float]:
    if claim.kind == "percent below":
        value, low, high = (100 * (1 - number) for number in (value, high, low))
    return {"value": value, "low": low, "high": high}


def _printed() -> dict[str, str]:
    """Return the paper's numbers for reading, by their quantity."""
    printed = printed_in("keyword_task")
    ranges = {item["quantity"]: f"{item['low']:g} to {item['high']:g}" for item in printed["ranges"]}
    return ranges | {item["quantity"]: f"more than {item['value']:g}" for item in printed["values"]}


def _shown(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Format the claims for reading: a column for each, with the paper's number in its header."""
    printed = {row["quantity"]: row["printed"] for row in rows if row["printed"] is not None}
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = {name: row[name] for name in list(row)[: list(row).index("quantity")]}
        out = table.setdefault(str(line), line | {"n": 0})
        out["n"] = max(out["n"], row["n"])
        text = "-" if row["value"] is None else f"{row['value']:.3g} [{row['low']:.3g}, {row['high']:.3g}]"
        text += "" if row["p_holm"] is None else f", p {row['p_holm']:.2g}"
        name = row["quantity"]
        out[f"{name} (paper: {printed[name]})" if name in printed else name] = text
    return list(table.values())


def _examples(answers: pd.DataFrame) -> Table:
    chosen = answers[answers["method"].isin(("default", "rws"))]
    # Names are sorted by their number, test-2 before test-10, whatever the order in which the rows were stored.
    names = set(answers[answers["method"] == "rws"]["example"])
    first = sorted(names, key=lambda name: [part.zfill(9) for part in re.split(r"(\d+)", name)])[:_EXAMPLES]
    rows: dict[str, dict[str, Any]] = {}  # by its text: the default has the same row for every guide
    for name in first:
        of_name = chosen[(chosen["example"] == name) & (chosen["turn"] == 0)]
        for line, answered in lines_of(of_name, _SHOWN):
            (answer,) = answered.to_dict("records")
            if line["method"] == "default":
                line |= {"guide": None, "reward_scale": None}
            row = {"example": name, "prompt": answer["prompt"], "keywords": ", ".join(answer.get("keywords") or ())}
            row |= {key: value for key, value in line.items() if key not in LINE} | {key: line[key] for key in _SHOWN}
            included = plain(answer.get("keywords_included"))
            row |= {"included": None if included is None else int(included), "answer": answer["text"]}
            rows.setdefault(str(row), row)
    caption = "The first prompts, their keywords, and how many the answers of default and rws include (after Table 3)."
    return Table("examples", list(rows.values()), list(rows.values()), caption)
