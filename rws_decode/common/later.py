"""NumPy and PyTorch, imported at their first use: `--help` reads what strategies declare, and must not wait for them.

A strategy's file takes `np`, `torch` and the types of its annotations from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Floats", "NDArray", "Tensor", "np", "torch"]

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

    Floats = NDArray[np.float64]
else:

    class _Later:
        """A module that is imported when something of it is asked for."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            found = getattr(import_module(self._name), attribute)
            setattr(self, attribute, found)  # the next use finds it at once
            return found

    np, torch = _Later("numpy"), _Later("torch")
    Floats = NDArray = Tensor = Any  # annotations are not evaluated
