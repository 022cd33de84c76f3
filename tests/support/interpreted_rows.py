"""The Triton kernels under Triton's interpreter, in a process of its own: it must be set before triton is imported."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rws_decode.gpu.row_statistics import RowStatistics

Packed = tuple[np.ndarray, str, tuple[int, ...], int, int]


class Kernels(Protocol):
    """`triton_statistics`, wherever it runs."""

    def __call__(
        self, logits: Tensor, factors: Tensor, *, slopes: bool = False, block: int = 4096
    ) -> RowStatistics: ...


@contextmanager
def interpreted() -> Iterator[Kernels]:
    """Yield `triton_statistics` as another process interprets it on the CPU."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_set_interpreter) as pool:

        def call(logits: Tensor, factors: Tensor, **options: object) -> RowStatistics:
            fields = pool.submit(_statistics, _packed(logits), factors.numpy(), options).result()
            return RowStatistics(*(None if field is None else torch.from_numpy(field) for field in fields))

        yield call


def _set_interpreter() -> None:
    os.environ["TRITON_INTERPRET"] = "1"
    # The kernels' NaN, infinite and overflowing values are asked for.
    np.seterr(all="ignore")


def _packed(logits: Tensor) -> Packed:
    # The storage as far as the rows reach, so that strides arrive as they are. numpy has no bfloat16.
    reach = sum(max(n - 1, 0) * s for n, s in zip(logits.shape, logits.stride(), strict=True))
    end = logits.storage_offset() + reach + 1
    whole = logits.as_strided((end,), (1,), 0) if logits.numel() else logits.reshape(-1)
    name, bits = str(logits.dtype).removeprefix("torch."), torch.int16 if logits.element_size() == 2 else torch.int32
    return whole.contiguous().view(bits).numpy(), name, tuple(logits.shape), logits.stride(0), logits.storage_offset()


def _statistics(packed: Packed, factors: np.ndarray, options: dict[str, object]) -> list[np.ndarray | None]:
    from rws_decode.gpu.triton_rows import triton_statistics

    values, name, shape, stride, offset = packed
    logits = torch.from_numpy(values.copy()).view(getattr(torch, name))
    logits = logits.as_strided(shape, (stride, 1), offset) if logits.numel() else logits.reshape(shape)
    statistics = triton_statistics(logits, torch.from_numpy(factors.copy()), **options)
    return [None if field is None else field.numpy().copy() for field in statistics]
