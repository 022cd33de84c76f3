"""Ask an LLM to judge whole dialogues, method against default in both orders, and keep its verdicts in a file.

The judge compares the answers of all turns, one after the other. The prompt "paper", as printed, shows nothing else:
the answers of a dialogue with a blank line between them. The prompt "with-question" shows the user's turns as the
conversation, and the answers under "Turn 1:", "Turn 2:". The paper does not say how it showed two turns.

VERDICTS is a table with a row per judge, guide, method, prompt and order. Its column `answers` is a digest of all texts
that were compared. A verdict counts only for these texts, whatever code decoded them. The replies themselves are in the
folder REPLIES, addressed by the request.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.judging import LLMJudge, Pair, PairVerdict, compare, count_requests, judge_settings
from paper_figures.studies.design.options import LLMJudgeOptions
from paper_figures.studies.summaries.answers import answers_of, dialogues_of
from paper_figures.table import records, to_csv
from rws_decode.cli.progress import tell
from rws_decode.common.files import write_changed
from rws_theory.extras import not_installed

VERDICTS, REPLIES = "verdicts.csv", "verdicts"
ORDERS = ("first", "second")
_KEY = ("judge", "endpoint", "settings", "judge_prompt", "guide", "reward_scale", "method", "example", "answers")
_COLUMNS = (*_KEY, "order", "choice", "raw", "model", "attempts", "tokens_in", "tokens_out")


def judge_from(options: LLMJudgeOptions, methods: Sequence[str]) -> LLMJudge | None:
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


def ask_judge(options: LLMJudgeOptions, judge: LLMJudge, frame: pd.DataFrame, folder: Path) -> bool:
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


def _agreed(options: LLMJudgeOptions, requests: int) -> bool:
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
