"""Seconds on a device, and the least of a step: what must be computed and moved, over what the device can do.

Assumed: every weight is read once per forward, every logit written once and read once; queries, keys and values are
read and the attention's outcome written once per layer. What else passes between the matrix products is not counted: it
could stay in cache or registers. Parts do not overlap. Each takes the longer of its operations at the measured rate and
its bytes at the measured bandwidth, and the least time is their sum. A multiply and an add are two operations.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import torch

from paper_figures.extra.bench.shapes import LlamaShape, Shapes
from rws_decode.canvas.schedule import PlannedStep

# Larger than any cache, and enough of it that a copy takes far longer than its launch.
_COPY_BYTES = {"cuda": 2**31, "cpu": 2**27}
_SIDE = {"cuda": 8192, "cpu": 1024}
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


@dataclass(frozen=True)
class Ceilings:
    """bandwidth: bytes per second, read and written both counted; rate: operations per second, of `dtype`."""

    bandwidth: float
    rate: float
    dtype: str


def measure_ceilings(device: torch.device, dtype: torch.dtype) -> Ceilings:
    """Return both ceilings of a device: of copying random bytes, and of products of random square matrices of `dtype`.

    Each is the median of several.
    """
    draw = torch.Generator(device).manual_seed(0)
    size, side = _COPY_BYTES.get(device.type, _COPY_BYTES["cpu"]) // 8, _SIDE.get(device.type, _SIDE["cpu"])
    source = torch.empty(size, dtype=torch.int64, device=device).random_(generator=draw)
    target = torch.empty_like(source)
    bandwidth = 2 * source.nbytes / median(each_seconds([lambda: target.copy_(source)], device, repeats=7))
    pairs = [[torch.empty(side, side, dtype=dtype, device=device).normal_(generator=draw) for _ in "ab"] for _ in "xy"]
    out = torch.empty(side, side, dtype=dtype, device=device)
    products = [lambda a=a, b=b: torch.matmul(a, b, out=out) for a, b in pairs]
    rate = 2 * side**3 / median(each_seconds(products, device, repeats=7))
    return Ceilings(bandwidth, rate, str(dtype).removeprefix("torch."))


@dataclass(frozen=True)
class StepPart:
    """A part of a step: its floating-point operations and the bytes that it reads and writes."""

    name: str
    operations: float
    nbytes: float

    def seconds(self, ceilings: Ceilings) -> float:
        """Return the least time of the part.

        >>> StepPart("head", operations=6e12, nbytes=1e9).seconds(Ceilings(1e12, 1e12, "bfloat16"))
        6.0
        """
        return max(self.operations / ceilings.rate, self.nbytes / ceilings.bandwidth)

    def bound(self, ceilings: Ceilings) -> str:
        """Return what bounds the part: "operations" or "bytes"."""
        longer = self.operations / ceilings.rate >= self.nbytes / ceilings.bandwidth
        return "operations" if longer else "bytes"


def forward_parts(
    shape: LlamaShape, rows: int, length: int, positions: float, itemsize: int, *, causal: bool = False
) -> list[StepPart]:
    """Return the parts of one forward: body and attention over rows x length tokens, the head at `positions` of them.

    causal: a reward model's, whose head has one output, and where a token attends to itself and to those before it,
    which is half of the pairs. Embedding, norms and rotary angles are not counted.

    >>> tiny = LlamaShape("x", hidden=4, layers=1, heads=2, kv_heads=1, inner=8, vocabulary=9, positions=9)
    >>> for part in forward_parts(tiny, rows=1, length=10, positions=3, itemsize=2):
    ...     print(part)
    StepPart(name='body', operations=2880, nbytes=288)
    StepPart(name='attention', operations=1600.0, nbytes=240)
    StepPart(name='head', operations=216, nbytes=72)
    """
    attention = 2 * shape.hidden**2 + 2 * shape.hidden * shape.kv_heads * shape.head_size
    weights = shape.layers * (attention + 3 * shape.hidden * shape.inner)
    tokens, columns = rows * length, 1 if causal else shape.vocabulary
    pairs = length * (length + 1) / 2 if causal else float(length**2)
    touched = 2 * (shape.heads + shape.kv_heads) * shape.head_size
    return [
        StepPart("body", 2 * weights * tokens, weights * itemsize),
        StepPart(
            "attention", 4 * shape.layers * rows * pairs * shape.hidden, shape.layers * tokens * touched * itemsize
        ),
        StepPart("head", 2 * positions * shape.hidden * columns, shape.hidden * columns * itemsize),
    ]


def decode_parts(
    shapes: Shapes,
    plan: Sequence[PlannedStep],
    *,
    rows: int,
    prompt: int,
    itemsize: int,
    rewarded: bool,
    text_tokens: int | None = None,
) -> list[list[StepPart]]:
    """Return the parts of each step of a plan.

    Without a reward the head is needed only at the current block's masked positions. With a reward it is needed at all
    masked positions, as the reward scores their completion. Then the reward model reads `text_tokens` tokens of each
    row at every step: those of prompt and answer, and those that its template adds. Nothing is reused from step to
    step, though it could be.
    """
    length = plan[-1].stop
    steps, committed, done = [], 0, {}
    for step in plan:
        inside = step.stop - step.start - done.get(step.start, 0)
        positions = rows * (length - committed if rewarded else inside)
        parts = forward_parts(shapes.predictor, rows, prompt + length, positions, itemsize)
        # Logits are written once and read once.
        parts.append(StepPart("logits", 0.0, 2 * positions * shapes.predictor.vocabulary * itemsize))
        if rewarded:
            scored = forward_parts(shapes.reward, rows, text_tokens or prompt + length, rows, itemsize, causal=True)
            parts += [StepPart(f"reward {part.name}", part.operations, part.nbytes) for part in scored]
        steps.append(parts)
        committed += step.commits
        done[step.start] = done.get(step.start, 0) + step.commits
    return steps


def least_seconds(steps: Sequence[Sequence[StepPart]], ceilings: Ceilings) -> float:
    """Return the least time of all steps together."""
    return sum(part.seconds(ceilings) for parts in steps for part in parts)


def roofline_table(steps: Sequence[Sequence[StepPart]], ceilings: Ceilings) -> list[dict[str, Any]]:
    """Return a row per part, means over the steps: part, gigaflop, megabytes, ms, and what bounds most of its steps."""
    rows = []
    for parts in zip(*steps, strict=True):
        bounds = [part.bound(ceilings) for part in parts]
        rows.append(
            {
                "part": parts[0].name,
                "gigaflop": sum(part.operations for part in parts) / len(parts) / 1e9,
                "megabytes": sum(part.nbytes for part in parts) / len(parts) / 1e6,
                "ms": 1e3 * sum(part.seconds(ceilings) for part in parts) / len(parts),
                "bound": max(("operations", "bytes"), key=bounds.count),
            }
        )
    return rows
