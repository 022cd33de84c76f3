"""The difference of two runs, as `diff.diff` returns it, and its sentences."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from textwrap import indent
from typing import Any, Literal

from rws_decode.common.page import notebook_html
from rws_decode.extra.diff.changes import Change
from rws_decode.trace.labels import strategy_label
from rws_theory.crossings import Crossing
from rws_theory.show import one_line, printable, shortened

Pair = tuple[float, float]

# Names of settings whose own name says too little, and settings that follow from others.
_NAMES = {
    "cfg": "guidance scale",
    "end_ids": "end-of-text tokens",
    "end_of_text": "end-of-text policy",
    "mask_id": "mask token",
    "predictor": "model",
    "prompt": "prompt's tokens",
    "prompt_text": "prompt",
}
_FOLLOW = {
    "prompt": ("offset", "width"),
    "prompt_text": ("prompt",),
    "length": ("width",),
    "reward_model": ("reward_settings",),
}

WHY = {
    "prompt": "the prompts are not the same",
    "plan": "they do not commit as many tokens in the same block",
    "revision": "other tokens were masked again or replaced",
    "count": "other numbers of positions were committed",
    "order": "other positions were committed",
    "candidate": "the same positions took other tokens",
}


@dataclass(frozen=True)
class CandidateChange:
    """A position masked in both runs whose candidates, known in both, differ: their token ids, and their texts."""

    position: int
    first: int
    second: int
    words: tuple[str, str]


@dataclass(frozen=True)
class StepChange:
    """A step that was not the same in both runs: positions that only one committed, and what else differs.

    `factors`, `rewards` (raw): first and second, None where they are equal; NaN for one that is not there.
    `masked_again`: the positions whose token each run masked again or replaced, None where they are the same.
    """

    step: int
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    candidates: tuple[CandidateChange, ...]
    factors: Pair | None
    rewards: Pair | None
    masked_again: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    __repr__ = one_line


@dataclass(frozen=True)
class Reversal:
    """Two positions that changed places: the first run committed `earlier` and not `later`, the second the reverse.

    `in_first`, `in_second`: ranking values of the two (earlier, later) in each run, NaN where not kept.
    `crossings`: the scales between the two runs' factors at which the exact confidences of the two positions are equal,
    on the recomputed logits. `words`: the texts of their candidates in the first run (earlier, later). `certified`: it
    is proved that the crossings listed are all of them, that the exact confidence of `earlier` is the larger at the
    first run's factor, and that of `later` at the second's; False where that is not so, and `note` says why not; None
    where no predictor was given.
    """

    earlier: int
    later: int
    words: tuple[str, str]
    in_first: Pair
    in_second: Pair
    crossings: tuple[Crossing, ...]
    certified: bool | None
    note: str

    __repr__ = one_line

    def __str__(self) -> str:
        """Return two lines: which word overtook which and where, and the ranking values of both in each run."""
        scales = " and ".join(f"{crossing.root:.4g}" for crossing in self.crossings)
        several = "s" if len(self.crossings) > 1 else ""
        where = f" at factor{several} {scales}" if self.certified else f" ({printable(self.note)})" if self.note else ""
        (earlier, later), (a, b), (c, d) = self.words, self.in_first, self.in_second
        overtaking = f"{later!r} at {self.later} overtakes {earlier!r} at {self.earlier}{where}"
        if all(map(math.isnan, (a, b, c, d))):
            return overtaking
        return (
            f"{overtaking}\n  the two are ranked by {number_text(b)} and {number_text(a)} in the first run, "
            f"by {number_text(d)} and {number_text(c)} in the second"
        )


@dataclass(frozen=True)
class Parting:
    """The first step at which the runs did not commit the same, and why.

    why: "prompt", another prompt or mask; "plan", the step commits elsewhere, or other numbers of tokens, or was run by
    one alone; "revision", other tokens were masked again or replaced; "count", a strategy counted other numbers of
    tokens, and `reversals` may be empty; "order", the sets of positions differ, by `reversals`; "candidate", the same
    positions took other tokens.
    factors: of the first run and of the second, NaN where not known.
    """

    step: int
    why: Literal["prompt", "plan", "revision", "count", "order", "candidate"]
    factors: Pair
    candidates: tuple[CandidateChange, ...]
    reversals: tuple[Reversal, ...]

    __repr__ = one_line


@dataclass(frozen=True, repr=False)
class TraceDiff:
    """The difference of two runs. `same`: the same tokens committed at the same steps, so that there is no `parting`.

    `settings`: those that differ; `steps`: every step run by both in which committed sets, candidates, factors or
    rewards differ, before `parting` and after it; `steps_run`: by both. `missing`: what a step map does not tell, and
    so was not compared (`Trace.missing`).
    """

    same: bool
    settings: tuple[Change, ...]
    parting: Parting | None
    steps: tuple[StepChange, ...]
    steps_run: int
    missing: tuple[str, ...] = ()

    def __repr__(self) -> str:
        if self.parting is None:
            return "TraceDiff(the same tokens at the same steps)"
        return f"TraceDiff(parted at step {self.parting.step}: {WHY[self.parting.why]}; print it for the rest)"

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    def as_json(self) -> dict[str, Any]:
        """Return the difference as JSON-ready data, NaN as None."""
        return _plain(asdict(self))

    def __str__(self) -> str:
        settings = map(setting_words, told_settings(self))
        lines = [printable(f"{name}: {a} in the first run, {b} in the second") for name, a, b in settings]
        lines += [not_compared(self)] if self.missing else []
        parting = self.parting
        if parting is None:
            return "\n".join([*lines, "the runs commit the same tokens at the same steps"])
        step, (first, second) = parting.step, map(number_text, parting.factors)
        begun = f"the runs diverge at step {step}, where {WHY[parting.why]}"
        if not self.missing:
            factors = f"{first} in both" if first == second else f"{first} in the first run, {second} in the second"
            begun += f"; the factor is {factors}"
        changes = [f"at {c.position} stand {c.words[0]!r} and {c.words[1]!r}" for c in parting.candidates]
        pairs = [indent(text, "  ") for text in (*changes, *map(str, parting.reversals))]
        return "\n".join([*lines, begun, "  (steps and positions count from 0)", *pairs, _later(self, step)])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def setting_words(change: Change) -> tuple[str, str, str]:
    """Return the name of a setting and its two values in words.

    >>> setting_words(Change("strategy", {"name": "default"}, {"name": "rws", "reward_scale": 8.0}))
    ('strategy', 'default', 'rws:8')
    """
    name = _NAMES.get(change.name, change.name.replace("_", " "))
    if change.name == "strategy" and strategy_label(change.first) != strategy_label(change.second):
        return name, strategy_label(change.first), strategy_label(change.second)
    return name, *change.words()


def not_compared(difference: TraceDiff) -> str:
    """Return a sentence on the fields that were not compared, as a step map lacks them."""
    return f"not compared, as a step map does not tell: {', '.join(difference.missing)}"


def number_text(value: float) -> str:
    """Return a number as text, "not known" for NaN."""
    return "not known" if math.isnan(value) else f"{value:.4g}"


def told_settings(difference: TraceDiff) -> list[Change]:
    """Return the settings that differ, without those that follow from another one that does."""
    names = {change.name for change in difference.settings}
    hidden = {name for cause, following in _FOLLOW.items() if cause in names for name in following}
    return [change for change in difference.settings if change.name not in hidden]


def later_commits(difference: TraceDiff) -> tuple[int, int]:
    """Return how many steps after `parting` commit other positions, and how many steps follow it in all."""
    parted = -1 if difference.parting is None else difference.parting.step
    later = [change for change in difference.steps if change.step > parted]
    return sum(bool(change.only_first or change.only_second) for change in later), difference.steps_run - parted - 1


def _later(difference: TraceDiff, parted: int) -> str:
    differing = [change.step for change in difference.steps if change.step > parted]
    if not differing:
        return "no later step differs"
    commits, count = later_commits(difference)
    where = "this and every later step" if len(differing) == count else f"steps {shortened(differing, 10)}"
    differing_commits = f"{commits} of the {count} later steps commit other positions"
    if difference.missing:
        return differing_commits
    return f"{differing_commits}; factors, rewards or candidates differ at {where}"
