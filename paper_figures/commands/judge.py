"""`python -m paper_figures judge`: which of two answers a language model prefers, in both orders."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paper_figures.judging import Comparison, LLMJudge, Pair
    from paper_figures.judging.rates import JudgeRates, Tally

from rws_decode.common.files import parse_json

__all__ = ["add_arguments", "run"]


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
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for a request in all (60)")
    parser.add_argument("--retries", type=int, default=5, metavar="N", help="when no reply comes (5)")
    parser.add_argument("--requests-per-minute", type=float, metavar="N", help="at most (no limit)")
    parser.add_argument("--concurrency", type=int, default=4, metavar="N", help="requests at a time (4)")
    parser.add_argument("--trust-env", action="store_true", help="take proxies and certificates from the environment")
    parser.add_argument("--ask-identical", action="store_true", help="ask about two texts that are the same, too")
    parser.add_argument("--price-in", type=float, metavar="P", help="of a million prompt tokens")
    parser.add_argument("--price-out", type=float, metavar="P", help="of a million reply tokens")
    parser.add_argument("--max-cost", type=float, metavar="C", help="refuse to begin if the estimate is above it")
    parser.add_argument("--tokenizer", metavar="NAME", help="to count prompt tokens: directory or hub id (bytes / 4)")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (0)")
    parser.add_argument("--dry-run", action="store_true", help="estimate what it costs, and ask nothing")
    parser.add_argument("--yes", action="store_true", help="begin without being asked")
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Estimate, judge and print the rates; ValueError for input that cannot be used, ConnectionError for no answer.

    `--json`: `estimate`, and but for --dry-run `rates` and `comparisons`, [{"id", "outcome", "forward", "backward"}].
    The key is read from the environment variable OPENAI_API_KEY.
    """
    if args.seed < 0:
        raise ValueError(f"--seed is {args.seed}: at least 0 is needed")

    from paper_figures.judging import compare, estimate_cost

    judge = _judge(args)
    names, pairs = _pairs(args.file, judge.prompt == "with-question")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate = estimate_cost(
            judge,
            pairs,
            args.cache,
            ask_identical=args.ask_identical,
            price_in=args.price_in,
            price_out=args.price_out,
            count=_counter(args.tokenizer) if args.tokenizer else None,
            counted_by=args.tokenizer or "",
        )
    for warning in caught:
        print(f"note: {warning.message}", file=sys.stderr)
    print(f"{judge.label}: {estimate}", file=sys.stderr)
    if args.max_cost is not None:
        if estimate.cost is None:
            raise ValueError(f"--max-cost is {args.max_cost}: --price-in, --price-out and --max-tokens are needed too")
        if not estimate.cost <= args.max_cost:
            raise ValueError(f"--max-cost is {args.max_cost}: the estimate is {estimate.cost:.4g}")
    if args.dry_run:
        if args.json:
            print(json.dumps({"estimate": asdict(estimate)}, allow_nan=False))
        return 0
    if estimate.requests and not args.yes:
        _confirm(estimate.requests)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is broken in the cache was said above
        comparisons = compare(judge, pairs, args.cache, ask_identical=args.ask_identical)

    import numpy as np

    from paper_figures.judging.rates import judge_rates

    rates = judge_rates(comparisons, np.random.default_rng(args.seed))
    if args.json:
        rows = [_row(name, held) for name, held in zip(names, comparisons, strict=True)]
        print(
            json.dumps({"estimate": asdict(estimate), "rates": _plain(rates), "comparisons": rows}, allow_nan=False)
        )
    else:
        print(_table(rates))
    _note_invalid(comparisons)
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
        requests_per_minute=args.requests_per_minute,
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


def _counter(name: str) -> Callable[[str], int]:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"--tokenizer {name} cannot be loaded: {' '.join(str(error).split())}") from error
    return lambda text: len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def _confirm(requests: int) -> None:
    if not sys.stdin.isatty():
        raise ValueError(f"--yes is missing: {requests} requests are to be made, and there is no terminal to ask at")
    print(f"make {requests} requests? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ValueError("nothing was asked")


def _row(name: str | int, held: Comparison) -> dict[str, Any]:
    return {"id": name, "outcome": held.outcome, "forward": asdict(held.forward), "backward": asdict(held.backward)}


def _plain(rates: JudgeRates) -> dict[str, Any]:
    def plain(tally: Tally) -> dict[str, Any]:
        return {**asdict(tally), "win": None if tally.win is None else tally.win._asdict()}

    return {
        **{name: plain(getattr(rates, name)) for name in ("both", "forward", "backward")},
        "score": None if rates.score is None else rates.score._asdict(),
        **{name: getattr(rates, name) for name in ("identical", "agreement", "first_chosen")},
    }


def _table(rates: JudgeRates) -> str:
    from paper_figures.studies.summaries.files import to_markdown

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


def _interval(found: Any) -> str | None:
    return None if found is None else f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _note_invalid(comparisons: Sequence[Comparison]) -> None:
    broken = [v for held in comparisons for v in (held.forward, held.backward) if v.choice == "invalid"]
    if broken:
        why = " (cut short: --max-tokens)" if broken[0].finish == "length" else ""
        line = " ".join(broken[0].raw.split())[:80]
        print(f"note: {len(broken)} verdicts are invalid; a reply was {line!r}{why}", file=sys.stderr)
