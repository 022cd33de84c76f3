"""Do the work of the regimes experiment: compare pairs of logit vectors with Theorem 1.

The pairs are drawn at random, or they are of real steps.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.studies.work.decoding import decode_units, predictor_for
from rws_decode.canvas.layout import lay_out
from rws_decode.common.threads import torch_threads
from rws_decode.step.forward import masked_logits
from rws_decode.trace.trace import Trace
from rws_theory.confidence import log_odds
from rws_theory.theorem1 import Clause, theorem1

__all__ = ["DISTRIBUTIONS", "drawn_pairs", "pair_row", "step_logits", "work"]

Floats = NDArray[np.float64]

DISTRIBUTIONS = {
    "gaussian": "normal of deviation 2",
    "heavy-tailed": "twice Student's t of 3 degrees of freedom",
    "integers": "whole numbers from 0 to 7, all as likely",
}


class StepLogits(NamedTuple):
    """The logits of the eligible positions before a step, whose factor is `factor`.

    Each row of `logits`, [N, V], belongs to the position in the same row of `position`, [N].
    """

    step: int
    factor: float
    position: NDArray[np.int64]
    logits: Floats


def work(units: Sequence[Unit]) -> list[Rows]:
    """Judge the pairs of each unit and return one row for each.

    A row has `pairs` (see `pair_row`), `factors`, those of the decode (none for random pairs), and `seconds`.
    """
    return [[_row(unit)] for unit in units]


def _row(unit: Unit) -> dict[str, Any]:
    started = time.perf_counter()
    if unit.strategy["name"] == "random-logits":
        numbers = {name: value for name, value in unit.strategy.items() if name != "name"}
        pairs, factors = [pair_row(a, b) for a, b in drawn_pairs(**numbers, seed=unit.seed)], []
    else:
        pairs, factors = _real(unit)
    return {"pairs": pairs, "factors": factors, "seconds": time.perf_counter() - started}


def drawn_pairs(distribution: str, dimension: int, pairs: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield pairs of independent logit vectors, [dimension] each, with entries as `DISTRIBUTIONS` says.

    ValueError is raised for an unknown distribution.

    >>> [a.tolist() for pair in drawn_pairs("integers", 3, 1, seed=0) for a in pair]
    [[0.0, 5.0, 0.0], [6.0, 3.0, 5.0]]
    """
    rng = _rng(seed, distribution, dimension)
    shape = (pairs, 2, dimension)
    if distribution == "gaussian":
        logits = 2.0 * rng.standard_normal(shape)
    elif distribution == "heavy-tailed":
        logits = 2.0 * rng.standard_t(3, shape)
    elif distribution == "integers":
        logits = rng.integers(0, 8, shape).astype(np.float64)
    else:
        raise ValueError(f"distribution is {distribution!r}: one of {', '.join(DISTRIBUTIONS)} is needed")
    yield from ((a, b) for a, b in logits)


def _real(unit: Unit) -> tuple[list[dict[str, Any]], list[float]]:
    """Decode the unit; return pairs of positions, the same number of each step, and the factors of the decode.

    A step with fewer pairs than `pairs_per_step` gives all of them.
    """
    (trace,) = decode_units([unit])
    rows = []
    for step in step_logits(unit, trace):
        pairs = list(combinations(range(len(step.position)), 2))
        count = min(unit.settings["pairs_per_step"], len(pairs))
        chosen = _rng(unit.seed, unit.example, step.step).choice(len(pairs), count, replace=False) if count else []
        for i, j in (pairs[index] for index in sorted(chosen)):
            row = pair_row(step.logits[i], step.logits[j])
            crossed = sum(1 for root in row["odd"] if (root - 1) * (root - step.factor) < 0) % 2 == 1
            where = {"step": step.step, "positions": [int(step.position[i]), int(step.position[j])]}
            rows.append(where | row | {"reversed": crossed if row["below"] is not None else None})
    return rows, trace.factor.tolist()


def step_logits(unit: Unit, trace: Trace) -> Iterator[StepLogits]:
    """Yield the logits that each step of a trace had at its eligible positions; the forwards are done again.

    One canvas is read at a time, so that the logits equal those of a decode in a batch of one. The logit of a forbidden
    token is -inf.
    """
    predictor = predictor_for(unit)
    canvas = lay_out(predictor, [trace.prompt.tolist()], trace.length)
    for step in range(trace.steps_run):
        canvas.ids[0, canvas.answer[0]] = torch.from_numpy(trace.canvas[step].copy()).to(canvas.ids.device)
        with torch_threads(), torch.inference_mode():
            masked = masked_logits(
                predictor,
                canvas,
                torch.from_numpy(trace.eligible[step][None].copy()).to(canvas.ids.device),
                cfg=trace.cfg,
                suppressed=trace.end_ids if trace.end_of_text == "suppress" else (),
            )
        logits = masked.logits.double().cpu().numpy()
        yield StepLogits(step, float(trace.factor[step]), masked.position.cpu().numpy(), logits)


def pair_row(first: Floats, second: Floats) -> dict[str, Any]:
    """Return what is true of a pair of logit vectors: premises, crossings and verdicts.

    Position a is the one ahead at scale 1. The keys are:

    - `sigma`, `delta`: (x_b - x_a) / (x_a + x_b) of the total and of the smallest gap, in [-1, 1], with exact signs;
    - `below`, `above`: at how many scales in (0, 1), and in (1, inf), the curves meet; None if that is not proved;
    - `printed`, `items`, `mended`, `corrected`: whether the theorem in that form is true of the pair, None if
      undecided; the items are (a), (b), (c) as printed, each by itself, without "exactly one";
    - `no_flip`: whether majorisation proves that there is no crossing;
    - `roots`: the crossings found; `odd`: those that change the order;
    - `bound`: Laguerre's upper bound on the number of crossings;
    - `identical`: whether the curves are equal at every scale.

    >>> row = pair_row(np.array([1.0, 0.4, 0.4]), np.array([1.1, 0.6, 0.3]))
    >>> row["below"], row["above"], [round(root, 4) for root in row["roots"]], row["printed"], row["mended"]
    (0, 1, [4.8121], False, True)
    """
    a, b = (first, second) if log_odds(first, 1.0) >= log_odds(second, 1.0) else (second, first)
    verdict = theorem1(a, b)
    if verdict.parity.at_one < 0:  # float64 cannot tell which is ahead
        verdict = theorem1(b, a)
    return {
        "sigma": _relative(*verdict.sigma),
        "delta": _relative(*verdict.delta),
        "below": verdict.below_one,
        "above": verdict.above_one,
        "printed": verdict.printed_holds,
        "items": _all_hold([claim for claim in verdict.printed if claim.name != "exclusive"]),
        "mended": verdict.mended_holds,
        "corrected": _all_hold(verdict.corrected),
        "no_flip": verdict.no_flip,
        "roots": [crossing.root for crossing in verdict.crossings.crossings],
        "odd": [crossing.root for crossing in verdict.crossings.crossings if (crossing.multiplicity or 0) % 2],
        "bound": verdict.crossings.bound,
        "identical": verdict.crossings.identical,
    }


def _relative(a: Any, b: Any) -> float:
    if a == b:
        return 0.0
    if math.isinf(a) or math.isinf(b):
        return 1.0 if b > a else -1.0
    share = float((b - a) / (a + b))
    return share or math.copysign(5e-324, b - a)  # a difference below float64 keeps its sign


def _all_hold(claims: Sequence[Clause]) -> bool | None:
    verdicts = [claim.holds for claim in claims]
    return False if False in verdicts else None if None in verdicts else True


def _rng(*key: Any) -> np.random.Generator:
    # Each draw has its own generator, so that it does not depend on what else is drawn.
    return np.random.default_rng(list(json.dumps(key).encode()))
