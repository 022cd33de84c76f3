"""HTML of the decoder's objects for notebooks: a table or a small picture, chosen by the object's type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from html import escape
from typing import Any

import numpy as np
import torch

from rws_decode.common.palette import BLUE, VERMILION
from rws_decode.compare import Comparison
from rws_decode.extra.diff.difference import (
    WHY,
    TraceDiff,
    later_commits,
    not_compared,
    number_text,
    setting_words,
    told_settings,
)
from rws_decode.predictors.base import MaskPredictor
from rws_decode.replay.step_logits import StepLogits, step_logits
from rws_decode.step.select import rank_values
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.labels import CUT_OFF, cut_off, missing_note, run_label, size_in_words, worth
from rws_decode.trace.trace import Trace
from rws_theory.crossings import Crossings
from rws_theory.show import figures, table_html

_WORD = "color:#111;padding:1px 3px;margin:1px;border-radius:3px;display:inline-block"
_SMALL = "font-size:90%;line-height:1.5"
_HEADS = ("reward", "log p", "GOD [tokens]", "rules broken")


def crossings(trace: Trace, step: int, i: int, j: int, predictor: MaskPredictor) -> Crossings:
    """Return the factors at which two positions of a step change places."""
    return step_logits(trace, predictor, step).crossings(i, j)


@singledispatch
def html(shown: Any) -> str:
    """Return an object as HTML without scripts; TypeError for a type that has no picture."""
    raise TypeError(f"{type(shown).__name__} has no picture")


@html.register
def _decoding(decoding: Decoding) -> str:
    rows = [[trace.prompt_text or "", trace.text or "", *_numbers(trace)] for trace in decoding]
    return known_columns(["prompt", "text", *_HEADS], rows, repr(decoding) if len(rows) > 1 else "")


@html.register
def _comparison(runs: Comparison) -> str:
    rows = [
        [(traces[0].prompt_text or "") if number == 0 else "", label, trace.text or "", *_numbers(trace)]
        for traces in zip(*runs.decodings.values(), strict=True)
        for number, (label, trace) in enumerate(zip(runs, traces, strict=True))
    ]
    return known_columns(["prompt", "strategy", "text", *_HEADS], rows, "The same prompts by several strategies")


@html.register
def _difference(difference: TraceDiff) -> str:
    rows = [setting_words(change) for change in told_settings(difference)]
    head, parting = ("", "first run", "second run"), difference.parting
    if parting is None:
        same = "The runs commit the same tokens at the same steps"
        same += f"; {not_compared(difference)}" if difference.missing else ""
        return table_html(head if rows else (), rows, same)
    rows.append(("factor", number_text(parting.factors[0]), number_text(parting.factors[1])))
    rows += [(f"word at {c.position}", repr(c.words[0]), repr(c.words[1])) for c in parting.candidates]
    for pair in parting.reversals:
        for number, position in enumerate((pair.earlier, pair.later)):
            name = f"{pair.words[number]!r} at {position} is ranked by"
            rows.append((name, number_text(pair.in_first[number]), number_text(pair.in_second[number])))
    commits, count = later_commits(difference)
    rows.append((f"later steps that commit other positions: {commits} of {count}", "", ""))
    caption = f"The runs diverge at step {parting.step}, where {WHY[parting.why]} (steps and positions count from 0)"
    caption += f"; {not_compared(difference)}" if difference.missing else ""
    return table_html(head, rows, caption)


@html.register
def _step(logits: StepLogits) -> str:
    rows, candidate = torch.tensor(logits.logits), torch.tensor(logits.candidate)
    factors = dict.fromkeys([1.0] if math.isnan(logits.factor) else [1.0, logits.factor])
    odds = [[f"{value:.2f}" for value in rank_values(rows, candidate, factor).tolist()] for factor in factors]
    head = ["position (from 0)", "word", *(f"log-odds at factor {figures(factor)}" for factor in factors), "committed"]
    committed = ["yes" if chosen else "" for chosen in logits.chosen.tolist()]
    columns = zip(map(str, logits.positions.tolist()), map(repr, logits.words), *odds, committed, strict=True)
    return known_columns(head, [list(row) for row in columns], repr(logits))


def known_columns(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return a table without the columns that are empty in all rows."""
    filled = [i for i in range(len(head)) if any(row[i] for row in rows)]
    return table_html([head[i] for i in filled], [[row[i] for i in filled] for row in rows], caption)


def _numbers(trace: Trace) -> list[str]:
    return [
        "" if trace.final_reward is None else f"{trace.final_reward['raw']:.3g}",
        "" if trace.log_prob is None else f"{trace.log_prob:.2f}",
        f"{trace.god_tokens:.2f}",
        "" if trace.rules_broken is None else str(len(trace.rules_broken)),
    ]


_EARLY, _LATE = (255, 243, 196), (134, 182, 224)  # backgrounds of words; black text has contrast 8:1 and more on both


@html.register
def _trace(trace: Trace) -> str:
    on = "" if trace.of_step_map else f" on {escape(trace.predictor)}"
    facts = [f"<b>{escape(run_label(trace))}</b>{on}"]
    facts += [size_in_words(trace), f"GOD {trace.god_steps:.2f} steps"]
    facts += [escape(part) for part in worth(trace)]
    facts += [CUT_OFF] if cut_off(trace.rules_broken, trace.text, trace.length) else []
    prompt = "" if trace.prompt_text is None else f"<div><i>{escape(trace.prompt_text)}</i></div>"
    return (
        f'<div style="{_SMALL}"><div>{"; ".join(facts)}</div>{prompt}{_answer_html(trace)}'
        f"{_steps_html(trace)}<div>{escape(_explained(trace))}</div></div>"
    )


def _answer_html(trace: Trace) -> str:
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
        return f"{text} {missing_note([trace])}".rstrip()
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


def unusual(trace: Trace, step: int) -> frozenset[int]:
    """Return the final tokens that confidence at factor 1 would not have committed at their step."""
    steps = np.arange(trace.steps_run)[:, None]
    moved = trace.chosen & ~trace.unscaled & trace.changed[:, None] & (steps <= step) & ~trace.provisional
    return frozenset(np.flatnonzero(moved.any(axis=0)).tolist())
