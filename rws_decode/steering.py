"""Steering methods, ways to use a reward besides a factor of the logits: what packages offer, found by name."""

from __future__ import annotations

from typing import Any

from rws_decode.common import plugins
from rws_decode.strategies.table import Table

METHODS = Table("rws.steering", {})  # the first number of a method stands after the colon


def is_method(text: str) -> bool:
    """Return whether a text names a steering method; none is loaded for it."""
    return text.partition(":")[0].partition("+")[0] in METHODS


def steering(what: str) -> Any:
    """Return what reads the texts of steering methods, and decodes; ValueError, beginning with `what`, without."""
    return plugins.hook("steering", what)
