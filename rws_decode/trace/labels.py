"""Labels of strategies, which `as_strategy` reads back, and one-line summaries of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rws_decode.trace.data import TraceData
from rws_theory.show import clipped, shortened

# What stands after the colon of a text, the first of them; others stand after plus signs, with their names.
_FIRST = ("scale", "reward_scale", "edit", "threshold", "parallel_factor", "gamma", "sigma", "eta", "hypotheses")
_FIRST += ("gap", "stride", "n", "width", "gradients")
_UNNAMED = ("seed", "eps", "ess_threshold")
CUT_OFF = "cut off within a sentence, at its last token: rules about how it ends cannot hold"


def cut_off(rules_broken: Sequence[str] | None, text: str | None, length: int) -> bool:
    """Return whether a text breaks rules and is cut off at its length, so that some of them could not hold.

    A token is a word: a text of fewer words than tokens holds an end, or another token that is no word.
    """
    words = (text or "").split()
    return bool(rules_broken) and len(words) == length > 0 and words[-1] != "."


def strategy_label(described: Mapping[str, Any]) -> str:
    """Return a described strategy as `strategies.table.as_strategy` reads it, "rws:8", or a method as `steer` does.

    >>> strategy_label({"name": "threshold", "threshold": 0.9, "scaled": {"name": "rws", "reward_scale": 8.0}})
    'threshold:0.9+rws:8'
    >>> strategy_label({"base": {"name": "random-order"}, "beta": 2.0, "n": 8, "name": "particles"})  # as in a file
    'particles:8+beta:2'
    """
    if "base" in described:  # a steering method: its copies, its other numbers, and what its copies follow
        label, base = _joined(described["name"], _told(described)), strategy_label(described["base"])
        return label if base in ("default", "random-order", described["name"]) else f"{label}+{base}"
    if described["name"] == "spacing":
        return f"{strategy_label(described['of'])}+{described['name']}:{described['spacing']}"
    numbers = _told(described)
    count = 2 if described.get("edits") else 1  # two thresholds, and not one
    first = numbers[:count] if numbers and numbers[0][0] in _FIRST else []
    label = _joined(described["name"], first or numbers)
    scaled = described.get("scaled", {"name": "default"})
    return label if scaled["name"] == "default" else f"{label}+{strategy_label(scaled)}"


def run_label(trace: TraceData) -> str:
    """Return the label of a trace's strategy; that of a step map, which does not tell it, names the model."""
    if trace.of_step_map:
        return "step map" if trace.predictor is None else f"step map of {trace.predictor}"
    return strategy_label(trace.strategy)


def missing_note(traces: Iterable[TraceData]) -> str:
    """Return what some of the traces do not tell, in a sentence; "" where all are whole."""
    traces = list(traces)
    words = dict.fromkeys(word for trace in traces for word in trace.missing)
    source = "step map" if any(trace.of_step_map for trace in traces) else "record of tokens"
    return f"A {source} does not tell: {', '.join(words)}." if words else ""


def _told(described: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return the numbers of a description, the one after the colon first: a file has them in the order of names."""
    numbers = [
        (name, value)
        for name, value in described.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name not in _UNNAMED
    ]
    return sorted(numbers, key=lambda item: item[0] not in _FIRST)


def _joined(name: Any, numbers: Sequence[tuple[str, float]]) -> str:
    parts = [f"+{option}:{value:g}" for option, value in numbers]
    if numbers and numbers[0][0] in _FIRST:
        parts[0] = f":{numbers[0][1]:g}"
    return "".join([str(name), *parts])


def constant_factor(trace: TraceData) -> float | None:
    """Return the factor of a run that read a reward and yet scaled each step alike, within 0.1 %; None of others."""
    known = trace.factor[np.isfinite(trace.factor)]
    if trace.reward_model is None or trace.ranking == "order" or known.size < 2 or np.ptp(known) > 1e-3 * known.max():
        return None
    return float(known.mean())


def constant_note(traces: Iterable[TraceData]) -> str:
    """Return what to tell where the reward of some runs scaled each step alike, "" where none did."""
    factors = [constant_factor(trace) for trace in traces]
    alike = sorted({f"{factor:.3g}" for factor in factors if factor is not None})
    if not alike:
        return ""
    constant, runs = sum(factor is not None for factor in factors), len(factors)
    where = "" if constant == runs else f" in {constant} of {runs}"
    return f"factor {shortened(alike, 3)} at every step{where}: reward saturated or constant"


def worth(trace: TraceData) -> list[str]:
    """Return what is known of the final text, in a few words each: reward, log-probability, rules broken."""
    parts = []
    if trace.final_reward is not None:
        reward = trace.final_reward
        parts.append(f"reward {reward['raw']:.3g} ({reward['normalised']:+.2f} SD, by {reward['model']})")
    if trace.log_prob is not None:
        parts.append(f"log-probability {trace.log_prob:.2f} nats")
    if trace.rules_broken is not None:
        parts.append(f"rules broken: {len(trace.rules_broken)}")
    return parts


def trace_line(trace: TraceData, width: int = 118) -> str:
    """Return a trace in one line of at most `width` characters: strategy, model, order, reward, the text's start."""
    parts = [size_in_words(trace), f"GOD {trace.god_steps:.2f} steps"]
    parts += [f"reward {trace.final_reward['raw']:.3g}"] if trace.final_reward is not None else []
    parts += [note.partition(":")[0]] if (note := constant_note([trace])) else []
    on = "" if trace.of_step_map else f" on {trace.predictor}"
    line = f"Trace({run_label(trace)}{on}: {', '.join(parts)}"
    text = " ".join((trace.text or "").split())
    room = width - len(line) - 5
    if text and room > 12:
        line += f', "{text}"' if len(text) <= room else f', "{text[: room - 3]}..."'
    return clipped(line + ")", width)


def size_in_words(trace: TraceData) -> str:
    size = f"{trace.length} tokens in {trace.steps_run} steps"
    return f"{size}, {trace.revisions} {revised_words(trace)}" if trace.revisions else size


def revised_words(trace: TraceData) -> str:
    """Return what became of tokens that a run took away."""
    return "replaced" if trace.edited.any() else "masked again"
