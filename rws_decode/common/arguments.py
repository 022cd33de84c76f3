"""Numbers that strategies are given: checked when they are given, looked up per row and step."""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any

from rws_theory.checks import whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def is_id(token: object) -> bool:
    """Return whether a value can be a token's id: a whole number, and no truth value."""
    return isinstance(token, Integral) and not isinstance(token, bool)


def check_seeds(name: str, seeds: int | tuple[int, ...]) -> None:
    """Raise ValueError unless each seed, one or one per row, is a whole number from 0 to 2**63 - 1."""
    for seed in seeds if isinstance(seeds, tuple) else (seeds,):
        whole(name, seed, 0, 2**63 - 1)


def check_table(name: str, table: tuple[Any, ...], *, positive: bool) -> None:
    """Raise ValueError unless the table is a tuple of numbers, one per step, or of such tuples, one per row."""
    rows = table if table and isinstance(table[0], tuple) else (table,)
    if not rows[0] or any(not isinstance(row, tuple) or len(row) != len(rows[0]) for row in rows):
        raise ValueError(
            f"{name} must be a tuple of numbers, one per step, or a tuple of equally long ones, one per row"
        )
    for value in (value for row in rows for value in row):
        if not math.isfinite(value) or (positive and value <= 0):
            raise ValueError(f"{name} holds {value!r}: each must be {'positive and ' if positive else ''}finite")


def per_row(name: str, values: Any, rows: int) -> NDArray[Any]:
    """Return one value per row, [rows], of one value for all or a tuple of `rows`; ValueError for another length."""
    import numpy as np  # here, since options of the commands need the checks above before any number

    if isinstance(values, tuple) and len(values) != rows:
        raise ValueError(f"{name} has {len(values)} rows: the batch has {rows}")
    return np.broadcast_to(np.asarray(values), (rows,)).copy()


def at_step(name: str, table: tuple[Any, ...], step: int, rows: int) -> NDArray[np.float64]:
    """Return a table's values at one step, [rows]; ValueError beyond its steps."""
    import numpy as np

    grid = np.asarray(table, dtype=np.float64)
    if not 0 <= step < grid.shape[-1]:
        raise ValueError(f"{name} has {grid.shape[-1]} steps: step {step} (from 0) was asked for")
    return per_row(name, tuple(grid[:, step]) if grid.ndim == 2 else float(grid[step]), rows)
