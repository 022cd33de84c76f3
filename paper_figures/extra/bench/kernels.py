"""Time one read of rows of logits: our `row_statistics`, and what users run in its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import Tensor

from paper_figures.extra.bench.roofline import each_seconds
from rws_decode.extra.compact.row_statistics import Backend, row_statistics

_ROWS = 256
# Factors at once -> share of the copy bandwidth aimed at, for 256 x 126,464 logits on a GPU.
_GOALS = {1: 0.8, 4: None, 16: 0.6}
_DTYPES = (torch.bfloat16, torch.float32)
# Inputs are rotated, so that none is in a cache when it is read again.
_ROTATED_BYTES = {"cuda": 2**29, "cpu": 2**22}
_MOST_INPUTS = 8


class RowValues(NamedTuple):
    """The values of rows. token: int64 [N]; lead: [N], None where a way gives none; log_f: [N, G], at each factor."""

    token: Tensor
    lead: Tensor | None
    log_f: Tensor


def reference(logits: Tensor, factors: Tensor) -> Any:
    """Return the `RowValues` in float64, as they are defined. logits: [N, V]; factors: [G].

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
    return RowValues(*(torch.cat(column) for column in zip(*parts, strict=True)))


def kernel_table(
    device: torch.device, vocabulary: int, bandwidth: float, *, tell: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Measure every way at 1, 4 and 16 factors, for bfloat16 and float32 logits; return what JSON holds.

    bandwidth: bytes per second that a copy reads and writes. Keys: rows, vocabulary, and `ways`, of which each has way
    ("ours, triton" and "ours, torch", `row_statistics`; "published" and "published, float64", what LLaDA's loop does,
    for one factor of 1 alone), dtype, factors, status ("measured", or why it was not), ms (median milliseconds per
    call), share (bytes of the logits over that time and the bandwidth), error (largest |log F - reference|), tokens and
    leads (whether all agree with the reference) and goal (the share aimed at). None where there is none.
    """
    table: list[dict[str, Any]] = []
    for dtype in _DTYPES:
        inputs = _inputs(device, dtype, vocabulary)
        for number, goal in _GOALS.items():
            # One of them is 1 where it is the only one; else they are from 1/2 to 8.
            scale = torch.ones(1, device=device) if number == 1 else torch.logspace(-1, 3, number, 2.0, device=device)
            truth = reference(inputs[0], scale)
            for name, way in _ways(number).items():
                row = {"way": name, "dtype": str(dtype).removeprefix("torch."), "factors": number}
                row |= _measured(name, way, inputs, scale, truth, bandwidth)
                table.append(row | {"goal": goal if name == "ours, triton" else None})
                time = row["status"] if row["ms"] is None else f"{row['ms']:.4g} ms"
                tell(f"kernel: {name}, {row['dtype']}, {number} factors: {time}")
        del inputs
    return {"rows": _ROWS, "vocabulary": vocabulary, "ways": table}


def _inputs(device: torch.device, dtype: torch.dtype, vocabulary: int) -> list[Tensor]:
    target = _ROTATED_BYTES.get(device.type, _ROTATED_BYTES["cpu"])
    count = min(_MOST_INPUTS, max(2, math.ceil(target / (_ROWS * vocabulary * dtype.itemsize))))
    draw = torch.Generator(device).manual_seed(0)
    shape = (_ROWS, vocabulary)
    return [torch.empty(shape, dtype=dtype, device=device).normal_(0, 2.5, generator=draw) for _ in range(count)]


Way = Callable[[Tensor, Tensor], Any]  # of `RowValues`, or what has them


def _ways(number: int) -> dict[str, Way]:
    """Return the ways that serve so many factors, by name."""
    backends: tuple[Backend, Backend] = ("triton", "torch")
    ways: dict[str, Way] = {f"ours, {name}": partial(row_statistics, backend=name) for name in backends}
    if number == 1:
        ways |= {"published": partial(_published, None), "published, float64": partial(_published, torch.float64)}
    return ways


def _published(dtype: torch.dtype | None, logits: Tensor, scale: Tensor) -> RowValues:
    """Compute what LLaDA's loop does: softmax, the candidate's probability, and the most confident rows."""
    token = logits.argmax(dim=-1)
    chances = torch.softmax(logits if dtype is None else logits.to(dtype), dim=-1)
    chance = chances.gather(1, token[:, None])[:, 0]
    torch.topk(chance, min(2, len(chance)))
    return RowValues(token, None, (torch.log1p(-chance.double()) - chance.double().log())[:, None])


def _measured(
    name: str, way: Way, inputs: Sequence[Tensor], scale: Tensor, truth: Any, bandwidth: float
) -> dict[str, Any]:
    row = {"status": "measured", **dict.fromkeys(("ms", "share", "error", "tokens", "leads"))}
    device = inputs[0].device
    if name == "ours, triton" and device.type != "cuda":
        return row | {"status": f"not run: triton compiles for CUDA, not for {device.type}"}
    try:
        with torch.inference_mode():
            answer = way(inputs[0], scale)
            seconds = median(each_seconds([partial(way, logits, scale) for logits in inputs], device, repeats=7))
    except Exception as error:  # A compiler's, or memory's: the other ways are measured all the same.
        return row | {"status": "failed: " + " ".join(f"{type(error).__name__}: {error}".split())[:200]}
    lead = answer.lead
    return row | {
        "ms": 1e3 * seconds,
        "share": inputs[0].nbytes / seconds / bandwidth,
        "error": float((answer.log_f.double() - truth.log_f).abs().max()),
        "tokens": bool((answer.token == truth.token).all()),
        "leads": None if lead is None else bool((lead == truth.lead.to(lead.dtype)).all()),
    }
