"""NumPy and PyTorch, imported at their first use: `--help` reads what strategies declare, and must not wait for them.

A strategy's file takes `np` and `torch` from here, and their types where only a type checker looks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Later:
    """A module that is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


np, torch = _Later("numpy"), _Later("torch")
