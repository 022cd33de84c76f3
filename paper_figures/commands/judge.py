"""`python -m paper_figures judge`: which of two answers a language model prefers, in both orders."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rws_theory.commands.progress import tell

if TYPE_CHECKING:
    from paper_figures.judging import LLMJudge, Pair, PairVerdict
    from paper_figures.judging.rates import JudgeRates, Tally
    from paper_figures.statistics.intervals import Interval

from rws_decode.common.files import parse_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `judge` to a parser."""
    parser.add_argument("file", metavar="FILE", help='JSON Lines of {"id", "question", "first", "second"}')
    parser.add_argument("--judge-model", required=True, metavar="NAME", help="as the endpoint knows it")
    parser.add_argument("--base-url", metavar="URL", help="of the endpoint, to /v1 (OPENAI_BASE_URL, else OpenAI's)")
    parser.add_argument("--cache", required=True, metavar="DIR", help="where replies are kept, and looked up")
    parser.add_argument(
        "--prompt",
        choices=["paper", "with-question"],
        default="paper",
        help="the paper's, which does not show the question, or our own, which does (paper)",
    )
    parser.add_argument("--temperature", default="0", metavar="T", help="sent to the judge, or none (0)")
    parser.add_argument("--max-tokens", default="16", metavar="N", help="of a reply, or none (16)")
    parser.add_argument("--judge-seed", type=int, metavar="N", help="sent to the judge (not sent)")
    parser.add_argument("--extra", default="{}", metavar="JSON", help="further fields of the request")
    parser.add_argument("--repeats", type=int, default=2, metavar="N", help="when a reply is no verdict (2)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds of silence allowed (60)")
    parser.add_argument("--retries", type=int, default=5, metavar="N", help="further tries when no reply comes (5)")
    parser.add_argument("--concurrency", type=int, default=4, metavar="N", help="requests at a time (4)")
    parser.add_argument("--trust-env", action="store_true", help="take proxies and certificates from the environment")
    parser.add_argument("--ask-identical", action="store_true", help="ask about two texts that are the same, too")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (0)")
    parser.add_argument("--dry-run", action="store_true", help="count the requests, and ask nothing")
    parser.add_argument("--yes", action="store_true", help="begin without being asked")
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Count the requests, judge and print the rates.

    ValueError for input that cannot be used, ConnectionError for no answer. `--json`: `requests`, to be made, and
    `stored`, verdicts that need none; without --dry-run also `rates` and `comparisons`, [{"id", "outcome", "forward",
    "backward"}]. The key is read from the environment variable OPENAI_API_KEY.
    """
    if args.seed < 0:
        raise ValueError(f"--seed is {args.seed}: at least 0 is needed")

    from paper_figures.judging import compare, count_requests

    judge = _judge(args)
    names, pairs = _pairs(args.file, judge.prompt == "with-question")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        count = count_requests(judge, pairs, args.cache, ask_identical=args.ask_identical)
    for warning in caught:
        tell(f"note: {warning.message}")
    tell(f"{judge.label}: {count.told(judge)}")
    if args.dry_run:
        if args.json:
            print(json.dumps(count._asdict()))
        return 0
    if count.requests and not args.yes:
        _confirm(count.requests)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is broken in the cache was said above
        verdicts = compare(judge, pairs, args.cache, ask_identical=args.ask_identical)

    import numpy as np

    from paper_figures.judging.rates import judge_rates

    rates = judge_rates(verdicts, np.random.default_rng(args.seed))
    if args.json:
        rows = [_row(name, verdict) for name, verdict in zip(names, verdicts, strict=True)]
        print(json.dumps(count._asdict() | {"rates": _plain(rates), "comparisons": rows}, allow_nan=False))
    else:
        print(_table(rates))
    _note_invalid(verdicts)
    return 0


def _judge(args: argparse.Namespace) -> LLMJudge:
    from paper_figures.judging import LLMJudge

    try:
        extra = parse_json(args.extra)
    except ValueError as error:
        raise ValueError(f"--extra is {args.extra!r}: not JSON ({error})") from error
    if not isinstance(extra, dict):
        raise ValueError(f"--extra is {args.extra!r}: a JSON object is needed")
    return LLMJudge(
        args.judge_model,
        args.base_url,
        temperature=_number("--temperature", args.temperature, float),
        max_tokens=_number("--max-tokens", args.max_tokens, int),
        timeout=args.timeout,
        max_retries=args.retries,
        concurrency=args.concurrency,
        seed=args.judge_seed,
        prompt=args.prompt,
        repeats=args.repeats,
        extra=extra,
        trust_env=args.trust_env,
    )


def _number(option: str, text: str, kind: Callable[[str], Any]) -> Any:
    if text == "none":
        return None
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{option} is {text!r}: a number or none is needed") from None


def _pairs(path: str, with_question: bool) -> tuple[list[str | int], list[Pair]]:
    from paper_figures.data.rows import local_rows

    names: list[str | int] = []
    pairs: list[Pair] = []
    for number, row in enumerate(local_rows(path)[0], start=1):
        name, question = row.get("id"), row.get("question", None if with_question else "")
        if not isinstance(name, str | int) or isinstance(name, bool) or name in names:
            raise ValueError(f"{path}: row {number}: id is {name!r}, a text or whole number of its own is needed")
        if not isinstance(question, str | list):
            raise ValueError(f"{path}: row {number}: question is no text and no list of messages")
        for field in ("first", "second"):
            if not isinstance(row.get(field), str):
                raise ValueError(f"{path}: row {number}: {field} is {'no text' if field in row else 'missing'}")
        names.append(name)
        pairs.append((question, row["first"], row["second"]))
    return names, pairs


def _confirm(requests: int) -> None:
    if not sys.stdin.isatty():
        raise ValueError(f"--yes is missing: {requests} requests are to be made, and there is no terminal to ask at")
    print(f"make {requests} requests? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ValueError("nothing was asked")


def _row(name: str | int, pair: PairVerdict) -> dict[str, Any]:
    return {"id": name, "outcome": pair.outcome, "forward": asdict(pair.forward), "backward": asdict(pair.backward)}


def _plain(rates: JudgeRates) -> dict[str, Any]:
    def plain(tally: Tally) -> dict[str, Any]:
        return {**asdict(tally), "win": None if tally.win is None else tally.win._asdict()}

    return {
        **{name: plain(getattr(rates, name)) for name in ("both", "forward", "backward")},
        "score": None if rates.score is None else rates.score._asdict(),
        **{name: getattr(rates, name) for name in ("identical", "agreement", "first_chosen")},
    }


def _table(rates: JudgeRates) -> str:
    from paper_figures.table import to_markdown

    rows: list[dict[str, Any]] = []
    for name, tally in (
        ("both", rates.both),
        ("first text as answer 1", rates.forward),
        ("first text as answer 2", rates.backward),
    ):
        score = rates.score if name == "both" else None
        rows.append(
            {
                "order": name,
                "win": tally.wins,
                "draw": tally.draws,
                "loss": tally.losses,
                "invalid": tally.invalid,
                "W/(W+D+L)": _interval(tally.win),
                "(W+D/2)/N": _interval(score),
            }
        )
    lines = [to_markdown(rows).rstrip()]
    if rates.agreement is not None:
        lines.append(f"the orders agree in {rates.agreement:.1%}; answer 1 is chosen in {rates.first_chosen:.1%}")
    if rates.identical:
        lines.append(f"{rates.identical} pairs are of the same text: draws, not asked")
    return "\n\n".join(lines)


def _interval(interval: Interval | None) -> str | None:
    return None if interval is None else f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _note_invalid(pairs: Sequence[PairVerdict]) -> None:
    invalid = [verdict for pair in pairs for verdict in (pair.forward, pair.backward) if verdict.choice == "invalid"]
    if invalid:
        why = " (cut short: --max-tokens)" if invalid[0].finish == "length" else ""
        line = " ".join(invalid[0].raw.split())[:80]
        tell(f"note: {len(invalid)} verdicts are invalid; a reply was {line!r}{why}")
