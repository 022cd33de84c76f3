"""Numbers that strategies are given: checked when they are given, given to each row."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from rws_decode.common.later import NDArray, np
from rws_theory.checks import whole


def is_id(token: object) -> bool:
    """Return whether a value can be a token's id: a whole number, and no truth value."""
    return isinstance(token, Integral) and not isinstance(token, bool)


def check_seeds(name: str, seeds: int | tuple[int, ...]) -> None:
    """Raise ValueError unless each seed, one or one per row, is a whole number from 0 to 2**63 - 1."""
    for seed in seeds if isinstance(seeds, tuple) else (seeds,):
        whole(name, seed, 0, 2**63 - 1)


def per_row(name: str, values: Any, rows: int) -> NDArray[Any]:
    """Return one value per row, [rows], of one value for all or a tuple of `rows`; ValueError for another length."""
    if isinstance(values, tuple) and len(values) != rows:
        raise ValueError(f"{name} has {len(values)} rows: the batch has {rows}")
    return np.broadcast_to(np.asarray(values), (rows,)).copy()
