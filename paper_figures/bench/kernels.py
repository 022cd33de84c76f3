"""Time one read of rows of logits: our `row_statistics`, and what users run in its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import Tensor

from paper_figures.bench.clock import each_seconds
from paper_figures.bench.roofline import copy_bandwidth
from rws_decode.gpu.row_statistics import Backend, row_statistics

# Factors at once -> share of the copy bandwidth aimed at, for 256 x 126,464 logits on a GPU.
GOALS = {1: 0.8, 16: 0.6}
MEASURED = "measured"
_DTYPES = (torch.bfloat16, torch.float32)
# Inputs are rotated, so that none is in a cache when it is read again.
_ROTATED_BYTES = {"cuda": 2**29, "cpu": 2**22}
_MOST_INPUTS = 8


class RowValues(NamedTuple):
    """The values of one way. token: int64 [N]; lead: [N] or None; log_f: [N, G], log F at each factor."""

    token: Tensor
    lead: Tensor | None
    log_f: Tensor


class Truth(NamedTuple):
    """The values by definition, in float64. token: int64 [N]; lead: [N]; log_f: [N, G]."""

    token: Tensor
    lead: Tensor
    log_f: Tensor


@dataclass(frozen=True)
class KernelRow:
    """One way to read the logits.

    status: "measured", or why it was not. ms: median milliseconds per call; share: bytes of the logits over that time
    and the copy bandwidth; error: largest |log F - reference|; tokens, leads: whether all agree with the reference,
    None where a way gives none; goal: the share aimed at, None where there is none.
    """

    way: str
    dtype: str
    factors: int
    status: str
    ms: float | None = None
    share: float | None = None
    error: float | None = None
    tokens: bool | None = None
    leads: bool | None = None
    goal: float | None = None


def reference(logits: Tensor, factors: Tensor) -> Truth:
    """Return candidate, lead and log F in float64, as they are defined. logits: [N, V]; factors: [G].

    >>> found = reference(torch.tensor([[0.0, 3.0, 1.0]]), torch.tensor([1.0]))
    >>> found.token.tolist(), found.lead.tolist(), round(found.log_f.item(), 4)
    ([1], [2.0], -1.6867)
    """
    parts = []
    for rows in logits.split(32):
        token = rows.argmax(dim=-1, keepdim=True)
        wide = rows.double()
        gaps = (wide - wide.gather(1, token)).scatter_(1, token, -torch.inf)
        values = [torch.logsumexp(float(factor) * gaps, dim=-1) for factor in factors]
        parts.append((token[:, 0], -gaps.amax(dim=-1), torch.stack(values, dim=1)))
    return Truth(*(torch.cat(column) for column in zip(*parts, strict=True)))


def kernel_table(
    device: torch.device,
    *,
    rows: int = 256,
    vocabulary: int = 126_464,
    factors: Sequence[int] = (1, 4, 16),
    repeats: int = 7,
    seed: int = 0,
    bandwidth: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measure every way at every number of factors, for bfloat16 and float32 logits; return what JSON holds.

    Keys: device, rows, vocabulary, repeats, seed, bandwidth (bytes per second, read plus written; measured here if not
    given), and `ways`, a `KernelRow` each: "ours, triton" and "ours, torch" (`row_statistics`); "published" and
    "published, float64": softmax, gather and topk as LLaDA's loop has them, which serve one factor of 1 alone.
    ValueError for sizes or factors below 1.
    """
    if min(rows, vocabulary, repeats, *factors) < 1 or vocabulary < 2:
        raise ValueError(f"rows is {rows}, vocabulary {vocabulary}, factors {list(factors)}: at least 1 (2 words)")
    bandwidth = copy_bandwidth(device, seed=seed) if bandwidth is None else bandwidth
    table: list[KernelRow] = []
    for dtype in _DTYPES:
        inputs = _inputs(device, dtype, rows, vocabulary, seed)
        for number in factors:
            # One of them is 1 where it is the only one; else they are from 1/2 to 8.
            scale = torch.ones(1, device=device) if number == 1 else torch.logspace(-1, 3, number, 2.0, device=device)
            truth = reference(inputs[0], scale)
            for name, way in _ways(number).items():
                goal = GOALS.get(number) if name == "ours, triton" else None
                row = KernelRow(name, str(dtype).removeprefix("torch."), number, MEASURED, goal=goal)
                table.append(_row(row, way, inputs, scale, truth, bandwidth, repeats))
                told = table[-1].status if table[-1].ms is None else f"{table[-1].ms:.4g} ms"
                tell(f"kernel: {name}, {row.dtype}, {number} factors: {told}")
        del inputs
    settings = {"device": str(device), "rows": rows, "vocabulary": vocabulary, "repeats": repeats, "seed": seed}
    return settings | {"bandwidth": bandwidth, "ways": [asdict(row) for row in table]}


def _inputs(device: torch.device, dtype: torch.dtype, rows: int, vocabulary: int, seed: int) -> list[Tensor]:
    nbytes = rows * vocabulary * dtype.itemsize
    target = _ROTATED_BYTES.get(device.type, _ROTATED_BYTES["cpu"])
    count = min(_MOST_INPUTS, max(2, math.ceil(target / nbytes)))
    draw = torch.Generator(device).manual_seed(seed)
    shape = (rows, vocabulary)
    return [torch.empty(shape, dtype=dtype, device=device).normal_(0, 2.5, generator=draw) for _ in range(count)]


Way = Callable[[Tensor, Tensor], RowValues]


def _ways(number: int) -> dict[str, Way]:
    """Return the ways that serve so many factors, by name."""
    ways: dict[str, Way] = {"ours, triton": partial(_ours, "triton"), "ours, torch": partial(_ours, "torch")}
    if number == 1:
        ways |= {"published": partial(_published, None), "published, float64": partial(_published, torch.float64)}
    return ways


def _ours(backend: Backend, logits: Tensor, scale: Tensor) -> RowValues:
    statistics = row_statistics(logits, scale, backend=backend)
    return RowValues(statistics.token, statistics.lead, statistics.log_f)


def _published(dtype: torch.dtype | None, logits: Tensor, scale: Tensor) -> RowValues:
    """Compute what LLaDA's loop does: softmax, the candidate's probability, and the most confident rows."""
    token = logits.argmax(dim=-1)
    chances = torch.softmax(logits if dtype is None else logits.to(dtype), dim=-1)
    chance = chances.gather(1, token[:, None])[:, 0]
    torch.topk(chance, min(2, len(chance)))
    return RowValues(token, None, (torch.log1p(-chance.double()) - chance.double().log())[:, None])


def _row(
    row: KernelRow,
    way: Way,
    inputs: Sequence[Tensor],
    scale: Tensor,
    truth: Truth,
    bandwidth: float,
    repeats: int,
) -> KernelRow:
    if row.way == "ours, triton" and inputs[0].device.type != "cuda":
        return replace(row, status=f"not run: triton compiles for CUDA, not for {inputs[0].device.type}")
    try:
        with torch.inference_mode():
            answer = way(inputs[0], scale)
            times = each_seconds([partial(way, logits, scale) for logits in inputs], inputs[0].device, repeats=repeats)
    except Exception as error:  # A compiler's, or memory's: the other ways are measured all the same.
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return replace(row, status=f"failed: {reason}")
    seconds = median(times)
    return replace(
        row,
        ms=1e3 * seconds,
        share=inputs[0].nbytes / seconds / bandwidth,
        error=float((answer.log_f.double() - truth.log_f).abs().max()),
        tokens=bool((answer.token == truth.token).all()),
        leads=None if answer.lead is None else bool((answer.lead == truth.lead.to(answer.lead.dtype)).all()),
    )
