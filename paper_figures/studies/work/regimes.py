"""The work of the regimes experiment: pairs of logit vectors, drawn or of real steps, held against Theorem 1."""

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
    """The logits of the eligible positions before a step: rows of `logits`, [N, V], are of `position`, [N]."""

    step: int
    factor: float
    position: NDArray[np.int64]
    logits: Floats


def work(units: Sequence[Unit]) -> list[Rows]:
    """Judge the pairs of each unit and return one row for each; `regimes` says what its columns are."""
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

    ValueError for an unknown distribution.

    >>> [a.tolist() for pair in drawn_pairs("integers", 3, 1, seed=0) for a in pair]
    [[0.0, 5.0, 0.0], [6.0, 3.0, 5.0]]
    """
    rng = _rng(seed, distribution, dimension)
    shape = (pairs, 2, dimension)
    if distribution == "gaussian":
        drawn = 2.0 * rng.standard_normal(shape)
    elif distribution == "heavy-tailed":
        drawn = 2.0 * rng.standard_t(3, shape)
    elif distribution == "integers":
        drawn = rng.integers(0, 8, shape).astype(np.float64)
    else:
        raise ValueError(f"distribution is {distribution!r}: one of {', '.join(DISTRIBUTIONS)} is needed")
    yield from ((a, b) for a, b in drawn)


def _real(unit: Unit) -> tuple[list[dict[str, Any]], list[float]]:
    """Return pairs of positions of the unit's decode, so many of each step, and the decode's factors."""
    (trace,) = decode_units([unit])
    rows = []
    for step in step_logits(unit, trace):
        every = list(combinations(range(len(step.position)), 2))
        most = min(unit.settings["pairs_per_step"], len(every))
        chosen = _rng(unit.seed, unit.example, step.step).choice(len(every), most, replace=False) if most else []
        for i, j in (every[index] for index in sorted(chosen)):
            row = pair_row(step.logits[i], step.logits[j])
            crossed = sum(1 for root in row["odd"] if (root - 1) * (root - step.factor) < 0) % 2 == 1
            where = {"step": step.step, "positions": [int(step.position[i]), int(step.position[j])]}
            rows.append(where | row | {"reversed": crossed if row["below"] is not None else None})
    return rows, trace.factor.tolist()


def step_logits(unit: Unit, trace: Trace) -> Iterator[StepLogits]:
    """Yield the logits that each step of a trace had for its eligible positions, by the forwards done again.

    One canvas at a time, so that they equal those of a decode in a batch of one; -inf is a forbidden token.
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
    """Return what is true of a pair, the position ahead at scale 1 being a: premises, crossings, verdicts.

    `sigma`, `delta`: (x_b - x_a) / (x_a + x_b) of the total and the smallest gap, in [-1, 1], whose signs are exact;
    `below`, `above`: scales in (0, 1) and in (1, inf) at which the curves meet, None if that is not proved; `printed`,
    `items`, `mended`, `corrected`: whether the theorem is true of the pair in that form, None if undecided, `items`
    being (a), (b), (c) as printed, each for itself, without "exactly one"; `no_flip`: proved by majorisation that there
    is no crossing; `roots`: the crossings found, `odd` those that change the order; `identical`: the curves are equal
    at every scale.

    >>> row = pair_row(np.array([1.0, 0.4, 0.4]), np.array([1.1, 0.6, 0.3]))
    >>> row["below"], row["above"], [round(root, 4) for root in row["roots"]], row["printed"], row["mended"]
    (0, 1, [4.8121], False, True)
    """
    a, b = (first, second) if log_odds(first, 1.0) >= log_odds(second, 1.0) else (second, first)
    verdict = theorem1(a, b)
    if verdict.parity.at_one < 0:  # closer than float64 tells
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
    # A generator of its own for each, so that no draw depends on what else is drawn.
    return np.random.default_rng(list(json.dumps(key).encode()))
