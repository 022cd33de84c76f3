"""The Triton kernels under Triton's interpreter, in a process of its own: it must be set before triton is imported."""

import multiprocessing
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from torch import Tensor

from rws_decode.extra.compact.row_statistics import RowStatistics


class Kernels(Protocol):
    """`triton_statistics`, wherever it runs."""

    def __call__(
        self, logits: Tensor, factors: Tensor, *, slopes: bool = False, block: int = 4096
    ) -> RowStatistics: ...


@contextmanager
def interpreted() -> Iterator[Kernels]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_set_interpreter) as pool:

        def call(logits: Tensor, factors: Tensor, **options: object) -> RowStatistics:
            # Pickled as bytes, tensors keep their strides; as they are they would be shared.
            payload = pickle.dumps((logits, factors, options))
            return RowStatistics(*pickle.loads(pool.submit(_statistics, payload).result()))

        yield call


def _set_interpreter() -> None:
    os.environ["TRITON_INTERPRET"] = "1"
    # The kernels' NaN, infinite and overflowing values are asked for.
    np.seterr(all="ignore")


def _statistics(payload: bytes) -> bytes:
    from rws_decode.extra.compact.triton_rows import triton_statistics

    logits, factors, options = pickle.loads(payload)
    return pickle.dumps(triton_statistics(logits, factors, **options))
