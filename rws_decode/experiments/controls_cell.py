"""The work of the controls experiment: units of one batch decoded, and every answer measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rws_decode.experiments.decoding import decode_units, reward_of
from rws_decode.experiments.units import Unit
from rws_decode.rewards.base import score_checked
from rws_decode.stories.answers import judge

__all__ = ["measure"]


def measure(units: Sequence[Unit]) -> list[list[dict[str, Any]]]:
    """Decode units of one batch and return one row for each; the module `controls` says what each column is."""
    started = time.perf_counter()
    done = decode_units(units)
    first = units[0]
    prompts, texts = [unit.prompt for unit in units], [trace.text or "" for trace in done]
    guide = score_checked(reward_of(first.reward or "", first.device), prompts, texts)
    judged = score_checked(reward_of(first.judges[0], first.device), prompts, texts)
    seconds = (time.perf_counter() - started) / len(units)
    rows = []
    for unit, trace, text, raw, score in zip(units, done, texts, guide, judged, strict=True):
        story = judge(unit.prompt, text)
        drawn = first.sampling_temperature > 0
        rows.append(
            {
                "text": text,
                "guide_score": raw,
                "judge_score": score,
                "coherent": None if story.kind == "free" else story.coherent,
                "violations": None if story.kind == "free" else len(story.violations),
                "god_tokens": trace.god_tokens,
                "god_steps": trace.god_steps,
                "mean_factor": float(trace.factor.mean()),
                "rewards": trace.reward_normalised.tolist() if trace.strategy["name"] == "rws" else None,
                "forwards": trace.forwards,
                # What best of N asks: one score of each sample's answer.
                "reward_calls": 1 if drawn else trace.reward_calls,
                "seconds": seconds,
            }
        )
    return [[row] for row in rows]
