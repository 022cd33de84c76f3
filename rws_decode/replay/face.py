"""How two runs' difference and a step's logits show themselves: in lines for a terminal, as tables in a notebook."""

from __future__ import annotations

import math
from textwrap import indent
from typing import TYPE_CHECKING, Any

import torch

from rws_decode.step.confidence import rank_values
from rws_decode.trace.face import known_columns, strategy_label
from rws_theory.show import figures, printable, shortened, table_html

if TYPE_CHECKING:
    from rws_decode.replay.difference import SettingChange, TraceDiff
    from rws_decode.replay.step_logits import StepLogits

# What a setting is called where its own name says too little, and those that follow from others.
_NAMES = {
    "cfg": "guidance scale",
    "end_ids": "end-of-text tokens",
    "end_of_text": "end-of-text policy",
    "mask_id": "mask token",
    "predictor": "model",
    "prompt": "prompt's tokens",
    "prompt_text": "prompt",
}
_FOLLOW = {
    "prompt": ("offset", "width"),
    "prompt_text": ("prompt",),
    "length": ("width",),
    "reward_model": ("reward_settings",),
}

WHY = {
    "prompt": "the prompts are not the same",
    "plan": "they do not commit as many tokens in the same block",
    "revision": "other tokens were masked again",
    "count": "other numbers of positions were committed",
    "order": "other positions were committed",
    "candidate": "the same positions took other tokens",
}


def difference_text(difference: TraceDiff) -> str:
    """Return a difference in lines: the settings that differ, where and why the runs part, and what comes later."""
    lines = [printable(str(change)) for change in _settings(difference)]
    parting = difference.parting
    if parting is None:
        return "\n".join([*lines, "the runs commit the same tokens at the same steps"])
    changes = [f"at {c.position} stand {c.words[0]!r} and {c.words[1]!r}" for c in parting.candidates]
    pairs = [indent(text, "  ") for text in (*changes, *map(str, parting.reversals))]
    return "\n".join([*lines, _begun(difference), "  (steps and positions count from 0)", *pairs, _later(difference)])


def difference_html(difference: TraceDiff) -> str:
    """Return a difference as a table of what is not the same in both runs; its caption says where they part."""
    rows = [setting_words(change) for change in _settings(difference)]
    head, parting = ("", "first run", "second run"), difference.parting
    if parting is None:
        return table_html(head if rows else (), rows, "The runs commit the same tokens at the same steps")
    rows.append(("factor", known(parting.factors[0]), known(parting.factors[1])))
    rows += [(f"word at {c.position}", repr(c.words[0]), repr(c.words[1])) for c in parting.candidates]
    for pair in parting.reversals:
        for number, position in enumerate((pair.earlier, pair.later)):
            name = f"{pair.words[number]!r} at {position} is ranked by"
            rows.append((name, known(pair.in_first[number]), known(pair.in_second[number])))
    commits, count = _later_commits(difference)
    rows.append((f"later steps that commit other positions: {commits} of {count}", "", ""))
    caption = f"The runs part at step {parting.step}, where {WHY[parting.why]} (steps and positions count from 0)"
    return table_html(head, rows, caption)


def step_html(logits: StepLogits) -> str:
    """Return a step as a table: its words, their log-odds at factor 1 and at the step's, and what was committed."""
    rows, candidate = torch.tensor(logits.logits), torch.tensor(logits.candidate)
    factors = dict.fromkeys([1.0] if math.isnan(logits.factor) else [1.0, logits.factor])
    odds = [[f"{value:.2f}" for value in rank_values(rows, candidate, factor).tolist()] for factor in factors]
    head = ["position (from 0)", "word", *(f"log-odds at factor {figures(factor)}" for factor in factors), "committed"]
    committed = ["yes" if chosen else "" for chosen in logits.chosen.tolist()]
    columns = zip(map(str, logits.positions.tolist()), map(repr, logits.words), *odds, committed, strict=True)
    return known_columns(head, [list(row) for row in columns], repr(logits))


def setting_words(change: SettingChange) -> tuple[str, str, str]:
    """Return what a setting is called and its two values in words; of values with names only those that differ.

    >>> from rws_decode.replay.difference import SettingChange
    >>> setting_words(SettingChange("strategy", {"name": "default"}, {"name": "rws", "reward_scale": 8.0}))
    ('strategy', 'default', 'rws:8')
    >>> setting_words(SettingChange("savings", {"certain": True, "cache": True}, {"certain": False, "cache": True}))
    ('savings', 'certain on', 'certain off')
    """
    name, first, second = _NAMES.get(change.name, change.name.replace("_", " ")), change.first, change.second
    if change.name == "strategy" and strategy_label(first) != strategy_label(second):
        return name, strategy_label(first), strategy_label(second)
    if isinstance(first, dict) and isinstance(second, dict):
        keys = [key for key in {**first, **second} if first.get(key) != second.get(key)]
        ours, theirs = (", ".join(f"{key} {_value(each.get(key))}" for key in keys) for each in (first, second))
        return name, ours, theirs
    return name, _value(first), _value(second)


def known(value: float) -> str:
    """Return a number that may be NaN, as it is not known then."""
    return "not known" if math.isnan(value) else f"{value:.4g}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return value if len(value) <= 60 else f"{value[:57]}..."
    if isinstance(value, list | tuple):
        return shortened(value) or "none"
    return "none" if value is None else str(value)


def _settings(difference: TraceDiff) -> list[SettingChange]:
    """Return the settings that differ, without those that follow from another one that does."""
    names = {change.name for change in difference.settings}
    hidden = {name for cause, following in _FOLLOW.items() if cause in names for name in following}
    return [change for change in difference.settings if change.name not in hidden]


def _begun(difference: TraceDiff) -> str:
    """Say at which step the runs part, why, and at which factors."""
    assert difference.parting is not None
    step, why = difference.parting.step, difference.parting.why
    first, second = (known(factor) for factor in difference.parting.factors)
    factors = f"{first} in both" if first == second else f"{first} in the first run, {second} in the second"
    return f"the runs part at step {step}, where {WHY[why]}; the factor is {factors}"


def _later_commits(difference: TraceDiff) -> tuple[int, int]:
    """Return how many steps after the parting commit other positions, and how many there are."""
    parted = -1 if difference.parting is None else difference.parting.step
    later = [change for change in difference.steps if change.step > parted]
    return sum(bool(change.only_first or change.only_second) for change in later), difference.steps_run - parted - 1


def _later(difference: TraceDiff) -> str:
    """Say which steps after the parting differ."""
    assert difference.parting is not None
    differing = [change.step for change in difference.steps if change.step > difference.parting.step]
    if not differing:
        return "no later step differs"
    commits, count = _later_commits(difference)
    where = "this and every later step" if len(differing) == count else f"steps {shortened(differing, 10)}"
    said = f"{commits} of the {count} later steps commit other positions"
    return f"{said}; factors, rewards or candidates differ at {where}"
