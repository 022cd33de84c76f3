"""The judges of a run on dialogues and their verdicts: LLMs if any judged, else reward models. For Tables 2 and 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.exhibits.differences import Difference, difference_from_row
from paper_figures.exhibits.names import controls_of, guide_names
from paper_figures.exhibits.runs import Results, lookup, read_run

Row = Mapping[str, Any]

ASKS = "`python -m paper_figures experiment mt-bench --out RUNS --llm-judge MODEL --base-url URL`"
# What tells the verdicts of one LLM judge from those of another.
_ABOUT = ("judge", "judge_prompt", "endpoint", "settings")


@dataclass(frozen=True)
class Judge:
    """One judge's results: its name, and how sentences call its judgement.

    values: (reward model, method) -> mean, low, high, n: the share preferred to the default in percent, draws counted
    half; less: the same keys -> RWS minus the method in points of that share. about: what tells an LLM's rows from
    another LLM's, empty for reward models.
    """

    name: str
    called: str
    values: Mapping[tuple[str, str], Row]
    less: Mapping[tuple[str, str], Difference]
    about: Mapping[str, str]

    def minus(self, method: str) -> list[Difference]:
        """Return RWS minus the method, for each reward model that has both."""
        return [difference for (_, other), difference in self.less.items() if other == method]


@dataclass(frozen=True)
class Dialogues:
    """A run: its reward models as tables call them, its methods, RWS first, its judges; llm: whether these are LLMs."""

    run: Results
    guides: tuple[str, ...]
    methods: tuple[str, ...]
    judges: tuple[Judge, ...]
    llm: bool


def judged_dialogues(runs: Path) -> Dialogues:
    """Read the verdicts of the run on dialogues; MissingRun, with the command, if it is missing.

    The judges are LLMs if any has judged; else each guide itself, and the mean over all other reward models.
    """
    run = read_run(runs, "mt-bench")
    rows: Sequence[Row] = run.rows.get("llm_win_rates", ())
    asked = _distinct([{name: row[name] for name in _ABOUT if name in row} for row in rows])
    if asked:
        judges = [_judge(_llm_name(about, asked), rows, "both", about) for about in asked]
    else:
        rows = run.rows.get("win_rates", ())
        judges = [
            _judge("own guide", rows, "net", {}, "in the judgement of its own guide"),
            _judge("other reward models", rows, "others_net", {}, "in the judgement of the other reward models"),
        ]
    guides = tuple(dict.fromkeys(guide_names(rows).values()))
    if not guides:
        raise ValueError(f"{runs / 'mt-bench'} has no table win_rates: no answer was judged")
    present = {row["method"] for row in rows}
    methods = [name for name in ("rws", *controls_of(rows), "default") if name in present]
    return Dialogues(run, guides, tuple(methods), tuple(judge for judge in judges if judge.values), bool(asked))


def _distinct(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    return [row for index, row in enumerate(rows) if row not in rows[:index]]


def _llm_name(about: Mapping[str, str], asked: Sequence[Mapping[str, str]]) -> str:
    differing = (about[name] for name in about if name != "judge" and len({row[name] for row in asked}) > 1)
    return ", ".join([about["judge"], *differing])


def _judge(name: str, rows: Sequence[Row], measure: str, about: Mapping[str, str], called: str | None = None) -> Judge:
    """Return one judge's results; `both` is a share, the others are nets, whose share is 50 (1 + net)."""
    points = 100.0 if measure == "both" else 50.0
    values: dict[tuple[str, str], Row] = {}
    less: dict[tuple[str, str], Difference] = {}
    for (guide, scale), label in guide_names(rows).items():
        for method in dict.fromkeys(row["method"] for row in rows):
            row = lookup(rows, guide=guide, reward_scale=scale, method=method, measure=measure, **about)
            if (value := preferred(row, points)) is None:
                continue
            values[label, method] = value
            if (against := difference_from_row(label, row, points)) is not None:
                less[label, method] = against
    return Judge(name, called or f"in the judgement of {name}", values, less, about)


def preferred(row: Row | None, points: float = 50.0) -> dict[str, Any] | None:
    """Return a row's mean and interval as a share preferred in percent; None if it has no mean.

    points: 100 for a share, 50 for a net win rate, whose share, draws counted half, is 50 (1 + net) percent.

    >>> preferred({"mean": 0.2, "low": 0.0, "high": 0.5, "n": 8})
    {'mean': 60.0, 'low': 50.0, 'high': 75.0, 'n': 8}
    """
    if row is None or row["mean"] is None:
        return None
    return {end: 100.0 - points + points * row[end] for end in ("mean", "low", "high")} | {"n": row["n"]}


def verdict_of(data: Dialogues) -> str:
    """Return in words who judged, and what is unknown if only reward models did."""
    if data.llm:
        names = "; ".join(f"{judge.name}, prompt {judge.about['judge_prompt']}" for judge in data.judges)
        return f"Judged by an LLM ({names}) in both orders; dialogues with the same texts count half."
    return (
        "No LLM has judged these dialogues: reward models have, each guide itself and all others, answer by answer, "
        f"means over the two turns, draws counted half. {ASKS} asks an LLM, whose verdicts then stand here."
    )
