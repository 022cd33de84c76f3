"""The digest that everything of an experiment is addressed by; without PyTorch, so that workers start at once."""

from __future__ import annotations

import hashlib
import json
from typing import Any

__all__ = ["digest"]


def digest(value: Any) -> str:
    """Return the SHA-256, in hexadecimal, of a value's JSON with sorted keys.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()
