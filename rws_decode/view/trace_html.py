"""A trace as a notebook shows it: a small picture of text and steps, in HTML without scripts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from rws_decode.common.palette import BLUE, VERMILION
from rws_decode.trace.labels import CUT_OFF, cut_off, size_in_words, strategy_label, worth
from rws_decode.trace.trace import Trace
from rws_decode.view.lockstep import unusual

_EARLY, _LATE = (255, 243, 196), (134, 182, 224)  # backgrounds of words; black text has contrast 8:1 and more on both
_WORD = "color:#111;padding:1px 3px;margin:1px;border-radius:3px;display:inline-block"
_SMALL = "font-size:90%;line-height:1.5"


def trace_html(trace: Trace) -> str:
    """Return a trace as HTML without scripts: what the run was, its text by commit step, reward and factor by step."""
    said = [f"<b>{escape(strategy_label(trace.strategy))}</b> on {escape(trace.predictor)}"]
    said += [size_in_words(trace), f"GOD {trace.god_steps:.2f} steps"]
    said += [escape(part) for part in worth(trace)]
    said += [CUT_OFF] if cut_off(trace.rules_broken, trace.text, trace.length) else []
    prompt = "" if trace.prompt_text is None else f"<div><i>{escape(trace.prompt_text)}</i></div>"
    return (
        f'<div style="{_SMALL}"><div>{"; ".join(said)}</div>{prompt}{answer_html(trace)}'
        f"{_steps_html(trace)}<div>{escape(_explained(trace))}</div></div>"
    )


def answer_html(trace: Trace) -> str:
    """Return the answer's words coloured by commit step; outlined are those that factor 1 would not have committed."""
    early = unusual(trace, trace.steps_run)
    words = []
    for position, (word, step) in enumerate(zip(trace.words(trace.tokens), trace.commit_step.tolist(), strict=True)):
        share = 0.0 if trace.steps_run < 2 else max(step, 0) / (trace.steps_run - 1)
        color = "#{:02x}{:02x}{:02x}".format(*(round(a + share * (b - a)) for a, b in zip(_EARLY, _LATE, strict=True)))
        outline = f"outline:2px solid {VERMILION}" if position in early else ""
        when = f"position {position}, " + ("not committed" if step < 0 else f"step {step}")
        title = when + (": not at factor 1" if position in early else "")
        shown = escape(word.strip() or word) or "&nbsp;"
        words.append(f'<span style="background:{color};{_WORD};{outline}" title="{title}">{shown}</span>')
    return f'<div style="margin:4px 0">{"".join(words)}</div>'


def _explained(trace: Trace) -> str:
    text = "Words go from pale (committed first) to blue (last)."
    if not trace.unscaled.any():
        return text
    changed = int(trace.changed.sum())
    if not changed:
        return f"{text} At factor 1 every step would have committed the same."
    outlined = len(unusual(trace, trace.steps_run))
    steps = f"{changed} of {trace.steps_run} steps"
    return f"{text} {steps} would have committed otherwise at factor 1: the {outlined} outlined words would wait."


def _steps_html(trace: Trace) -> str:
    """Return reward and factor by step as an inline picture; nothing where the factor never differs from 1."""
    factor = trace.factor
    if not (np.isfinite(factor) & (factor != 1)).any():
        return ""
    rows = [_bars("factor", factor.tolist(), trace.changed.tolist())]
    if np.isfinite(trace.reward_raw).any():
        rows.append(_bars("normalised reward", trace.reward_normalised.tolist(), trace.changed.tolist()))
    return "".join(rows)


def _bars(name: str, values: Sequence[float], changed: Sequence[bool]) -> str:
    """Return a row of bars, one a step, orange where the step would have committed otherwise at factor 1."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(0.0, *finite), max(0.0, *finite)
    span = (high - low) or 1.0
    height, width, bars = 40, 10, []
    for step, (value, moved) in enumerate(zip(values, changed, strict=True)):
        if not math.isfinite(value):
            bars.append(f'<text x="{step * width + 2}" y="{height}" font-size="9" fill="#777">\u00b7</text>')
            continue
        top, bottom = ((high - part) / span * height for part in (max(value, 0.0), min(value, 0.0)))
        fill = VERMILION if moved else BLUE
        bars.append(
            f'<rect x="{step * width + 1}" y="{top:.1f}" width="{width - 2}" height="{max(bottom - top, 1):.1f}" '
            f'fill="{fill}"><title>step {step}: {name} {value:.4g}</title></rect>'
        )
    label = f"{name} by step, from {min(finite):.3g} to {max(finite):.3g}"
    return (
        f'<div>{label}</div><svg role="img" aria-label="{label}" width="{len(values) * width}" height="{height}" '
        f'viewBox="0 0 {len(values) * width} {height}" style="max-width:100%">{"".join(bars)}</svg>'
    )
