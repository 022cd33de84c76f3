"""Decoding on the masked positions alone: one forward, one reading of the logits, no waiting for the device."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rws_decode.gpu.decode import decode_compact
    from rws_decode.gpu.savings import CompactSavings

__all__ = ["CompactSavings", "decode_compact"]

# Imported when first used: predictors and reward models hold parts of this package, which in turn decodes with them.
_HOME = {"CompactSavings": "savings", "decode_compact": "decode"}


def __getattr__(name: str) -> Any:
    """Import the module that defines `name` and return the name's value."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
