"""What methods and kinds of judges are called, in tables and in sentences, and in which order methods stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["RELATIONS", "controls_of", "in_words", "method_name", "methods_in"]

# Method -> its name in tables, and in a sentence after "RWS minus"; in the order of tables.
_NAMES = {
    "default": ("confidence (default)", "the default"),
    "rws": ("RWS", "RWS"),
    "constant": ("constant of equal mean", "a constant factor of equal mean"),
    "shuffled": ("rewards shuffled", "its own rewards in shuffled order"),
    "flipped": ("reward's sign turned", "the same with the reward's sign turned"),
    "random": ("random rewards", "the same with random rewards"),
    "margin": ("margin order", "margin order"),
    "best-of-n": ("best of N, equal cost", "the best of N samples at equal cost"),
    "temperature": ("temperature", "temperature at the same scale"),
}
RELATIONS = {"own": "own guide", "other": "other reward models"}


def method_name(method: str) -> str:
    """Return what a method is called in tables; its own name where it has no other.

    >>> method_name("constant"), method_name("best of three")
    ('constant of equal mean', 'best of three')
    """
    return _NAMES.get(method, (method,))[0]


def in_words(method: str) -> str:
    """Return what a method is called in a sentence, after "RWS minus".

    >>> in_words("constant"), in_words("best of three")
    ('a constant factor of equal mean', 'best of three')
    """
    return _NAMES.get(method, (method,))[-1]


def methods_in(rows: Iterable[Mapping[str, Any]], column: str = "method") -> list[str]:
    """Return the methods that rows have, in the order of tables, those without a name behind."""
    present = dict.fromkeys(row[column] for row in rows)
    return [name for name in _NAMES if name in present] + [name for name in present if name not in _NAMES]


def controls_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the methods of the rows that RWS is set against, the default left out, in the order of tables."""
    return [method for method in methods_in(rows) if method not in ("rws", "default")]
