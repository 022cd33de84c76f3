"""The Triton kernels of `row_statistics`: chunks of rows on their own, then the chunks of each row together.

Each program of the first kernel holds one chunk of one row in registers and writes its largest logit m_1 with the
lowest index, its runner-up m_2, and S_g = sum exp(c_g (z_k - m_2)) over all but its largest. The second merges: what is
merged is relative to the runner-up, all terms are positive, and the order is fixed, so that nothing cancels and the
same input gives the same output. Logits come from device memory once; few rows still fill the device.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from rws_theory.extras import not_installed

try:
    import triton
    import triton.language as tl
except ModuleNotFoundError as error:
    if error.name != "triton":
        raise
    raise ModuleNotFoundError(f"{__name__}: {not_installed('triton')}", name="triton") from None

_TILE = 32  # chunks, and
_FACTORS = 16  # factors that a merging program holds at a time
_ROWS = 65535  # the largest second extent of a grid
_CLOSED: tl.constexpr = tl.constexpr(-8323200)  # two bfloat16 of -inf
_LEAST: tl.constexpr = tl.constexpr(-3.4028234663852886e38)
_LOG2_E: tl.constexpr = tl.constexpr(1.4426950408889634)
_LN_2: tl.constexpr = tl.constexpr(0.6931471805599453)


def triton_statistics(
    logits: Tensor, factors: Tensor, *, slopes: bool = False, block: int = 4096
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """Return the fields of `RowStatistics` of bfloat16, float16 or float32 logits on a CUDA device by two launches.

    block: logits that a program holds at most, 64 to a thread, a power of two of at least 64. Rows whose length and
    stride are multiples of 16 bytes are read fastest.
    """
    logits = logits if logits.stride(1) == 1 or logits.shape[1] == 1 else logits.contiguous()
    n, vocabulary = logits.shape
    count = factors.shape[-1]
    factors = factors.expand(n, count) if count else factors.new_ones(1).expand(n, 1)
    groups = factors.shape[1]
    # Triton's own types are those of device code: of its host functions, and of a kernel's launch, they say nothing.
    host: Any = triton
    chunk_kernel: Any = _chunks
    row_kernel: Any = _rows
    block = min(block, max(64, host.next_power_of_2(vocabulary)))
    chunks = host.cdiv(vocabulary, block)
    width = _width(logits)
    fields = 3 + groups * (1 + slopes)

    def empty(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=logits.device)

    read = (empty(n, dtype=torch.int64), empty(n), empty(n), empty(n, groups), empty(n, groups) if slopes else None)
    if n:
        values, indices = empty(n, fields, chunks), empty(n, chunks, dtype=torch.int32)
        options = {"G": groups, "SLOPES": slopes}
        tile = min(_FACTORS, host.next_power_of_2(groups))
        statistics = (*read[:4], read[3] if read[4] is None else read[4])
        with torch.cuda.device(logits.device) if logits.is_cuda else nullcontext():
            chunk_kernel[(chunks, min(n, _ROWS), host.cdiv(n, _ROWS))](
                *(logits, n, logits.stride(0) // width, vocabulary // width),
                *(factors, *factors.stride(), values, indices),
                **options,
                BLOCK=block,
                WIDTH=width,
                num_warps=max(1, block // 2048),
            )
            row_kernel[(n, host.cdiv(groups, tile))](
                *(values, indices, chunks, factors, *factors.stride(), *statistics),
                **options,
                FACTORS=tile,
                TILE=min(_TILE, host.next_power_of_2(chunks)),
                num_warps=1,
            )
    return *read[:3], read[3][:, :count], None if read[4] is None else read[4][:, :count]


def _width(logits: Tensor) -> int:
    # Logits that one load of 16 bytes takes; fewer where rows begin or end in between.
    width = 1 if logits.data_ptr() % 16 else 16 // logits.element_size()
    while logits.shape[1] % width or logits.stride(0) % width:
        width //= 2
    return width


@triton.jit
def _read(places, line, lines, closed, HEIGHT: tl.constexpr):
    # Masks cost two operations for every three logits: only the row's last chunk has them.
    return tl.load(places) if lines >= HEIGHT else tl.load(places, mask=(line < lines)[:, None], other=closed)


# Not specialised: the number of rows changes from step to step, and a kernel for each would be compiled anew.
@triton.jit(do_not_specialize=["rows", "stride", "lines", "row_stride", "factor_stride"])
def _chunks(
    logits,
    rows,
    stride,
    lines,
    factors,
    row_stride,
    factor_stride,
    values,
    indices,
    G: tl.constexpr,
    SLOPES: tl.constexpr,
    BLOCK: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = (tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)).to(tl.int64)
    if row >= rows:
        return
    chunk = tl.program_id(0)
    # A line is what one thread loads at a time: reductions along it need no exchange.
    HEIGHT: tl.constexpr = BLOCK // WIDTH
    line, column = tl.arange(0, HEIGHT), tl.arange(0, WIDTH)
    lines = lines - chunk * HEIGHT
    logits += row * stride * WIDTH + chunk.to(tl.int64) * BLOCK
    if logits.dtype.element_ty == tl.bfloat16 and WIDTH > 1:
        # Two at a time: the upper half of a float32 is its bfloat16, which takes one operation each, and not two.
        half: tl.constexpr = WIDTH // 2
        pairs = logits.to(tl.pointer_type(tl.int32)) + (line[:, None] * half + tl.arange(0, half)[None, :])
        pair = _read(pairs, line, lines, _CLOSED, HEIGHT)
        low, high = (pair << 16).to(tl.float32, bitcast=True), (pair & -65536).to(tl.float32, bitcast=True)
        z = tl.join(low, high).reshape(HEIGHT, WIDTH)
    else:
        places = logits + (line[:, None] * WIDTH + column[None, :])
        z = _read(places, line, lines, float("-inf"), HEIGHT).to(tl.float32)

    tops = tl.max(z, 1)
    first = tl.max(tops, 0)
    top = tl.min(tl.where(tops == first, line, HEIGHT - 1), 0)
    # The largest's own line is read again, from the cache: cheaper than keeping the index of every logit.
    near = tl.load(logits + top * WIDTH + column, mask=top < lines, other=float("-inf")).to(tl.float32)
    which = tl.min(tl.where(near == first, column, WIDTH - 1), 0)
    others = tl.max(tl.where(line == top, float("-inf"), tops), 0)
    second = tl.maximum(others, tl.max(tl.where(column == which, float("-inf"), near), 0))

    FIELDS: tl.constexpr = 3 + G * (1 + SLOPES)
    chunks = tl.num_programs(0)
    out = values + row * FIELDS * chunks + chunk
    tl.store(indices + row * chunks + chunk, chunk * BLOCK + top * WIDTH + which)
    tl.store(out, first)
    tl.store(out + chunks, second)
    # 0 z is NaN where z is infinite, and the maximum passes over NaN unless there is nothing else.
    size = tl.max(tl.max(tl.abs(tl.fma(z, 0.0, z)), 1), 0)
    tl.store(out + 2 * chunks, tl.where(size == size, size, 0.0))

    # The largest counts as the runner-up does, exactly 1, which is taken off again. NaN must stay in the sum.
    alone = second == float("-inf")
    x = tl.minimum(z - tl.where(alone, 0.0, second), 0.0, propagate_nan=tl.PropagateNan.ALL)
    out += 3 * chunks
    for g in range(G):
        c = tl.load(factors + row * row_stride + g * factor_stride).to(tl.float32)
        weight = tl.exp2(x * (c * _LOG2_E))
        total = tl.sum(tl.sum(weight, 1), 0)
        tl.store(out, tl.where(alone, total * 0.0, total - 1.0))
        out += chunks
        if SLOPES:
            # -inf times a weight of 0 would be NaN.
            moment = tl.sum(tl.sum(weight * tl.maximum(x, _LEAST), 1), 0)
            tl.store(out, tl.where(alone, 0.0, moment))
            out += chunks


@triton.jit(do_not_specialize=["chunks", "row_stride", "factor_stride"])
def _rows(
    values,
    indices,
    chunks,
    factors,
    row_stride,
    factor_stride,
    token_out,
    lead_out,
    largest_out,
    log_f_out,
    slope_out,
    G: tl.constexpr,
    SLOPES: tl.constexpr,
    FACTORS: tl.constexpr,
    TILE: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    FIELDS: tl.constexpr = 3 + G * (1 + SLOPES)
    values += row * FIELDS * chunks
    first, second, winner = float("-inf"), float("-inf"), 0
    largest = 0.0
    for start in range(0, chunks, TILE):
        p = start + tl.arange(0, TILE)
        firsts = tl.load(values + p, mask=p < chunks, other=float("-inf"))
        seconds = tl.load(values + chunks + p, mask=p < chunks, other=float("-inf"))
        # With return_indices it gives a pair, which its types leave out.
        high, where_ = tl.max(firsts, 0, return_indices=True)  # pyright: ignore[reportGeneralTypeIssues]
        low = tl.max(tl.maximum(tl.where(p - start == where_, float("-inf"), firsts), seconds), 0)
        second = tl.maximum(tl.minimum(first, high), tl.maximum(second, low))
        winner = tl.where(high > first, start + where_, winner)
        first = tl.maximum(first, high)
        sizes = tl.load(values + 2 * chunks + p, mask=p < chunks, other=0.0)
        largest = tl.maximum(largest, tl.max(sizes, 0))

    g = tl.program_id(1) * FACTORS + tl.arange(0, FACTORS)
    c = tl.load(factors + row * row_stride + g * factor_stride, mask=g < G, other=1.0).to(tl.float32)
    scale = (c * _LOG2_E)[:, None]
    alone = second == float("-inf")
    anchor = tl.where(alone, 0.0, second)
    total, moment = tl.zeros([FACTORS], tl.float32), tl.zeros([FACTORS], tl.float32)
    for start in range(0, chunks, TILE):
        p = start + tl.arange(0, TILE)
        firsts = tl.load(values + p, mask=p < chunks, other=float("-inf"))
        # The row's largest has no term, those of the other chunks have.
        d1 = (tl.where(p == winner, float("-inf"), firsts) - anchor)[None, :]
        d2 = (tl.load(values + chunks + p, mask=p < chunks, other=float("-inf")) - anchor)[None, :]
        w1, w2 = tl.exp2(d1 * scale), tl.exp2(d2 * scale)
        inside = (g[:, None] < G) & (p[None, :] < chunks)
        offset = (3 + g[:, None] * (1 + SLOPES)) * chunks + p[None, :]
        s = tl.load(values + offset, mask=inside, other=0.0)
        total += tl.sum(w1 + w2 * s, 1)
        if SLOPES:
            t = tl.load(values + offset + chunks, mask=inside, other=0.0)
            t = tl.maximum(t + tl.maximum(d2, _LEAST) * s, _LEAST)
            moment += tl.sum(w1 * tl.maximum(d1, _LEAST) + w2 * t, 1)

    # NaN in the sums, or where the largest is infinite.
    total += first - first
    bad = total != total
    nan = float("nan")
    log_f = tl.where(alone, float("-inf"), c * (second - first) + tl.log2(tl.maximum(total, 1.0)) * _LN_2)
    tl.store(log_f_out + row * G + g, tl.where(bad, nan, log_f), mask=g < G)
    if SLOPES:
        slope = tl.where(alone, float("-inf"), second - first + moment / tl.maximum(total, 1.0))
        tl.store(slope_out + row * G + g, tl.where(bad, nan, slope), mask=g < G)
    if tl.program_id(1) == 0:
        none = tl.max(bad.to(tl.int32), 0) > 0
        token = tl.load(indices + row * chunks + winner).to(tl.int64)
        tl.store(token_out + row, tl.where(none, 0, token))
        tl.store(lead_out + row, tl.where(none, nan, first - second))
        tl.store(largest_out + row, tl.where(none, nan, largest))
