"""Check numbers that callers give: range, free memory, one for each row; suggest a right one in messages."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any

from rws_decode.common.later import NDArray, np, torch
from rws_theory.checks import whole


def is_id(token: object) -> bool:
    """Return whether a value can be a token's id: a whole number, and no truth value."""
    return isinstance(token, Integral) and not isinstance(token, bool)


def use_plain_numbers(settings: Any, *names: str) -> None:
    """Replace NumPy's and PyTorch's numbers in a frozen dataclass by Python's, and lists by tuples."""
    for name in names or [part.name for part in fields(settings)]:
        value = getattr(settings, name)
        value = value.tolist() if hasattr(value, "tolist") else value
        object.__setattr__(settings, name, tuple(value) if isinstance(value, list) else value)


def check_seeds(name: str, seeds: int | tuple[int, ...]) -> None:
    """Raise ValueError unless each seed, one or one per row, is a whole number from 0 to 2**63 - 1."""
    for seed in seeds if isinstance(seeds, tuple) else (seeds,):
        whole(name, seed, 0, 2**63 - 1)


def per_row(name: str, values: Any, rows: int) -> NDArray[Any]:
    """Return one value per row, [rows], of one value for all or a tuple of `rows`; ValueError for another length."""
    if isinstance(values, tuple) and len(values) != rows:
        raise ValueError(f"{name} has {len(values)} rows: the batch has {rows}")
    return np.broadcast_to(np.asarray(values), (rows,)).copy()


def per_seed(seeds: int | tuple[int, ...], rows: int, draw: Callable[[int], Any]) -> NDArray[Any]:
    """Return what `draw` makes of the seed of each row, [rows, ...]; rows of one seed have the same."""
    numbers = per_row("seed", seeds, rows).tolist()
    drawn = {seed: draw(seed) for seed in {*numbers}}
    return np.stack([drawn[seed] for seed in numbers])


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, at least 1, in rising order."""
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})


def nearest(value: int, right: Sequence[int]) -> str:
    """Return what a message names in place of a wrong value: the next right ones below and above it.

    right: rising; a range may be long.
    """
    above = bisect_right(right, value)
    return " or ".join(map(str, right[max(0, above - 1) : above + 1]))


def meant(name: str, names: Iterable[str]) -> str:
    """Return the advice which name a misspelt one is near, "" for none."""
    close = get_close_matches(name.lower(), list(names), 1)
    return f" (is {close[0]} meant?)" if close else ""


def free_memory(device: torch.device, meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Return the bytes that new tensors on a device can take, on Linux as MemAvailable; None if unknown."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type != "cpu" or not meminfo.is_file():
        return None
    for line in meminfo.read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def check_memory(what: str, needed: int, device: torch.device, available: int | None = None) -> None:
    """Raise ValueError where `needed` bytes do not fit on a device, saying how many are missing.

    what: begins the message; available: bytes, `free_memory(device)` if None. Nothing is checked where that is unknown.
    """
    free = free_memory(device) if available is None else available
    if free is not None and needed > free:
        raise ValueError(
            f"{what} needs {_gigabytes(needed)} on {device} and {_gigabytes(free)} are free: "
            f"{_gigabytes(needed - free)} are missing"
        )


def _gigabytes(size: int) -> str:
    return f"{size / 10**9:.3g} GB"
