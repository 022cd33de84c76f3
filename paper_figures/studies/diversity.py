"""Measure distinct-1 and distinct-2 of what each method writes (Table 6), beside the controls, and at equal length.

Distinct-n is that of Li et al. (2016): different n-grams over all answers of a method, divided by all their words. It
falls as answers grow longer, so a method with shorter answers seems more diverse. Therefore lengths stand beside it,
and each pair of answers is compared once more with both cut to the shorter length. These files go below OUT/diversity,
besides the units' parts and `selection.json|csv`:

- `distinct`: by reward and method, with the lengths of the answers and how many are repeated;
- `differences`: rws against confidence and each control on the same prompts (`statistics.distinct_n`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paper_figures.statistics.distinct_n import distinct_difference, distinct_n
from paper_figures.statistics.significance import holm_within, spread_text
from paper_figures.studies.answers import LINE, aligned, answers_of, lines_of, printed_tables, rng_for
from paper_figures.studies.comparison import run_comparison
from paper_figures.studies.options import ComparisonOptions, Drawn, Usual
from paper_figures.table import Row, Rows, Table, wide
from rws_decode.common.later import pd

NAME = "diversity"


@dataclass(frozen=True)
class DiversityOptions(ComparisonOptions):
    """The options of `experiment diversity`."""

    data: str = Usual("stories:all")
    prompts: int = Drawn(40)


_ORDERS = (1, 2)


def run(options: DiversityOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    return run_comparison(options, NAME, tables)


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the tables of the study from its rows."""
    answers = answers_of(frame)
    if not len(answers) or not (answers["method"] == "rws").any():
        return []
    study_tables = [_distinct(answers), _differences(answers, seed)]
    return [table for table in study_tables if table.rows] + printed_tables("table6_diversity")


def _distinct(answers: pd.DataFrame) -> Table:
    rows = []
    for line, answered in lines_of(answers, reference="rws"):
        texts = answered["text"].tolist()
        counts = [len(text.split()) for text in texts]
        row = line | {"answers": len(texts), "words": sum(counts) / len(texts)}
        row["answer_tokens"] = float(answered["answer_tokens"].mean())
        # If several prompts got one text, all but one of these answers count as repeated.
        row["repeated"] = 1 - len(set(texts)) / len(texts)
        for n in _ORDERS:
            row[f"distinct_{n}"] = distinct_n(texts, n)
        rows.append(row)
    caption = (
        "distinct_n: different n-grams over all answers of a method / all their words; words: per answer, as white "
        "space parts them; answer_tokens: the mask predictor's, before the end of text; repeated: share of answers "
        "that another prompt got too. Sets of other sizes, or of longer answers, have other distinct-n: compare within "
        "a guide, and see `differences`."
    )
    return Table("distinct", rows, rows, caption)


def _differences(answers: pd.DataFrame, seed: int) -> Table:
    lines = list(lines_of(answers))
    guided = {str(line | {"method": None}): rows for line, rows in lines if line["method"] == "rws"}
    differences: list[dict[str, Any]] = []
    for line, rows in lines:
        rws = guided.get(str(line | {"method": None}))
        if rws is None or line["method"] == "rws":
            continue
        first, second = aligned(rws, rows, ["text"])
        if not len(first):
            continue
        texts = first["text"].tolist(), second["text"].tolist()
        for n in _ORDERS:
            comparison = distinct_difference(*texts, n, rng_for(seed, line, n))
            for length, distinct in (("whole", comparison.whole), ("equal", comparison.equal_length)):
                row = {name: value for name, value in line.items() if name != "method"}
                row |= {"against": line["method"], "n": n, "length": length, "pairs": comparison.pairs}
                row |= {"rws": distinct.first, "other": distinct.second, "difference": distinct.difference.mean}
                differences.append(
                    row | {"low": distinct.difference.low, "high": distinct.difference.high, "p": distinct.p}
                )
    setting_names = [name for name in (lines[0][0] if lines else ()) if name not in LINE]
    holm_within(differences, [*setting_names, "against", "n", "length"])
    caption = (
        "Distinct-n of rws minus that of another method of the same guide on the same prompts; whole: of all words; "
        "equal: each pair of answers cut to the shorter one's length. In brackets the 95 % jackknife interval over "
        "prompts; p: of no difference, exchanging the two answers of random prompts, corrected over the reward models "
        "by Holm's method."
    )
    return Table("differences", differences, _shown(differences), caption)


def _shown(rows: Rows) -> Rows:
    """Format the differences for reading: a row per reward and other method, a column per n and length."""

    def text(row: Row) -> str:
        spread = spread_text(row["pairs"], row["low"], row["high"], row["p_holm"], "+.3f")
        return f"{row['difference']:+.3f} {spread}"

    return wide(
        rows,
        lambda row: dict(list(row.items())[: list(row).index("n")]) | {"pairs": row["pairs"]},
        lambda row: {f"distinct-{row['n']}, {row['length']}": text(row)},
    )
