"""The verdicts of a run on dialogues, for Tables 2 and 10: by LLMs if any judged, else by reward models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.exhibits.differences import Difference, rws_minus
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.table import Row

_ASKS = "`rws experiment mt-bench --out RUNS --llm-judge MODEL --base-url URL`"
_REWARDS = {"net": "own guide", "others_net": "other reward models"}
# What tells the verdicts of one LLM judge from those of another.
_ABOUT = ("judge", "judge_prompt", "endpoint", "settings")


@dataclass(frozen=True)
class Dialogues:
    """A run's verdicts.

    rows: the share preferred to the default in percent, draws counted half, with its interval and its difference to
    RWS in points; `name` is its guide's name, `measure` its judge. orders: the table `llm_orders` in percent, of RWS,
    with `judge` the judge's name. against: judge -> RWS against the default, by guide. prompts: judge -> the prompt
    that an LLM was asked with.
    """

    run: Results
    rows: Sequence[Row]
    orders: Sequence[Row]
    against: Mapping[str, Sequence[Difference]]
    prompts: Mapping[str, str]

    @property
    def llm(self) -> bool:
        """Return whether LLMs judged."""
        return bool(self.prompts)

    @property
    def judges(self) -> list[str]:
        """Return the names of the judges."""
        return list(dict.fromkeys(row["measure"] for row in self.rows))

    def verdict(self) -> str:
        """Return in words who judged, and what is unknown if only reward models did."""
        if self.llm:
            names = "; ".join(f"{judge}, prompt {prompt}" for judge, prompt in self.prompts.items())
            return f"Judged by an LLM ({names}) in both orders; dialogues with the same texts count half."
        return (
            "No LLM has judged these dialogues: reward models have, each guide itself and all others, answer by "
            f"answer, means over the two turns, draws counted half. {_ASKS} asks an LLM."
        )


def judged_dialogues(runs: Path) -> Dialogues:
    """Read the verdicts of the run on dialogues; MissingRun, with the command, if it is missing."""
    run = read_run(runs, "mt-bench")
    asked = run.named("llm_win_rates")
    if asked:
        rows = [_percent(row, _judge(row, asked), 100.0) for row in asked if row["measure"] == "both"]
        signs = [row | {"measure": _judge(row, asked)} for row in run.named("llm_sign_tests") if row["method"] == "rws"]
        found = [(row["measure"], _of_sign_test(row)) for row in signs]
    else:
        rows = [
            _percent(row, _REWARDS[row["measure"]], 50.0)
            for row in run.named("win_rates")
            if row["measure"] in _REWARDS
        ]
        found = [(row["measure"], rws_minus(row)) for row in rows if row["method"] == "default"]
    rows = [row for row in rows if row["mean"] is not None]
    if not rows:
        raise ValueError("the run of mt-bench has no table win_rates: no answer was judged")
    against: dict[str, list[Difference]] = {}
    for judge, difference in found:
        if difference is not None:
            against.setdefault(judge, []).append(difference)
    orders = [
        row | {"judge": _judge(row, asked)} | {end: 100.0 * row[end] for end in ("mean", "low", "high")}
        for row in run.named("llm_orders")
        if row["method"] == "rws" and row["mean"] is not None
    ]
    return Dialogues(run, rows, orders, against, {_judge(row, asked): row["judge_prompt"] for row in asked})


def _judge(row: Row, rows: Iterable[Row]) -> str:
    """Return an LLM's name, with what else tells it from the other judges of the rows."""
    differing = (row[name] for name in _ABOUT[1:] if name in row and len({other[name] for other in rows}) > 1)
    return ", ".join([row["judge"], *differing])


def _percent(row: dict[str, Any], judge: str, points: float) -> dict[str, Any]:
    """Return a row with its numbers as a share preferred in percent.

    points: 100 for a share, 50 for a net win rate, whose share, draws counted half, is 50 (1 + net) percent.

    >>> row = {"mean": 0.2, "low": 0.0, "high": 0.5, "difference": None}
    >>> _percent(row, "judge", 50.0)
    {'mean': 60.0, 'low': 50.0, 'high': 75.0, 'difference': None, 'measure': 'judge'}
    """
    row = row | {"measure": judge}
    if row["mean"] is not None:
        row |= {end: 100.0 - points + points * row[end] for end in ("mean", "low", "high")}
    if row["difference"] is not None:
        row |= {end: points * row[end] for end in ("difference", "difference_low", "difference_high")}
    return row


def _of_sign_test(row: Row) -> Difference:
    """Return how far (W + D/2)/N of RWS lies above one half, in points, with p of the sign test."""
    value, low, high = (100 * row[end] - 50 for end in ("score", "low", "high"))
    return Difference(value, low, high, row["p_holm"])
