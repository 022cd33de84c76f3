"""Whether a decode's tokens are those of a plain loop, and where they part: at a counted near-tie, or without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rws_decode.plain_loop import PlainRun
from rws_decode.trace.trace import Trace


@dataclass(frozen=True)
class Difference:
    """Where an answer first parts from the plain loop's: row, and step, from 0, before which all commits are the same.

    why: "near-tie" where the trace counts a tie or near-tie at that step, of positions or candidates; "tie" where the
    plain loop met equal confidences at the cut there; None where neither is so.
    """

    row: int
    step: int
    why: str | None


@dataclass(frozen=True)
class Agreement:
    """Of `answers`, how many have the plain loop's tokens (`equal`), and the others' differences.

    near_steps: share of all steps run that have a tie or near-tie: the larger, the less a near-tie explains.
    """

    answers: int
    equal: int
    differences: tuple[Difference, ...]
    near_steps: float

    @property
    def explained(self) -> int:
        """Return how many differences a near-tie or tie explains."""
        return sum(difference.why is not None for difference in self.differences)

    @property
    def unexplained(self) -> int:
        """Return how many differences nothing explains."""
        return len(self.differences) - self.explained

    def as_data(self) -> dict[str, Any]:
        """Return what JSON holds."""
        counts = {"equal": self.equal, "explained": self.explained, "unexplained": self.unexplained}
        differences = [asdict(difference) for difference in self.differences]
        return {"answers": self.answers} | counts | {"near_steps": self.near_steps, "differences": differences}


def agreement(traces: Sequence[Trace], plain: PlainRun, counted: Callable[[], PlainRun] | None = None) -> Agreement:
    """Compare decoded rows with the plain loop's. Positions that a settled row left out are not compared.

    counted: runs the plain loop again with its ties counted; called only where a difference has no other explanation
    and `plain` did not count them.
    """
    tokens, steps = plain.tokens.cpu().numpy(), plain.commit_step.cpu().numpy()
    tied = None if plain.tied is None else plain.tied.cpu().numpy()
    differences, near_steps, run = [], 0, 0
    for row, trace in enumerate(traces):
        near = (trace.ties > 0) | (trace.near_ties > 0) | (trace.near_tokens > 0)
        near_steps, run = near_steps + int(near.sum()), run + trace.steps_run
        committed = trace.commit_step >= 0
        if (trace.tokens == tokens[row])[committed].all():
            continue
        parted = committed & ((trace.tokens != tokens[row]) | (trace.commit_step != steps[row]))
        step = int(np.minimum(trace.commit_step, steps[row])[parted].min())
        why = "near-tie" if near[step] else None
        if why is None and tied is None and counted is not None:
            again = counted()
            tied = None if again.tied is None else again.tied.cpu().numpy()
        if why is None and tied is not None and tied[row, step]:
            why = "tie"
        differences.append(Difference(row, step, why))
    return Agreement(len(traces), len(traces) - len(differences), tuple(differences), near_steps / max(run, 1))
