"""Compare methods on dialogues of two turns, each answered after the method's own first answer (Tables 2 and 10).

Reward models judge every answer, the second after the dialogue that it belongs to. So two equal second answers may
differ in score where the first ones do. An LLM judges whole dialogues if `--llm-judge` names one.
These files go below OUT/mt-bench, besides the units' parts and `selection.json|csv`:

- `win_rates`: each method against the default in the judgement of its own guide, means over the turns; `others_net`,
  the mean over all other reward models;
- with an LLM judge `llm_win_rates` (Table 2), `llm_orders` (Table 10), `llm_sign_tests`, from `verdicts.csv`; its
  replies are kept in `verdicts/`, and are not asked for again.

The mini models' dialogues ask about a story and have one right answer each, of a few words (`coherent`: it is given).
Their mask predictor was trained to give them within 16 tokens and gives nearly all of them. Here the default length is
64 tokens. In the surplus it errs, and only there the methods differ at all.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from paper_figures.judging import LLMJudge, Pair, PairVerdict, Verdict, compare, count_requests, judge_settings
from paper_figures.judging.judge import JUDGE_SETTINGS
from paper_figures.runner.units import Unit
from paper_figures.statistics.intervals import exact_share
from paper_figures.statistics.means import BRACKETS, Summary, against_rws, summary_table
from paper_figures.statistics.significance import holm_within
from paper_figures.statistics.win_rates import rate_of_counts
from paper_figures.studies.answers import (
    PREFIX,
    answers_of,
    dialogues_of,
    judged_by_guide,
    mean_over_turns,
    printed_tables,
)
from paper_figures.studies.comparison import run_comparison, run_usual
from paper_figures.studies.options import COMPARED, ComparisonOptions, Drawn, Usual
from paper_figures.studies.prompts import Prompts
from paper_figures.studies.study import Stages
from paper_figures.table import Table, records, to_csv
from rws_decode.cli.options import option
from rws_decode.cli.progress import tell
from rws_decode.common.files import write_changed
from rws_decode.common.later import pd, stats
from rws_theory.extras import not_installed
from rws_theory.printed import printed_in

NAME = "mt-bench"
_OTHERS = tuple(name for name in COMPARED if name != "default")


@dataclass(frozen=True)
class MTBenchOptions(ComparisonOptions):
    """The options of `experiment mt-bench`."""

    data: str = Usual("dialogues")
    prompts: int = Drawn(16)
    validation: int = 8
    llm_judge: str | None = option(None, "a language model that judges, as its endpoint knows it", metavar="MODEL")
    base_url: str | None = option(
        None, "of the endpoint, to /v1 (default: OPENAI_BASE_URL, else OpenAI's)", metavar="URL"
    )
    judge_prompt: Literal["paper", "with-question"] = option(
        "paper", "the paper's, which does not show the user's turns, or our own, which does"
    )
    llm_methods: tuple[str, ...] = option(
        ("rws", "constant"),
        f"what is judged against the default: of {' '.join(_OTHERS)}",
        metavar="NAME",
        choices=_OTHERS,
    )
    llm_options: str = option("{}", f"further settings of the judge: {', '.join(JUDGE_SETTINGS)}", metavar="JSON")
    yes: bool = option(False, "ask the judge without being asked first")


def run(options: MTBenchOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    judge, folder = judge_from(options, options.methods), Path(options.out) / NAME

    def run_stages(options: MTBenchOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
        run_usual(options, base, prompts, stages)
        if judge is not None and not options.dry_run:
            ask_judge(options, judge, stages.outcome().frame, folder)

    result = run_comparison(options, NAME, partial(tables, folder=folder), run_stages)
    if not any(name.startswith("llm_") for name in result["tables"]):
        note = "no LLM judge has judged these dialogues: --llm-judge MODEL [--base-url URL] asks one"
        result["message"] = f"{note}\n\n{result['message']}"
    return result


def tables(frame: pd.DataFrame, *, seed: int = 0, folder: Path | None = None) -> list[Table]:
    """Return the tables of the study from its rows.

    `folder` is where the verdicts of an LLM judge are, if there are any.
    """
    answers = answers_of(frame)
    by_guide_rows = judged_by_guide(answers)
    if not len(by_guide_rows):
        return []
    keys = ("guide", "reward_scale", "method")
    measures = ("win", "draw", "loss", "net", "others_net", "coherent", "own_score", "god_tokens", "god_steps", "cost")
    by_dialogue = mean_over_turns(by_guide_rows, keys, measures)
    study_tables = [
        summary_table(
            "win_rates",
            "Each method against the default on the same dialogues, judged by its guide, means over the turns: shares "
            "of answers won, drawn, lost; net: won minus lost; others_net: the mean net of all other reward models; "
            f"scores are raw; cost: per answer, forwards and weighted reward calls. {BRACKETS.format('dialogues')}.",
            by_dialogue,
            against_rws(measures, "example"),
            seed,
        ),
    ]
    study_tables += llm_tables(answers, folder / VERDICTS, seed=seed) if folder is not None else []
    printed = printed_tables("table2_llm_judge", "table10_llm_judge_orders")
    return [table for table in study_tables if table is not None] + printed + printed_intervals()


VERDICTS, REPLIES = "verdicts.csv", "verdicts"
ORDERS = ("first", "second")
_KEY = ("judge", "endpoint", "settings", "judge_prompt", "guide", "reward_scale", "method", "example", "answers")
_COLUMNS = (*_KEY, "order", "choice", "raw", "model", "attempts", "tokens_in", "tokens_out")


def judge_from(options: MTBenchOptions, methods: Sequence[str]) -> LLMJudge | None:
    """Return the judge that the options name; None if they name none.

    `methods` are the methods that are decoded. ValueError is raised, before anything is decoded, for what would stop
    the judging later. That is: options that contradict each other, no key, no client, or nobody to confirm the number
    of requests.
    """
    if options.llm_judge is None:
        if options.base_url is not None or options.yes:
            option = "--yes" if options.base_url is None else "--base-url"
            raise ValueError(f"{option} is given without --llm-judge: name the model that is to judge")
        return None

    missing = [name for name in options.llm_methods if name not in (*methods, "rws")]
    if missing:
        raise ValueError(f"--llm-methods is {list(options.llm_methods)}: {', '.join(missing)} is not among --methods")
    if not (options.yes or sys.stdin.isatty()):
        raise ValueError("--yes is missing: there is no terminal to ask at before the judge is asked")
    judge = LLMJudge(
        options.llm_judge,
        options.base_url,
        prompt=options.judge_prompt,
        **judge_settings(options.llm_options, "--llm-options"),
    )
    if find_spec("openai") is None:
        raise ValueError(f"--llm-judge: {not_installed('openai')}")
    judge.secret()
    return judge


def judge_pair(prompt: str, asked: Sequence[str], ours: Sequence[str], default: Sequence[str]) -> Pair:
    """Return (conversation, first, second) for one dialogue: the user's turns, and each side's answers as one text.

    >>> judge_pair("with-question", ["Why?", "And then?"], ["Because.", "Nothing."], ["So.", "So."])[1]
    'Turn 1:\\nBecause.\\n\\nTurn 2:\\nNothing.'
    """

    def numbered_text(texts: Sequence[str]) -> str:
        numbered = prompt != "paper" and len(texts) > 1
        return "\n\n".join(f"Turn {turn}:\n{text}" if numbered else text for turn, text in enumerate(texts, start=1))

    return [{"role": "user", "content": turn} for turn in asked], numbered_text(ours), numbered_text(default)


def ask_judge(options: MTBenchOptions, judge: LLMJudge, frame: pd.DataFrame, folder: Path) -> bool:
    """Have the dialogues in an experiment's rows judged, write VERDICTS below `folder`, and return whether it was done.

    The number of requests is printed on standard error first. The result is False if the user then says no, or if there
    are no answers. Stored replies are not asked for again. If the endpoint does not answer, ConnectionError is raised,
    in one line; the decoded answers and the replies so far are kept.
    """
    answers = answers_of(frame)
    if not len(answers):
        return False
    dialogues = dialogues_of(answers)
    rows = records(dialogues[dialogues["method"].isin(options.llm_methods)])
    pairs = [judge_pair(judge.prompt, row["asked"], row["replied"], row["default_replied"]) for row in rows]
    count = count_requests(judge, pairs, folder / REPLIES)
    tell(f"{judge.label}: {count.told(judge)}")
    if not _agreed(options, count.requests):
        return False
    _write(folder / VERDICTS, judge, rows, compare(judge, pairs, folder / REPLIES))
    return True


def _agreed(options: MTBenchOptions, requests: int) -> bool:
    if not requests or options.yes or not sys.stdin.isatty():
        return True
    print(f"make {requests} requests? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _write(path: Path, judge: LLMJudge, rows: Sequence[Mapping[str, Any]], verdicts: Sequence[PairVerdict]) -> None:
    """Add the verdicts to the file, which keeps those of other judges and other answers."""
    sent = {name: getattr(judge, name) for name in ("temperature", "max_tokens", "seed", "repeats")}
    about = {
        "judge": judge.model,
        "endpoint": judge.endpoint,
        "settings": json.dumps(sent | {"extra": dict(judge.extra)}, sort_keys=True),
        "judge_prompt": judge.prompt,
    }
    rows_by_key = {_key(row): row for row in read_verdicts(path)}
    for row, pair in zip(rows, verdicts, strict=True):
        line = about | {name: str(row[name]) for name in _KEY if name not in about}
        for order, verdict in zip(ORDERS, (pair.forward, pair.backward), strict=True):
            verdict_fields = {name: getattr(verdict, name) for name in _COLUMNS if hasattr(verdict, name)}
            full_row = line | {"order": order} | verdict_fields
            rows_by_key[_key(full_row)] = {
                name: "" if full_row[name] is None else str(full_row[name]) for name in _COLUMNS
            }
    if rows_by_key:
        write_changed(path, to_csv([rows_by_key[key] for key in sorted(rows_by_key)]))


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in (*_KEY, "order"))


def read_verdicts(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file of verdicts, all fields as text; none if there is no file.

    `order` is the place in which the method's answers were shown, "first" or "second". `choice` is "1", "2", "tie" or
    "invalid"; "tie" means that the texts are the same and nobody was asked. ValueError is raised for a file with other
    columns.
    """
    if not path.is_file():
        return []
    with open(path, encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        rows = list(reader)
    if tuple(reader.fieldnames or ()) != _COLUMNS or any(None in row.values() or None in row for row in rows):
        raise ValueError(f"{path}: no file of verdicts, which has the columns {', '.join(_COLUMNS)}")
    return rows


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
