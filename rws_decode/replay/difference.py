"""How two runs differ: what `diff.diff` returns, and how it is told in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rws_decode.replay.face import WHY, difference_html, difference_text, known, setting_words
from rws_theory.crossings import Crossing
from rws_theory.show import one_line, printable

__all__ = ["CandidateChange", "Pair", "Parting", "Reversal", "SettingChange", "StepChange", "TraceDiff"]

Pair = tuple[float, float]


@dataclass(frozen=True)
class SettingChange:
    """A setting, or the prompt's ids, in the first run and in the second."""

    name: str
    first: Any
    second: Any

    def __repr__(self) -> str:
        return one_line(self)

    def __str__(self) -> str:
        name, first, second = setting_words(self)
        return f"{name}: {first} in the first run, {second} in the second"


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
    `masked_again`: the positions whose token each run masked again, None where they are the same.
    """

    step: int
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    candidates: tuple[CandidateChange, ...]
    factors: Pair | None
    rewards: Pair | None
    masked_again: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    def __repr__(self) -> str:
        return one_line(self)


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

    def __repr__(self) -> str:
        return one_line(self)

    def __str__(self) -> str:
        """Say in two lines which word overtook which and where, and by which values each run ranked the two."""
        at = " and ".join(f"{crossing.root:.4g}" for crossing in self.crossings)
        several = "s" if len(self.crossings) > 1 else ""
        where = f" at factor{several} {at}" if self.certified else f" ({printable(self.note)})" if self.note else ""
        (earlier, later), (a, b), (c, d) = self.words, self.in_first, self.in_second
        return (
            f"{later!r} at {self.later} overtakes {earlier!r} at {self.earlier}{where}\n"
            f"  the two are ranked by {known(b)} and {known(a)} in the first run, "
            f"by {known(d)} and {known(c)} in the second"
        )


@dataclass(frozen=True)
class Parting:
    """The first step at which the runs did not commit the same, and why.

    why: "prompt", another prompt or mask; "plan", the step commits elsewhere, or other numbers of tokens, or was run by
    one alone; "revision", other tokens were masked again; "count", a strategy counted other numbers of tokens, and
    `reversals` may be empty; "order", the sets of positions differ, by `reversals`; "candidate", the same positions
    took other tokens.
    factors: of the first run and of the second, NaN where not known.
    """

    step: int
    why: Literal["prompt", "plan", "revision", "count", "order", "candidate"]
    factors: Pair
    candidates: tuple[CandidateChange, ...]
    reversals: tuple[Reversal, ...]

    def __repr__(self) -> str:
        return one_line(self)


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
        return f"TraceDiff(parted at step {self.parting.step}: {WHY[self.parting.why]}; print it for the rest)"

    def _repr_html_(self) -> str:
        return difference_html(self)

    def as_json(self) -> dict[str, Any]:
        """Return the difference as JSON-ready data, NaN as None."""
        return _plain(asdict(self))

    def __str__(self) -> str:
        return difference_text(self)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
