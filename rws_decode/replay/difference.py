"""How two runs differ: what `diff.diff` returns, and how it is told in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rws_decode.trace.face import strategy_label
from rws_theory.crossings import Crossing

__all__ = ["CandidateChange", "Pair", "Parting", "Reversal", "SettingChange", "StepChange", "TraceDiff"]

Pair = tuple[float, float]

_WHY = {
    "prompt": "the prompts are not the same",
    "plan": "they do not commit as many tokens in the same block",
    "order": "other positions were committed",
    "candidate": "the same positions took other tokens",
}


@dataclass(frozen=True)
class SettingChange:
    """A setting, or the prompt's ids, in the first run and in the second."""

    name: str
    first: Any
    second: Any

    def __str__(self) -> str:
        if self.name == "strategy":
            return f"strategy: {strategy_label(self.first)} | {strategy_label(self.second)}"
        return f"{self.name}: {self.first!r} | {self.second!r}"


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
    """

    step: int
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    candidates: tuple[CandidateChange, ...]
    factors: Pair | None
    rewards: Pair | None


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

    def __str__(self) -> str:
        at = " and ".join(f"{crossing.root:.4g}" for crossing in self.crossings)
        where = f" at c = {at}" if self.certified else f" ({self.note})" if self.note else ""
        earlier, later = self.words
        before, after = _values(self.in_first[::-1]), _values(self.in_second[::-1])
        return (
            f"{later!r} at {self.later} overtakes {earlier!r} at {self.earlier}{where}; "
            f"their values are {before} in the first run, {after} in the second"
        )


@dataclass(frozen=True)
class Parting:
    """The first step at which the runs did not commit the same, and why.

    why: "prompt", another prompt or mask; "plan", the step commits elsewhere, or other numbers of tokens, or was run by
    one alone; "order", the sets of positions differ, by `reversals`; "candidate", the same positions took other tokens.
    factors: of the first run and of the second, NaN where not known.
    """

    step: int
    why: Literal["prompt", "plan", "order", "candidate"]
    factors: Pair
    candidates: tuple[CandidateChange, ...]
    reversals: tuple[Reversal, ...]


@dataclass(frozen=True, repr=False)
class TraceDiff:
    """How two runs differ. `same`: the same tokens committed at the same steps, so that there is no `parting`.

    `settings`: those that differ; `steps`: every step run by both in which committed sets, candidates, factors or
    rewards differ, before the parting and after it; `steps_run`: by both.
    """

    same: bool
    settings: tuple[SettingChange, ...]
    parting: Parting | None
    steps: tuple[StepChange, ...]
    steps_run: int

    def __repr__(self) -> str:
        if self.parting is None:
            return "TraceDiff(the same tokens at the same steps)"
        return f"TraceDiff(parted at step {self.parting.step}: {_WHY[self.parting.why]}; print it for the rest)"

    def as_json(self) -> dict[str, Any]:
        """Return the difference as JSON-ready data, NaN as None."""
        return _plain(asdict(self))

    def __str__(self) -> str:
        known = {change.name for change in self.settings}
        # Another reward model has other settings.
        hidden = {"reward_settings"} if "reward_model" in known else set()
        lines = [str(change) for change in self.settings if change.name not in hidden]
        if self.parting is None:
            return "\n".join([*lines, "the runs commit the same tokens at the same steps"])
        parting = self.parting
        lines.append(f"the runs part at step {parting.step}: {_WHY[parting.why]}; factors {_two(parting.factors)}")
        lines += [f"  at {c.position} stands {c.words[0]!r} | {c.words[1]!r}" for c in parting.candidates]
        lines += [f"  {pair}" for pair in parting.reversals]
        return "\n".join([*lines, self._later(parting.step)])

    def _later(self, parted: int) -> str:
        """Say which steps after the parting differ."""
        later = range(parted + 1, self.steps_run)
        differing = [change for change in self.steps if change.step > parted]
        if not differing:
            return "no later step differs"
        commits = sum(bool(change.only_first or change.only_second) for change in differing)
        said = f"{commits} of the {len(later)} later steps commit other positions"
        if len(differing) == len(later):
            return f"{said}; factors, rewards or candidates differ at this and every later step"
        return f"{said}; factors, rewards or candidates differ at {', '.join(str(change.step) for change in differing)}"


def _values(pair: Pair) -> str:
    return " and ".join("not known" if math.isnan(value) else f"{value:.4g}" for value in pair)


def _two(pair: Pair) -> str:
    return " | ".join("not known" if math.isnan(value) else f"{value:.6g}" for value in pair)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
