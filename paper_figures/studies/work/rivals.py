"""Do the work of the rivals study: decode a batch by its strategy, and measure each final text alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.studies.work.decoding import predictor_for, prompt_of, reward_for, strategy_of
from rws_decode.decode import decode
from rws_decode.settings import Options, Shape
from rws_decode.trace.trace import Trace

__all__ = ["work"]


def work(units: Sequence[Unit]) -> list[Rows]:
    """Decode the units of one batch and return one row for each; `studies.rivals` describes the columns."""
    first = units[0]
    run = decode(
        predictor_for(first),
        [prompt_of(unit) for unit in units],
        strategy_of(units),
        Shape(first.length, first.steps, first.block),
        reward=reward_for(first, first.reward) if first.reward else None,
        options=Options(
            cfg=first.settings.get("cfg") or 0.0,
            end_of_text=first.settings.get("end_of_text") or "none",
            seed=[unit.seed for unit in units],
        ),
    )
    return [[_row(trace)] for trace in run]


def _row(trace: Trace) -> dict[str, Any]:
    return {
        "text": trace.text,
        "final_reward": None if trace.final_reward is None else trace.final_reward["raw"],
        "log_prob": trace.log_prob,
        "rules_broken": None if trace.rules_broken is None else len(trace.rules_broken),
        "god_steps": trace.god_steps,
        "god_tokens": trace.god_tokens,
        "forwards": trace.forwards,
        "tokens_per_forward": trace.length / trace.forwards,
        "reward_calls": trace.reward_calls,
        "changed_steps": int(trace.changed.sum()),
    }
