"""Format words, numbers and lists for sentences in pictures and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"


def shown(word: str) -> str:
    r"""Return a word as it is quoted: its ends made bare, what cannot be seen made visible.

    >>> shown(" the"), shown("\n"), shown("  "), shown("")
    ('the', '↵', '␣', '∅')
    """
    visible = word.replace("\r\n", "\n").replace("\n", "↵").replace("\t", "⇥")
    return visible.strip() or ("␣" if visible else "∅")


def at_position(word: str, position: int) -> str:
    """Return a word and its position, as a sentence names them."""
    return f"“{shown(word)}” at {position}"


def number(value: float, digits: int = 4) -> str:
    r"""Return a number as it is read, with a true minus.

    >>> number(-0.42) == "\N{MINUS SIGN}0.42", number(8.0), number(float("nan"))
    (True, '8', 'not known')
    """
    return "not known" if math.isnan(value) else f"{value:.{digits}g}".replace("-", MINUS)


def count(number: int, noun: str) -> str:
    """Return a number of things: 1 step, 3 steps."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def joined(names: Sequence[str], most: int) -> str:
    """Return names as a sentence lists them, at most so many; the last says how many are left.

    >>> joined(["a", "b", "c"], 3), joined(["a", "b", "c", "d"], 3), joined([], 3)
    ('a, b and c', 'a, b and 2 more', '')
    """
    listed = list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else "".join(listed)
