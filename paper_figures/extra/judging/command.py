"""`rws judge`: which of two answers a language model prefers, in both orders."""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from paper_figures.commands.summarize import warnings_as_notes
from paper_figures.data.rows import local_rows
from paper_figures.extra.judging.judge import JUDGE_SETTINGS
from rws_decode.cli.options import json_option, option
from rws_decode.cli.progress import tell
from rws_decode.commands.shown import table

if TYPE_CHECKING:
    from paper_figures.extra.judging import Pair
    from paper_figures.extra.judging.rates import JudgeRates
    from paper_figures.statistics.intervals import Interval


GROUP = "Study"
RESUMES = True


@dataclass(frozen=True)
class JudgeOptions:
    """The pairs, the judge, how it is asked, and where its replies are kept."""

    file: str = option(help='JSON Lines of {"id", "question", "first", "second"}', metavar="FILE", positional=True)
    judge_model: str = option(help="as the endpoint knows it, or the causal model, such as smollm2", metavar="NAME")
    base_url: str | None = option(
        None,
        "of the endpoint, to /v1, or local for a causal model here (OPENAI_BASE_URL, else OpenAI's)",
        metavar="URL",
    )
    cache: str = option(help="where replies are kept, and looked up", metavar="DIR")
    prompt: Literal["paper", "with-question"] = option(
        "paper", "the paper's, which does not show the question, or our own, which does"
    )
    settings: str = option("{}", f"further settings of the judge: {', '.join(JUDGE_SETTINGS)}", metavar="JSON")
    seed: int = option(0, "of the bootstrap", least=0)
    dry_run: bool = option(False, "count the requests, and ask nothing")
    yes: bool = option(False, "begin without being asked")
    json: bool = json_option()


def judge(options: JudgeOptions) -> None:
    """Ask a language model which of two answers is better, in both orders.

    ValueError for input that cannot be used, ConnectionError for no answer. `--json`: `requests`, to be made, and
    `stored`, verdicts that need none; without --dry-run also `rates` and `comparisons`, [{"id", "outcome", "forward",
    "backward"}]. The key is read from the environment variable OPENAI_API_KEY.
    """

    from paper_figures.extra.judging import LLMJudge, compare, count_requests, judge_settings

    settings = judge_settings(options.settings, "--settings")
    judge = LLMJudge(options.judge_model, options.base_url, prompt=options.prompt, **settings)
    names, pairs = _pairs(options.file, judge.prompt == "with-question")
    with warnings_as_notes():
        count = count_requests(judge, pairs, options.cache)
    tell(f"{judge.label}: {count.told(judge)}")
    if options.dry_run:
        if options.json:
            print(json.dumps(count._asdict()))
        return
    if count.requests and not options.yes:
        _confirm(count.requests)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is broken in the cache was said above
        verdicts = compare(judge, pairs, options.cache)

    import numpy as np

    from paper_figures.extra.judging.rates import judge_rates

    rates = judge_rates(verdicts, np.random.default_rng(options.seed))
    if options.json:
        rows = [
            {"id": name, "outcome": pair.outcome, "forward": asdict(pair.forward), "backward": asdict(pair.backward)}
            for name, pair in zip(names, verdicts, strict=True)
        ]
        print(json.dumps(count._asdict() | {"rates": _plain(asdict(rates)), "comparisons": rows}, allow_nan=False))
    else:
        print(_table(rates))
    invalid = [verdict for pair in verdicts for verdict in (pair.forward, pair.backward) if verdict.choice == "invalid"]
    if invalid:
        why = " (cut short: max_tokens)" if invalid[0].finish == "length" else ""
        line = " ".join(invalid[0].raw.split())[:80]
        tell(f"note: {len(invalid)} verdicts are invalid; a reply was {line!r}{why}")


def _pairs(path: str, with_question: bool) -> tuple[list[str | int], list[Pair]]:
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


def _plain(value: Any) -> Any:
    """Return what JSON holds of rates as a dictionary: intervals by the names of their ends."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value._asdict() if hasattr(value, "_asdict") else value


def _table(rates: JudgeRates) -> str:
    tallies = {
        "both": rates.both,
        "first text as answer 1": rates.forward,
        "first text as answer 2": rates.backward,
    }
    rows = []
    for name, tally in tallies.items():
        rows.append([name, *map(str, (tally.wins, tally.draws, tally.losses, tally.invalid)), _interval(tally.win)])
        rows[-1].append(_interval(rates.score) if name == "both" else "")
    lines = [table(["order", "win", "draw", "loss", "invalid", "W/(W+D+L)", "(W+D/2)/N"], rows)]
    if rates.agreement is not None:
        lines.append(f"the orders agree in {rates.agreement:.1%}; answer 1 is chosen in {rates.first_chosen:.1%}")
    if rates.identical:
        lines.append(f"{rates.identical} pairs are of the same text: draws, not asked")
    return "\n\n".join(lines)


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
