"""How traces show themselves: one line in a terminal, a small picture of text and steps in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from rws_decode.common.palette import BLUE, VERMILION
from rws_decode.mini.stories import answers as stories
from rws_theory.show import clipped, table_html

if TYPE_CHECKING:
    from rws_decode.trace.decoding import Decoding
    from rws_decode.trace.trace import Trace

# What stands after the colon of a text; others stand after plus signs, with their names.
_FIRST = ("scale", "reward_scale", "threshold", "parallel_factor", "gamma", "sigma", "eta", "hypotheses")
_FIRST += ("n", "width", "gradients")
_UNNAMED = ("seed", "eps", "ess_threshold")
_EARLY, _LATE = (255, 243, 196), (134, 182, 224)  # backgrounds of words; black text has contrast 8:1 and more on both
_WORD = "color:#111;padding:1px 3px;margin:1px;border-radius:3px;display:inline-block"
_SMALL = "font-size:90%;line-height:1.5"


CUT_OFF = "cut off within a sentence, at its last token: rules about how it ends cannot hold"


def cut_off(rules_broken: Sequence[str] | None, text: str | None, length: int) -> bool:
    """Return whether a text breaks rules and is cut off at its length, so that some of them could not hold."""
    return bool(rules_broken) and text is not None and stories.cut_off(text, length)


def strategy_label(described: Mapping[str, Any]) -> str:
    """Return a described strategy as `strategies.table.as_strategy` reads it, "rws:8", or a method as `steer` does.

    >>> strategy_label({"name": "threshold", "threshold": 0.9, "scaled": {"name": "rws", "reward_scale": 8.0}})
    'threshold:0.9+rws:8'
    >>> strategy_label({"base": {"name": "random-order"}, "beta": 2.0, "n": 8, "name": "particles"})  # as in a file
    'particles:8+beta:2'
    """
    if "base" in described:
        return _method_label(described)
    numbers = _told(described)
    first = numbers[:1] if numbers and numbers[0][0] in _FIRST else []
    label = _joined(described["name"], first or numbers)
    scaled = described.get("scaled", {"name": "default"})
    return label if scaled["name"] == "default" else f"{label}+{strategy_label(scaled)}"


def _method_label(described: Mapping[str, Any]) -> str:
    """Return a steering method: its copies, its other numbers but for `ess_threshold`, and what its copies follow."""
    label, base = _joined(described["name"], _told(described)), strategy_label(described["base"])
    return label if base in ("default", "random-order", described["name"]) else f"{label}+{base}"


def _told(described: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return the numbers of a description, the one after the colon first: a file has them in the order of names."""
    numbers = [
        (name, value)
        for name, value in described.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name not in _UNNAMED
    ]
    return sorted(numbers, key=lambda item: item[0] not in _FIRST)


def _joined(name: Any, numbers: Sequence[tuple[str, float]]) -> str:
    parts = [f":{value:g}" if option in _FIRST else f"+{option}:{value:g}" for option, value in numbers]
    return "".join([str(name), *parts])


def worth(trace: Trace) -> list[str]:
    """Return what is known of the final text, in a few words each: reward, log-probability, rules broken."""
    parts = []
    if trace.final_reward is not None:
        reward = trace.final_reward
        parts.append(f"reward {reward['raw']:.3g} ({reward['normalised']:+.2f} deviations, by {reward['model']})")
    if trace.log_prob is not None:
        parts.append(f"log-probability {trace.log_prob:.2f} nats")
    if trace.rules_broken is not None:
        parts.append(f"rules broken: {len(trace.rules_broken)}")
    return parts


def trace_line(trace: Trace, width: int = 118) -> str:
    """Return a trace in one line of at most `width` characters: strategy, model, order, reward, the text's start."""
    parts = [_size(trace), f"GOD {trace.god_steps:.2f} steps"]
    parts += [f"reward {trace.final_reward['raw']:.3g}"] if trace.final_reward is not None else []
    line = f"Trace({strategy_label(trace.strategy)} on {trace.predictor}: {', '.join(parts)}"
    text = " ".join((trace.text or "").split())
    room = width - len(line) - 5
    if text and room > 12:
        line += f', "{text}"' if len(text) <= room else f', "{text[: room - 3]}..."'
    return clipped(line + ")", width)


def _size(trace: Trace) -> str:
    size = f"{trace.length} tokens in {trace.steps_run} steps"
    return f"{size}, {trace.revisions} masked again" if trace.revisions else size


def trace_html(trace: Trace) -> str:
    """Return a trace as HTML without scripts: what the run was, its text by commit step, reward and factor by step."""
    said = [f"<b>{escape(strategy_label(trace.strategy))}</b> on {escape(trace.predictor)}"]
    said += [_size(trace), f"GOD {trace.god_steps:.2f} steps"]
    said += [escape(part) for part in worth(trace)]
    said += [CUT_OFF] if cut_off(trace.rules_broken, trace.text, trace.length) else []
    prompt = "" if trace.prompt_text is None else f"<div><i>{escape(trace.prompt_text)}</i></div>"
    return (
        f'<div style="{_SMALL}"><div>{"; ".join(said)}</div>{prompt}{answer_html(trace)}'
        f"{_steps_html(trace)}<div>{escape(_explained(trace))}</div></div>"
    )


def answer_html(trace: Trace) -> str:
    """Return the answer's words coloured by commit step; outlined are those that factor 1 would not have committed."""
    early = _committed_by_scale(trace)
    words = []
    for position, (word, step) in enumerate(zip(trace.words(trace.tokens), trace.commit_step.tolist(), strict=True)):
        share = 0.0 if trace.steps_run < 2 else max(step, 0) / (trace.steps_run - 1)
        color = "#{:02x}{:02x}{:02x}".format(*(round(a + share * (b - a)) for a, b in zip(_EARLY, _LATE, strict=True)))
        outline = f"outline:2px solid {VERMILION}" if early[position] else ""
        when = f"position {position}, " + ("not committed" if step < 0 else f"step {step}")
        title = when + (": not at factor 1" if early[position] else "")
        shown = escape(word.strip() or word) or "&nbsp;"
        words.append(f'<span style="background:{color};{_WORD};{outline}" title="{title}">{shown}</span>')
    return f'<div style="margin:4px 0">{"".join(words)}</div>'


def _committed_by_scale(trace: Trace) -> list[bool]:
    """Return the positions whose commit the scale, or the strategy's own order, brought about."""
    known = trace.unscaled.any(axis=1)
    moved = trace.chosen & ~trace.unscaled & ~trace.provisional
    return np.logical_or.reduce(moved[known], axis=0).tolist()


def _explained(trace: Trace) -> str:
    text = "Words go from pale (committed first) to blue (last)."
    if not trace.unscaled.any():
        return text
    changed = int(trace.changed.sum())
    if not changed:
        return f"{text} At factor 1 every step would have committed the same."
    outlined = sum(_committed_by_scale(trace))
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


def decoding_html(decoding: Decoding) -> str:
    """Return a decode as a table of one row for each prompt."""
    rows = [[trace.prompt_text or "", trace.text or "", *_numbers(trace)] for trace in decoding]
    return known_columns(["prompt", "text", *_HEADS], rows, repr(decoding) if len(rows) > 1 else "")


def comparison_html(decodings: Mapping[str, Decoding]) -> str:
    """Return several decodes of the same prompts as a table: a row for each prompt and strategy."""
    rows = [
        [(traces[0].prompt_text or "") if number == 0 else "", label, trace.text or "", *_numbers(trace)]
        for traces in zip(*decodings.values(), strict=True)
        for number, (label, trace) in enumerate(zip(decodings, traces, strict=True))
    ]
    return known_columns(["prompt", "strategy", "text", *_HEADS], rows, "The same prompts by several strategies")


def known_columns(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return a table as HTML without the columns of which nothing is known."""
    known = [i for i in range(len(head)) if any(row[i] for row in rows)]
    return table_html([head[i] for i in known], [[row[i] for i in known] for row in rows], caption)


_HEADS = ("reward", "log p", "GOD [tokens]", "rules broken")


def _numbers(trace: Trace) -> list[str]:
    return [
        "" if trace.final_reward is None else f"{trace.final_reward['raw']:.3g}",
        "" if trace.log_prob is None else f"{trace.log_prob:.2f}",
        f"{trace.god_tokens:.2f}",
        "" if trace.rules_broken is None else str(len(trace.rules_broken)),
    ]
