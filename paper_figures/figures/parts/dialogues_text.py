"""A dialogue as text: the default's answer in the left column, every other answer in the right one, once each."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from paper_figures.exhibits.names import guide_name

_COLUMN = 52
_GAP = " | "


def who(answer: Mapping[str, Any]) -> str:
    """Return who gave an answer: method, guide and reward scale, where it has them.

    >>> who({"method": "rws", "guide": "grm", "reward_scale": 8.0})
    'RWS, GRM (s_R 8)'
    >>> who({"method": "default", "guide": None, "reward_scale": None})
    'default'
    """
    method = "RWS" if answer["method"] == "rws" else str(answer["method"])
    if answer["guide"] is None:
        return method
    return f"{method}, {guide_name(answer['guide'])} (s_R {answer['reward_scale']:g})"


def dialogue_text(dialogue: Mapping[str, Any]) -> str:
    """Return a dialogue of `examples.json` as text of at most 107 columns; answers with the same words stand together.

    >>> default = {"method": "default", "guide": None, "reward_scale": None, "text": "two .", "same": True}
    >>> rws = {"method": "rws", "guide": "mini", "reward_scale": 8.0, "text": "three .", "same": False}
    >>> told = dialogue_text({"name": "x", "turns": [{"prompt": "how many ?", "answers": [default, rws]}]})
    >>> [" ".join(line.split()) for line in told.splitlines()[2:]]
    ['Turn 1: how many ?', '', 'default | RWS, mini (s_R 8)', 'two . | three .']
    """
    lines = [f"Dialogue {dialogue['name']}"]
    for number, turn in enumerate(dialogue["turns"], start=1):
        asked = _wrapped(f"Turn {number}: {turn['prompt']}", 2 * _COLUMN + len(_GAP))
        lines += ["", *asked]
        default, *others = turn["answers"]
        same = [who(answer) for answer in others if answer["text"] == default["text"]]
        different = dict.fromkeys(answer["text"] for answer in others if answer["text"] != default["text"])
        heads = [*_wrapped("; ".join([who(default), *same]), _COLUMN)]
        if not different:
            lines += ["", *heads, *_wrapped(default["text"] or "(empty)", _COLUMN)]
        for text in different:
            them = _wrapped("; ".join(who(answer) for answer in others if answer["text"] == text), _COLUMN)
            lines += ["", *_columns(heads, them)]
            lines += _columns(_wrapped(default["text"] or "(empty)", _COLUMN), _wrapped(text or "(empty)", _COLUMN))
    return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    return [part for line in text.splitlines() for part in textwrap.wrap(line, width) or [""]] or [""]


def _columns(left: Sequence[str], right: Sequence[str]) -> list[str]:
    return [f"{first:<{_COLUMN}}{_GAP}{second}".rstrip() for first, second in zip_longest(left, right, fillvalue="")]


def counted(text: str) -> tuple[int, int]:
    """Return how many words a text has, and how many of them repeat the word before, case and punctuation aside.

    >>> counted("1. the the cat , The dog dog.")
    (6, 2)
    """
    words = re.findall(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*", text.lower())
    return len(words), sum(word == previous for word, previous in zip(words[1:], words, strict=False))
