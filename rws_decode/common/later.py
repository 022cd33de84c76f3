"""Large libraries, imported at their first use: `--help` reads what strategies and studies declare, and must not wait.

The file of a strategy or a study takes `np`, `torch`, `pd` and others, and the types of its annotations from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Floats", "NDArray", "Tensor", "np", "optimize", "pa", "pd", "pq", "stats", "torch"]

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch
    from numpy.typing import NDArray
    from scipy import optimize, stats
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

    np, torch, pd = map(_Later, ("numpy", "torch", "pandas"))
    pa, pq = map(_Later, ("pyarrow", "pyarrow.parquet"))
    optimize, stats = map(_Later, ("scipy.optimize", "scipy.stats"))
    Floats = NDArray = Tensor = Any  # annotations are not evaluated
