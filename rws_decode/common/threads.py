"""Use the same number of PyTorch threads in every process: the order of a floating-point sum depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rws_theory.checks import whole

THREADS = 1
MOST_THREADS = 512  # far more than cores: beyond, a library that starts them may end the process

_HELD: ContextVar[int | None] = ContextVar("torch_threads", default=None)


@contextmanager
def torch_threads(count: int | None = None) -> Iterator[int]:
    """Compute with `count` threads of PyTorch inside, whatever the process has, and yield the number.

    How a product of matrices is split among threads decides the order of its sums, and so its last bits. All that
    decodes or scores here runs inside `torch_threads()`, so that the bytes of its results do not depend on
    OMP_NUM_THREADS, on `torch.set_num_threads` or on the number of cores. None: as the innermost `torch_threads` or
    `hold_threads` around it says, else `THREADS`, 1. Threads within one operation on a CPU are meant; the number that
    the process had is set again at the end.

    More threads are faster on idle cores, and the same bytes each time with the same number:

    >>> import torch
    >>> with torch_threads(2), torch_threads() as count:
    ...     count, torch.get_num_threads()
    (2, 2)

    ValueError for a count below 1, or above `MOST_THREADS`.
    """
    import torch

    chosen = (_HELD.get() or THREADS) if count is None else whole("count", count, 1, MOST_THREADS)
    before, token = torch.get_num_threads(), _HELD.set(chosen)
    if chosen != before:
        torch.set_num_threads(chosen)
    try:
        yield chosen
    finally:
        _HELD.reset(token)
        if chosen != before:
            torch.set_num_threads(before)


def hold_threads(count: int) -> None:
    """Let `torch_threads()` mean `count` from here on, in this thread alone; ValueError as there."""
    _HELD.set(whole("count", count, 1, MOST_THREADS))
