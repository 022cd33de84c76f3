"""Measure seconds and memory of work on a device, and wait for a device that runs on its own."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

# Work that keeps a GPU busy while the calls to be timed are queued: their launches are not what is measured.
_AHEAD_BYTES = 2**30
_AHEAD_COPIES = 6


class TimedCall(NamedTuple):
    """The outcome of a call, its seconds, and the most bytes that PyTorch had on the device (None on a CPU)."""

    outcome: Any
    seconds: float
    peak_bytes: int | None


def synchronise(device: torch.device) -> None:
    """Wait until the device has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measured(call: Callable[[], Any], device: torch.device) -> TimedCall:
    """Run a call once, from an idle device to an idle device."""
    cuda = device.type == "cuda"
    if cuda:
        # Garbage in cycles of earlier calls would count as memory of this one.
        gc.collect()
        synchronise(device)
        torch.cuda.reset_peak_memory_stats(device)
    start = time.perf_counter()
    outcome = call()
    synchronise(device)
    seconds = time.perf_counter() - start
    return TimedCall(outcome, seconds, torch.cuda.max_memory_allocated(device) if cuda else None)


def each_seconds(
    calls: Sequence[Callable[[], Any]], device: torch.device, *, repeats: int = 5, warm: int = 2
) -> list[float]:
    """Return the seconds per call of each of `repeats` rounds over the calls, which should read different data.

    On CUDA, events measure a round that is queued behind other work: a kernel shorter than its launch then counts with
    its own time. On a CPU, the clock measures. warm: rounds before, which do not count.

    >>> len(each_seconds([lambda: None], torch.device("cpu"), repeats=3))
    3
    """
    for _ in range(warm):
        for call in calls:
            call()
    if device.type == "cuda":
        with torch.cuda.device(device):  # Events are recorded on a stream of the current device.
            return _queued(calls, device, repeats)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        for call in calls:
            call()
        seconds.append((time.perf_counter() - start) / len(calls))
    return seconds


def _queued(calls: Sequence[Callable[[], Any]], device: torch.device, repeats: int) -> list[float]:
    source = torch.empty(_AHEAD_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        synchronise(device)
        for _ in range(_AHEAD_COPIES):
            target.copy_(source)
        start.record()
        for call in calls:
            call()
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) / 1000 / len(calls))
    return seconds
