"""Measure perplexity, GOD and keywords on keyword-constrained prompts, by reward and method (Table 3, Figure 6).

For every reward, prompts are decoded at the scale that validation prompts chose for it. A causal model, which guides
no decode, reads every answer. These files go below OUT/keywords, besides the units' parts and `selection.json|csv`:

- `perplexity_and_god`: every method against rws; perplexity is the mean over texts;
- `claims`: what Section 5.4 says of rws against confidence, measured for every method;
- `examples`: the first prompts with their keywords, and the answers of default and rws.

Perplexity is that of the answer and its end, given the prompt (`causal_scores.answer_scores`). The paper does not say
whether it is a mean over texts or over tokens, nor what its causal model is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from paper_figures.statistics.means import BRACKETS, against_rws, means_table, plain, repeated_texts, summarise
from paper_figures.statistics.significance import holm_within
from paper_figures.studies.answers import LINE, PAIR, answers_of, comparisons, lines_of
from paper_figures.studies.comparison import run_comparison
from paper_figures.studies.options import ComparisonOptions, Usual
from paper_figures.studies.prompts import Prompts, require
from paper_figures.table import Table
from rws_decode.cli.options import option
from rws_decode.common.later import pd
from rws_theory.printed import printed_in

NAME = "keywords"


@dataclass(frozen=True)
class KeywordsOptions(ComparisonOptions):
    """The options of `experiment keywords`."""

    data: str = option(
        Usual("stories:keywords"),
        "prompts with their keywords: a FILE (.jsonl, .json, .parquet, .csv: fields prompt and keywords), or a SOURCE "
        "that has them: stories:keywords, examples:keywords, keywords",
        metavar="FILE|SOURCE",
    )
    causal: str | None = "mini-causal"


_EXAMPLES, _SHOWN = 4, ("method", "guide", "reward_scale")


class _Claim(NamedTuple):
    """A number of Section 5.4: the ratio of a column's mean to that of confidence, or how far, in %, it is below.

    `printed` names the paper's quantity.
    """

    quantity: str
    column: str
    below: bool
    printed: str


_BELOW, _OVER = "perplexity of RWS below that of the default", "GOD of RWS over that of the default, at least"
_CLAIMS = (
    _Claim("perplexity per text, % below default", "perplexity", True, _BELOW),
    _Claim("GOD in tokens over default's", "god_tokens", False, _OVER),
    _Claim("GOD in steps over default's", "god_steps", False, _OVER),
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
    rows = summarise(frame, against_rws(present, *PAIR), seed=seed)
    caption = (
        "perplexity_per_text: mean over the answers of each one's perplexity, given the prompt, the end of text "
        "included. GOD counts tokens, or steps. keywords_included: of those asked for; coherent: share with no rule of "
        f"the story language broken; cost: forwards and reward calls. {BRACKETS.format('prompts')}."
    )
    return means_table("perplexity_and_god", caption, rows, {"method": "rws"})


def _claims(answers: pd.DataFrame, seed: int) -> Table | None:
    claims = [claim for claim in _CLAIMS if claim.column in answers]
    lines = list(lines_of(answers.astype({claim.column: float for claim in claims})))
    compared = [list(comparisons(lines, claim.column, seed, claim.quantity)) for claim in claims]
    section = printed_in("keyword_task")
    printed = {item["quantity"]: f"{item['low']:g} to {item['high']:g}" for item in section["ranges"]}
    printed |= {item["quantity"]: f"more than {item['value']:g}" for item in section["values"]}
    rows: list[dict[str, Any]] = []
    for index, (line, answered) in enumerate(lines):
        for claim, of_claim in zip(claims, compared, strict=True):
            comparison, n = of_claim[index], int(answered[claim.column].notna().sum())
            ratio = comparison.ratio if comparison else None
            if ratio and claim.below:
                ratio = tuple(100 * (1 - number) for number in (ratio.mean, ratio.high, ratio.low))
            row = line | {"quantity": claim.quantity, "n": comparison.pairs if comparison else n}
            row |= dict(zip(("value", "low", "high"), ratio or (None,) * 3, strict=True))
            row |= {"p": comparison and comparison.p, "distinct": comparison and comparison.distinct}
            rows.append(row | {"printed": printed.get(claim.printed) if line["method"] == "rws" else None})
    settings = [name for name in lines[0][0] if name not in LINE]
    holm_within(rows, [*settings, "method", "quantity"])
    if all(row["value"] is None for row in rows):
        return None
    caption = (
        "Section 5.4 in numbers: each method beside the default on the same prompts, guide by guide. Ratios are of "
        "means; below 0 is above the default. Intervals: 95 %, percentile bootstrap over prompts; p: of no difference "
        "to the default, exchanging the two on random prompts, corrected over the reward models by Holm's method. The "
        "paper's numbers are of LLaDA-8B, prompts of its own and another causal model."
    ) + repeated_texts((row["distinct"], row["n"]) for row in rows if row["distinct"] is not None)
    return Table("claims", rows, _shown(rows), caption)


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
    rows: dict[str, dict[str, Any]] = {}  # by its text: confidence has the same row for every reward
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
