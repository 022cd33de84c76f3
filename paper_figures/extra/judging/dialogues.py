"""An LLM judges the dialogues of the study mt-bench in both orders: Tables 2 and 10."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_figures.extra.judging.asking import Pair, compare, count_requests
from paper_figures.extra.judging.judge import LLMJudge, judge_settings
from paper_figures.extra.judging.verdicts import PairVerdict, Verdict
from paper_figures.runner.digests import digest
from paper_figures.statistics.means import BRACKETS, Summary, summary_table
from paper_figures.statistics.significance import holm_within
from paper_figures.statistics.win_rates import rate_of_counts
from paper_figures.studies.answers import SETTINGS, answers_of
from paper_figures.studies.mt_bench import ORDERS, VERDICTS
from paper_figures.table import Table, records, to_csv
from rws_decode.cli.progress import tell
from rws_decode.common.files import write_changed
from rws_decode.common.later import pd
from rws_theory.extras import not_installed

if TYPE_CHECKING:
    from paper_figures.studies.mt_bench import MTBenchOptions

REPLIES = "verdicts"
_KEY = ("judge", "endpoint", "settings", "judge_prompt", "guide", "reward_scale", "method", "example", "answers")
_COLUMNS = (*_KEY, "order", "choice", "raw", "model", "attempts", "tokens_in", "tokens_out")
_POINTS = {"win": 1.0, "draw": 0.5, "loss": 0.0}
_ABOUT = ("judge", "endpoint", "settings", "judge_prompt")


def dialogues_of(answers: pd.DataFrame) -> pd.DataFrame:
    """Return one row per whole dialogue, with that of confidence decoding on the same prompt beside it.

    `answers` is the frame of `answers.answers_of`. The columns are the settings that are present; guide, reward_scale,
    method, example; `asked`, the user's turns; `replied` and `default_replied`, the answers turn by turn, as tuples of
    texts; `answers`, a digest of these three. A dialogue is left out if one of its turns is missing, in its own answers
    or in those of confidence decoding.
    """
    keys = [*(name for name in SETTINGS if name in answers), "guide", "reward_scale", "example"]
    spoken = answers.sort_values("turn", kind="stable").groupby([*keys, "method"], dropna=False, sort=False)
    dialogues = spoken.agg(asked=("prompt", tuple), replied=("text", tuple)).reset_index()
    turns = answers.groupby("example")["turn"].nunique()
    dialogues = dialogues[dialogues["asked"].map(len) == dialogues["example"].map(turns)]
    default = dialogues[dialogues["method"] == "default"][[*keys, "replied"]].rename(
        columns={"replied": "default_replied"}
    )
    dialogues = dialogues.merge(default, on=keys, how="inner", validate="m:1")
    turn_texts = zip(dialogues["asked"], dialogues["replied"], dialogues["default_replied"], strict=True)
    return dialogues.assign(answers=[digest([list(part) for part in parts])[:16] for parts in turn_texts])


def judge_from(options: MTBenchOptions) -> LLMJudge:
    """Return the judge that the options name.

    ValueError is raised, before anything is decoded, for what would stop the judging later. That is: options that
    contradict each other, no key, no client, or nobody to confirm the number of requests.
    """
    missing = [name for name in options.llm_methods if name not in (*options.methods, "rws")]
    if missing:
        raise ValueError(f"--llm-methods is {list(options.llm_methods)}: {', '.join(missing)} is not among --methods")
    if not (options.yes or sys.stdin.isatty()):
        raise ValueError("--yes is missing: there is no terminal to ask at before the judge is asked")
    judge = LLMJudge(
        options.llm_judge or "",
        options.base_url,
        prompt=options.judge_prompt,
        **judge_settings(options.llm_options, "--llm-options"),
    )
    if find_spec("openai") is None:
        raise ValueError(f"--llm-judge: {not_installed('openai')}")
    judge.secret()
    return judge


def judge_pair(prompt: str, questions: Sequence[str], ours: Sequence[str], default: Sequence[str]) -> Pair:
    """Return (conversation, first, second) for one dialogue: the user's turns, and each side's answers as one text.

    >>> judge_pair("with-question", ["Why?", "And then?"], ["Because.", "Nothing."], ["So.", "So."])[1]
    'Turn 1:\\nBecause.\\n\\nTurn 2:\\nNothing.'
    """

    def numbered_text(texts: Sequence[str]) -> str:
        numbered = prompt != "paper" and len(texts) > 1
        return "\n\n".join(f"Turn {turn}:\n{text}" if numbered else text for turn, text in enumerate(texts, start=1))

    return [{"role": "user", "content": turn} for turn in questions], numbered_text(ours), numbered_text(default)


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
