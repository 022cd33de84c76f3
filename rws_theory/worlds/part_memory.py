"""Conditionals of parts of canvases that were computed before."""

from __future__ import annotations

from collections import OrderedDict
from threading import local

from rws_theory.worlds.backoff import Floats

Part = tuple[int, bytes]


class PartMemory(local):
    """A memory of parts by the state before each and its tokens; the longest unused go first.

    mebibytes: what its arrays may hold together, in each thread, which has its own; None for no limit.
    """

    def __init__(self, mebibytes: float | None = 64) -> None:
        self._limit = float("inf") if mebibytes is None else mebibytes * 2**20
        self._parts: OrderedDict[Part, Floats] = OrderedDict()
        self._bytes = 0

    def __reduce__(self) -> tuple[type[PartMemory], tuple[float]]:
        return PartMemory, (self._limit / 2**20,)

    def __contains__(self, part: Part) -> bool:
        return part in self._parts

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, part: Part) -> Floats:
        self._parts.move_to_end(part)
        return self._parts[part]

    def __setitem__(self, part: Part, rows: Floats) -> None:
        if part in self._parts:
            self._bytes -= self._parts.pop(part).nbytes
        self._parts[part] = rows
        self._bytes += rows.nbytes
        while self._bytes > self._limit and self._parts:
            self._bytes -= self._parts.popitem(last=False)[1].nbytes
