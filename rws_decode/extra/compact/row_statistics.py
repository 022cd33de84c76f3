"""Statistics of rows of logits that are read once: candidate, lead, and log F with its slope at many factors."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from rws_theory.extras import not_installed

Backend = Literal["auto", "triton", "torch", "float64"]

# Of the float32 backends, for V <= 2^20: docs/theory.md, eq. (T58).
RELATIVE = 2.0**-15

_CPU_CHUNK = 2**18  # logits at a time: what is made of them stays in the cache
_DEVICE_CHUNK = 2**25


class RowStatistics(NamedTuple):
    """Statistics of N rows of logits at G factors, on the device of the logits.

    A row that holds a NaN or +inf, or nothing but -inf, has no statistics: NaN in every float, 0 as its token.
    """

    token: Tensor  # int64 [N], the largest logit's index, the lowest among equals
    lead: Tensor  # float32 [N], largest minus runner-up, in logits; inf where one token alone is possible
    largest: Tensor  # float32 [N], largest finite |logit|
    log_f: Tensor  # float32 [N, G], log F(c) = logsumexp_{k != token} c (z_k - z_token)
    slope: Tensor | None  # float32 [N, G], d log F / dc


def row_statistics(
    logits: Tensor, factors: Tensor, *, slopes: bool = False, backend: Backend = "auto"
) -> RowStatistics:
    """Return candidate, lead, largest |logit| and log F(c) of each row, from one reading of the logits.

    log F(c) = logsumexp_{k != t} c (z_k - z_t) = c (z_2 - z_1) + log S, S = sum_{k != t} exp(c (z_k - z_2)) >= 1, for
    the candidate t with logit z_1 and its runner-up z_2; the log-odds of t are -log F. Computed as the last form says,
    so that nothing underflows or cancels at any gap. Where one token alone is possible (the others -inf), or c times
    the lead is above float32's range, log F is -inf; where one alone is possible the slope is -inf too.

    logits: [N, V], V >= 1, bfloat16, float16, float32 or float64, -inf closed. factors: [G] or [N, G], float32 or
    float64, c at least 1e-30. backend: "triton" reads the logits once on a CUDA device; "torch" computes the same in
    float32 by few rows at a time, on any device; "float64" is their slow reference, and serves float64 logits whatever
    is asked; "auto" takes triton on CUDA where it is installed, else torch.

    Guarantee: the token is exact, the lead rounded once; `log_f_error` bounds the error of log F, and slopes are within
    2^-11 (1 / c + |slope|) for V <= 2^20; the same input gives the same output on the same device; nothing waits for
    the device, so that values (c > 0) are not checked. ValueError for "triton" where it is not installed.
    """
    factors = factors.expand(logits.shape[0], factors.shape[-1])
    if backend == "float64" or logits.dtype == torch.float64:
        return _by_few_rows(_float64_rows, logits, factors, slopes)
    if backend == "triton" or (backend == "auto" and logits.is_cuda and _has_triton()):
        if not _has_triton():
            raise ValueError(f'backend is "triton": {not_installed("triton")}')
        from rws_decode.extra.compact.triton_rows import triton_statistics

        return RowStatistics(*triton_statistics(logits, factors, slopes=slopes))
    return _by_few_rows(_float32_rows, logits, factors, slopes)


def log_f_error(log_f: Tensor) -> Tensor:
    """Return a bound on |log F computed - exact|, of the shape of `log_f`: RELATIVE (1 + |log F|).

    It holds for the float32 backends and V <= 2^20, logits and factors taken as given, in natural logarithms: 2e-4
    where |log F| is 5. 0 where log F is -inf (one token alone is possible), NaN where it is NaN.
    """
    return torch.where(log_f == -torch.inf, 0.0, RELATIVE * (1 + log_f.abs()))


def _has_triton() -> bool:
    return find_spec("triton") is not None


def _by_few_rows(
    compute: Callable[[Tensor, Tensor, bool], tuple[Tensor, ...]], logits: Tensor, factors: Tensor, slopes: bool
) -> RowStatistics:
    chunk = _DEVICE_CHUNK if logits.is_cuda else _CPU_CHUNK
    rows = max(1, chunk // logits.shape[1])
    parts = [compute(z, c, slopes) for z, c in zip(logits.split(rows), factors.split(rows), strict=True)]
    token, lead, largest, log_f, slope = (torch.cat(column) for column in zip(*parts, strict=True))
    bad = lead.isnan()
    # One rule for every backend and field, so that each field shows that the row has no value.
    return RowStatistics(
        token.masked_fill(bad, 0),
        lead,
        largest.masked_fill(bad, torch.nan),
        log_f.masked_fill(bad[:, None], torch.nan),
        slope.masked_fill(bad[:, None], torch.nan) if slopes else None,
    )


def _top_two(z: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    # Candidate, its logit (NaN where there is none), the runner-up's, and the largest finite |logit|. argmax takes the
    # first among equals, and a NaN as larger than all. nan_to_num is many times as fast as masked_fill here.
    token = z.argmax(dim=-1, keepdim=True)
    first = z.gather(1, token)
    first = first.masked_fill(first.isinf(), torch.nan)
    second = z.scatter(1, token, -torch.inf).amax(dim=-1, keepdim=True)
    least = z.nan_to_num(nan=torch.nan, posinf=torch.inf, neginf=torch.inf).amin(dim=-1, keepdim=True)
    largest = torch.maximum(first, -least)
    return token, first, second, largest


def _float32_rows(logits: Tensor, factors: Tensor, slopes: bool) -> tuple[Tensor, ...]:
    z, c = logits.float(), factors.float()
    token, first, second, largest = _top_two(z)
    alone = second == -torch.inf
    x = z - second.masked_fill(alone, 0)
    x.scatter_(1, token, -torch.inf)
    finite = x.clamp(min=torch.finfo(x.dtype).min) if slopes else x
    sums, moments = [], []
    for factor in c.unbind(1):
        weights = (x * factor[:, None]).exp_()
        sums.append(weights.sum(dim=-1))
        moments.append((weights.mul_(finite)).sum(dim=-1) if slopes else sums[-1])
    lead = first - second
    total = torch.stack(sums, 1) if sums else torch.zeros_like(c)
    log_f = total.log() - c * lead
    slope = (torch.stack(moments, 1) / total - lead).masked_fill(alone, -torch.inf) if slopes and sums else total
    return token[:, 0], lead[:, 0], largest[:, 0], log_f, slope


def _float64_rows(logits: Tensor, factors: Tensor, slopes: bool) -> tuple[Tensor, ...]:
    z = logits.double()
    token, first, second, largest = _top_two(z)
    log_f, slope = [], []
    gaps = (z - first).scatter(1, token, -torch.inf)
    for factor in factors.double().unbind(1):
        exponents = factor[:, None] * gaps
        log_f.append(exponents.logsumexp(dim=-1))
        if slopes:
            weights = exponents.softmax(dim=-1)
            mean = (weights * gaps.masked_fill(gaps == -torch.inf, 0)).sum(dim=-1)
            slope.append(mean.masked_fill(second[:, 0] == -torch.inf, -torch.inf))
    none = z.new_zeros(factors.shape)
    values = (first - second)[:, 0], largest[:, 0], torch.stack(log_f, 1) if log_f else none
    slopes_ = torch.stack(slope, 1) if slope else none
    return token[:, 0], *(value.float() for value in (*values, slopes_))
