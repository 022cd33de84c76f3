"""Make the tables of an LLM judge's verdicts, beside what the paper printed.

The tables give win rates, the effect of the order in which the answers are shown, and sign tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import stats

from paper_figures.judging import PairVerdict, Verdict
from paper_figures.statistics.intervals import exact_share
from paper_figures.statistics.significance import holm_within
from paper_figures.statistics.win_rates import rate_of_counts
from paper_figures.studies.summaries.answers import dialogues_of
from paper_figures.studies.summaries.llm_verdicts import ORDERS, read_verdicts
from paper_figures.studies.summaries.means import BRACKETS, Summary, summary_table
from paper_figures.studies.summaries.printed import PREFIX
from paper_figures.table import Table
from rws_theory.printed import printed_in

_POINTS = {"win": 1.0, "draw": 0.5, "loss": 0.0}
_ABOUT = ("judge", "endpoint", "settings", "judge_prompt")
# All printed shares are whole numbers of 80ths, and MT-Bench has 80 dialogues.
_PRINTED_PROMPTS = 80


def verdict_rows(answers: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return one row per judge and whole dialogue that has verdicts in both orders, with the verdicts as numbers.

    `answers` is the frame of `answers.answers_of`. `path` is the file of verdicts; verdicts about other answers are
    left out. The columns are those of `dialogues.dialogues_of`, those of the judge, and these:

    - `as_first`, `as_second`: 1 if the method is preferred when its answers are shown in that place, 0.5 if the texts
      are the same, otherwise 0;
    - `both`: the mean of these two;
    - `win`, `draw`, `loss`, `net`: the outcome over both orders, in which orders that disagree are a draw;
    - `order_decides`: 1 if the preferred answers change with the order;
    - `answer_1`: the share of verdicts for the answer shown first; this and `order_decides` need that the judge was
      asked;
    - `identical`: 1 if the texts are the same;
    - `invalid`: 1 if either verdict is invalid; all other numbers are then missing.
    """
    key_columns = ("guide", "reward_scale", "method", "example", "answers")
    choices_of: dict[tuple[str, ...], dict[tuple[str, ...], dict[str, str]]] = {}
    for row in read_verdicts(path):
        about = tuple(row[name] for name in _ABOUT)
        choices_of.setdefault(tuple(row[name] for name in key_columns), {}).setdefault(about, {})[row["order"]] = row[
            "choice"
        ]
    rows = []
    for row in dialogues_of(answers).to_dict("records"):
        for about, choices in choices_of.get(tuple(str(row[name]) for name in key_columns), {}).items():
            if set(choices) == set(ORDERS):
                rows.append(row | dict(zip(_ABOUT, about, strict=True)) | _numbers(_comparison(choices)))
    return pd.DataFrame(rows)


def _comparison(choices: Mapping[str, str]) -> PairVerdict:
    orders: list[Any] = [choices[order] for order in ORDERS]
    return PairVerdict(*(Verdict(choice, "", "", 0, None, None, 0.0, True) for choice in orders))


def _numbers(compared: PairVerdict) -> dict[str, float]:
    if compared.outcome == "invalid":
        return {"invalid": 1.0}
    first, second = _POINTS[compared.forward_outcome], _POINTS[compared.backward_outcome]
    shares = {name: float(compared.outcome == name) for name in _POINTS}
    numbers = {"invalid": 0.0, "as_first": first, "as_second": second, "both": (first + second) / 2, **shares}
    numbers |= {"net": shares["win"] - shares["loss"], "identical": float(compared.forward.choice == "tie")}
    if compared.forward.choice != "tie":
        numbers["order_decides"] = float(first != second)
        numbers["answer_1"] = ((compared.forward.choice == "1") + (compared.backward.choice == "1")) / 2
    return numbers


def llm_tables(answers: pd.DataFrame, path: Path, *, seed: int = 0) -> list[Table]:
    """Return the tables of the verdicts that a file holds on these answers; none if it holds no such verdict."""
    rows = verdict_rows(answers, path)
    if not len(rows):
        return []
    # A column for a setting that all verdicts share would say nothing.
    about = [name for name in _ABOUT if name in ("judge", "judge_prompt") or rows[name].nunique() > 1]
    by = (*about, "guide", "reward_scale", "method")

    brackets = BRACKETS.format("dialogues") + "."

    def summary(measures: Sequence[str]) -> Summary:
        present = tuple(name for name in measures if name in rows and rows[name].notna().any())
        return Summary(present, by, {"method": "rws"}, ("example",), ("guide", "reward_scale"))

    tables = [
        summary_table(
            "llm_win_rates",
            "Whole dialogues, each method against the default, judged by an LLM: both, the share preferred, mean of "
            "both orders, the same texts counted half (Table 2, in percent there); win, draw, loss: in both orders, "
            f"orders that disagree being a draw; net: win minus loss.{_left_out(rows, answers)} {brackets}",
            rows,
            summary(("both", "win", "draw", "loss", "net")),
            seed,
        ),
        summary_table(
            "llm_orders",
            "The same by order: as_first, as_second, the share preferred where the method's answers are shown first, "
            "second (Table 10, in percent there); of the dialogues asked about, order_decides: the share where the "
            "preferred answers change with the order; answer_1: the share of verdicts for the answer shown first, 0.5 "
            "where the place does not matter; identical: the same texts; invalid: no verdict in an order after all "
            f"repeats, left out of all other columns. {brackets}",
            rows,
            summary(("as_first", "as_second", "order_decides", "answer_1", "identical", "invalid")),
            seed,
        ),
    ]
    signs = _signs(rows, by, seed)
    if signs:
        caption = (
            "Is a method preferred to the default, or the default to it? Dialogues won, drawn and lost over both "
            "orders, (W + D/2)/N with its score interval over prompts, W/(W + L), and the exact two-sided sign "
            "test of W against L, corrected over the reward models by Holm's method."
        )
        tables.append(Table("llm_sign_tests", signs, signs, caption))
    return [table for table in tables if table is not None]


def _left_out(rows: pd.DataFrame, answers: pd.DataFrame) -> str:
    dialogues = dialogues_of(answers)
    expected = int(dialogues["method"].isin(rows["method"].unique()).sum()) * len(rows[list(_ABOUT)].drop_duplicates())
    missing = expected - len(rows)
    return f" {missing} of {expected} dialogues have no verdict and are left out." if missing > 0 else ""


def _signs(rows: pd.DataFrame, by: Sequence[str], seed: int) -> list[dict[str, Any]]:
    tests = []
    for key, group in rows[rows["invalid"] == 0].groupby(list(by), sort=True):
        win, draw, loss = (int(group[name].sum()) for name in ("win", "draw", "loss"))
        rate = rate_of_counts(win, draw, loss)
        half = rate.half_draws
        tests.append(
            dict(zip(by, key, strict=True))
            | {"wins": win, "draws": draw, "losses": loss}
            | {"score": half.mean, "low": half.low, "high": half.high}
            | {"decided": None if rate.decided is None else rate.decided.mean, "p": rate.p, "p_holm": None}
        )
    fixed_columns = [name for name in by if name not in ("guide", "reward_scale")]
    holm_within(tests, fixed_columns)
    return tests


def printed_intervals() -> list[Table]:
    """Return intervals and tests for the shares that the paper's Table 10 prints, by order.

    All shares are whole numbers of 80ths, so they are taken as shares of 80 dialogues. Table 2 prints the mean of both
    orders. It cannot be tested, because the paper does not print which dialogues were won in both orders.

    >>> [table.rows[0]["won"] for table in printed_intervals()]
    [52]
    """
    rows: list[dict[str, Any]] = []
    for order in ORDERS:
        tests = []
        for printed in printed_in("table10_llm_judge_orders")["rows"]:
            won = printed[order] / 100 * _PRINTED_PROMPTS
            if abs(won - round(won)) > 1e-9:
                return []
            share = exact_share(round(won), _PRINTED_PROMPTS)
            p = float(stats.binomtest(round(won), _PRINTED_PROMPTS).pvalue)
            tests.append({"model": printed["model"], "order": order, "won": round(won), "of": _PRINTED_PROMPTS})
            tests[-1] |= {"share": share.mean, "low": share.low, "high": share.high, "p": p, "p_holm": None}
        holm_within(tests, ())
        rows += tests
    caption = (
        "The paper's Table 10 by what it printed: every share is a whole number of 80ths; with 80 dialogues, 95 % "
        "intervals (Clopper and Pearson) and the exact two-sided sign test against 0.5, corrected over the six models "
        "by Holm's method within an order. All six are against the same 80 default answers, by one judge that saw no "
        "question."
    )
    return [Table(f"{PREFIX}table10_llm_judge_orders, tested", rows, rows, caption)]
