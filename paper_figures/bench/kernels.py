"""Time one read of rows of logits: our `row_statistics`, and what users run in its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import Tensor

from paper_figures.bench.clock import each_seconds
from paper_figures.bench.floor import copy_bandwidth

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
    compiled: bool | None = None,
    sweep: bool = False,
    repeats: int = 7,
    seed: int = 0,
    bandwidth: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measure every way at every number of factors, for bfloat16 and float32 logits; return what JSON holds.

    Keys: device, rows, vocabulary, repeats, seed, bandwidth (bytes per second, read plus written; measured here if not
    given), and `ways`, a `KernelRow` each: "ours, triton" and "ours, torch" (`row_statistics`); "published" and
    "published, float64": softmax, gather and topk as LLaDA's loop has them, which serve one factor of 1 alone;
    "compiled": the plain form under torch.compile. compiled: None measures it on CUDA alone. sweep: also each block
    size of `CONFIGURATIONS`. ValueError for sizes or factors below 1.
    """
    if min(rows, vocabulary, repeats, *factors) < 1 or vocabulary < 2:
        raise ValueError(f"rows is {rows}, vocabulary {vocabulary}, factors {list(factors)}: at least 1 (2 words)")
    bandwidth = copy_bandwidth(device, seed=seed) if bandwidth is None else bandwidth
    table: list[KernelRow] = []
    for dtype in _DTYPES:
        inputs = _inputs(device, dtype, rows, vocabulary, seed)
        for number in factors:
            scale = _factors(number, device)
            truth = reference(inputs[0], scale)
            ways = _ways(device, number, device.type == "cuda" if compiled is None else compiled, sweep)
            for name, way in ways.items():
                goal = GOALS.get(number) if name == "ours, triton" else None
                row = KernelRow(name, str(dtype).removeprefix("torch."), number, MEASURED, goal=goal)
                table.append(_row(row, way, inputs, scale, truth, bandwidth, repeats))
                tell(f"kernel: {name}, {row.dtype}, {number} factors: {_told(table[-1])}")
        del inputs
    settings = {"device": str(device), "rows": rows, "vocabulary": vocabulary, "repeats": repeats, "seed": seed}
    return settings | {"bandwidth": bandwidth, "ways": [asdict(row) for row in table]}


def _told(row: KernelRow) -> str:
    return row.status if row.ms is None else f"{row.ms:.4g} ms"


def _inputs(device: torch.device, dtype: torch.dtype, rows: int, vocabulary: int, seed: int) -> list[Tensor]:
    nbytes = rows * vocabulary * dtype.itemsize
    target = _ROTATED_BYTES.get(device.type, _ROTATED_BYTES["cpu"])
    count = min(_MOST_INPUTS, max(2, math.ceil(target / nbytes)))
    draw = torch.Generator(device).manual_seed(seed)
    shape = (rows, vocabulary)
    return [torch.empty(shape, dtype=dtype, device=device).normal_(0, 2.5, generator=draw) for _ in range(count)]


def _factors(number: int, device: torch.device) -> Tensor:
    """Return [G] factors, one of them 1 where it is the only one, from 1/2 to 8 else."""
    if number == 1:
        return torch.ones(1, device=device)
    return torch.logspace(-1, 3, number, base=2.0, device=device)


Way = Callable[[Tensor, Tensor], RowValues]


def _ways(device: torch.device, number: int, compiled: bool, sweep: bool) -> dict[str, Way | str]:
    """Return the ways by name, or why one cannot run."""
    from rws_decode.gpu.row_statistics import row_statistics

    def ours(backend: Any, logits: Tensor, scale: Tensor) -> RowValues:
        statistics = row_statistics(logits, scale, backend=backend)
        return RowValues(statistics.token, statistics.lead, statistics.log_f)

    ways: dict[str, Way | str] = {"ours, triton": partial(ours, "triton"), "ours, torch": partial(ours, "torch")}
    if device.type != "cuda":
        ways["ours, triton"] = f"triton compiles for CUDA, not for {device.type}"
    if sweep and device.type == "cuda":
        ways |= _sweep()
    if number == 1:
        ways |= {"published": partial(_published, None), "published, float64": partial(_published, torch.float64)}
    if compiled:
        ways["compiled"] = _compiled()
    return ways


def _sweep() -> dict[str, Way]:
    from rws_decode.gpu.row_statistics import RowStatistics
    from rws_decode.gpu.triton_rows import CONFIGURATIONS, triton_statistics

    def at(block: int, warps: int, logits: Tensor, scale: Tensor) -> RowValues:
        statistics = RowStatistics(*triton_statistics(logits, scale, slopes=False, block=block, warps=warps))
        return RowValues(statistics.token, statistics.lead, statistics.log_f)

    return {f"ours, triton, {block} / {warps}": partial(at, block, warps) for block, warps in CONFIGURATIONS}


def _published(dtype: torch.dtype | None, logits: Tensor, scale: Tensor) -> RowValues:
    """Compute what LLaDA's loop does: softmax, the candidate's probability, and the most confident rows."""
    token = logits.argmax(dim=-1)
    chances = torch.softmax(logits if dtype is None else logits.to(dtype), dim=-1)
    chance = chances.gather(1, token[:, None])[:, 0]
    torch.topk(chance, min(2, len(chance)))
    return RowValues(token, None, (torch.log1p(-chance.double()) - chance.double().log())[:, None])


def _plain(logits: Tensor, scale: Tensor) -> RowValues:
    """Compute the definition in float32, as one would write it."""
    wide = logits.float()
    token = wide.argmax(dim=-1, keepdim=True)
    gaps = (wide - wide.gather(1, token)).scatter(1, token, -torch.inf)
    values = [torch.logsumexp(scale[number] * gaps, dim=-1) for number in range(len(scale))]
    return RowValues(token[:, 0], -gaps.amax(dim=-1), torch.stack(values, dim=1))


def _compiled() -> Way:
    # Compiled anew for every dtype and number of factors: beyond a few, PyTorch would stop and run it as written.
    torch.compiler.reset()
    made: Way = torch.compile(_plain, dynamic=False)
    return made


def _row(
    row: KernelRow,
    way: Way | str,
    inputs: Sequence[Tensor],
    scale: Tensor,
    truth: Truth,
    bandwidth: float,
    repeats: int,
) -> KernelRow:
    if isinstance(way, str):
        return KernelRow(row.way, row.dtype, row.factors, f"not run: {way}", goal=row.goal)
    try:
        with torch.inference_mode():
            answer = way(inputs[0], scale)
            times = each_seconds([partial(way, logits, scale) for logits in inputs], inputs[0].device, repeats=repeats)
    except Exception as error:  # A compiler's, or memory's: the other ways are measured all the same.
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return KernelRow(row.way, row.dtype, row.factors, f"failed: {reason}", goal=row.goal)
    seconds = median(times)
    return KernelRow(
        row.way,
        row.dtype,
        row.factors,
        MEASURED,
        ms=1e3 * seconds,
        share=inputs[0].nbytes / seconds / bandwidth,
        error=float((answer.log_f.double() - truth.log_f).abs().max()),
        tokens=bool((answer.token == truth.token).all()),
        leads=None if answer.lead is None else bool((answer.lead == truth.lead.to(answer.lead.dtype)).all()),
        goal=row.goal,
    )
