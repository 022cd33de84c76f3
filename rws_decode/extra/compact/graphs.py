"""Functions of fixed shapes, recorded as CUDA graphs when they are first called and replayed from then on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import local
from typing import Any, NamedTuple

import torch
from torch import Tensor


class _Recording(NamedTuple):
    buffers: list[Tensor | None]
    output: Tensor
    replay: Callable[[], None]


class Replays(local):
    """Runs functions of tensors; on a CUDA device one recorded launch stands for all of a function's kernels.

    A function is recorded once for each name and each combination of shapes; `most` recordings are kept, the least
    recently used is dropped. It must not look at values on the host, nor keep or return its arguments. Recordings share
    their memory, so the result of a call is lost with the next call. Off CUDA the function runs every time, through the
    same buffers, and the last result is overwritten with NaN, so that tests on a CPU find what would fail on a GPU.
    `recorded` counts the recordings. Each thread has recordings of its own.

    ValueError where CUDA cannot record the function.
    """

    def __init__(self, most: int = 32) -> None:
        self.most = most
        self.recorded = 0
        self._recordings: OrderedDict[Hashable, _Recording] = OrderedDict()
        self._pools: dict[torch.device, Any] = {}
        self._aside: dict[torch.device, Any] = {}

    def __reduce__(self) -> tuple[type[Replays], tuple[int]]:
        return Replays, (self.most,)

    def __call__(self, name: Hashable, function: Callable[..., Tensor], *given: Tensor | None) -> Tensor:
        """Return function(*given); None stays None."""
        shapes = tuple(None if part is None else (tuple(part.shape), part.dtype, part.device) for part in given)
        recording = self._recordings.pop((name, shapes), None)
        self._lose_the_last()
        if recording is None:
            while len(self._recordings) >= self.most:
                self._recordings.popitem(last=False)
            if not self._recordings:
                self._pools.clear()  # A pool that no recording uses any more cannot be taken up again.
            recording = self._record(name, function, [None if tensor is None else tensor.clone() for tensor in given])
            self.recorded += 1
        else:
            for buffer, tensor in zip(recording.buffers, given, strict=True):
                if buffer is not None and tensor is not None:
                    buffer.copy_(tensor)
            recording.replay()
        self._recordings[name, shapes] = recording
        return recording.output

    @property
    def idle_bytes(self) -> int:
        """Return the bytes of CUDA memory that recordings compute in and that PyTorch does not count as allocated."""
        pools = {tuple(pool) for pool in self._pools.values()}
        parts = torch.cuda.memory_snapshot() if pools else []
        return sum(part["total_size"] - part["allocated_size"] for part in parts if part["segment_pool_id"] in pools)

    def forget(self) -> None:
        """Drop all recordings, whose memory `torch.cuda.empty_cache` then gives back."""
        self._recordings.clear()

    def _lose_the_last(self) -> None:
        if self._recordings:
            last = next(reversed(self._recordings.values())).output
            if last.device.type != "cuda" and last.is_floating_point():
                last.fill_(torch.nan)

    def _record(self, name: Hashable, function: Callable[..., Tensor], buffers: list[Tensor | None]) -> _Recording:
        device = next(tensor.device for tensor in buffers if tensor is not None)
        if device.type != "cuda":
            output = function(*buffers)

            def again() -> None:
                output.copy_(function(*buffers))

            return _Recording(buffers, output, again)
        return self._captured(name, function, buffers, device)

    def _captured(
        self, name: Hashable, function: Callable[..., Tensor], buffers: list[Tensor | None], device: torch.device
    ) -> _Recording:
        with torch.cuda.device(device):
            current = torch.cuda.current_stream(device)
            # One stream of this device for everything: libraries keep a workspace for each stream that they ever saw,
            # and what is recorded on another device's stream is not recorded at all.
            if device not in self._aside:
                self._aside[device] = torch.cuda.Stream(device)
            if device not in self._pools:
                self._pools[device] = torch.cuda.graph_pool_handle()
            aside = self._aside[device]
            # Handles and workspaces that libraries make at the first call must be there before anything is recorded.
            aside.wait_stream(current)
            with torch.cuda.stream(aside):
                for _ in range(2):
                    function(*buffers)
            current.wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            recording = torch.cuda.graph(
                graph, pool=self._pools[device], stream=aside, capture_error_mode="thread_local"
            )
            try:
                # A recording that fails leaves its own stream the current one.
                with torch.cuda.stream(current), recording:
                    output = function(*buffers)
            except RuntimeError as error:
                reason = " ".join(str(error).split())
                raise ValueError(f"graphs is True: {name} cannot be recorded ({reason}), use graphs=False") from error
            graph.replay()

        def replay() -> None:
            with torch.cuda.device(device):
                graph.replay()

        return _Recording(buffers, output, replay)
