"""Do the work of the precision experiment: decode units, and count what rounding did to each answer's order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.studies.work.decoding import decode_units
from rws_decode.trace.trace import Trace


def work(units: Sequence[Unit]) -> list[Rows]:
    """Decode the units of one batch and return one row for each; `studies.precision` describes the columns."""
    started = time.perf_counter()
    decoding = decode_units(units)
    seconds = (time.perf_counter() - started) / len(units)
    return [[_row(trace) | {"seconds": seconds}] for trace in decoding]


def _row(trace: Trace) -> dict[str, Any]:
    return {
        "text": trace.text,
        "tokens": trace.tokens.tolist(),
        "commit_step": trace.commit_step.tolist(),
        "mean_factor": float(trace.factor.mean()),
        "rewards": trace.reward_normalised.tolist() if trace.strategy["name"] == "rws" else None,
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "steps_run": trace.steps_run,
        "inexact": int(trace.inexact.sum()),
        "tied": int((trace.ties > 0).sum()),
        "near_tied": int((trace.near_ties > 0).sum()),
        "saturated": int(trace.saturated.sum()),
        "eligible": int(trace.eligible.sum()),
    }
