"""The outcome of a decode: the traces of its prompts, together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rws_decode.trace.trace import Trace

__all__ = ["Decoding"]


@dataclass(frozen=True)
class Decoding(Sequence[Trace]):
    """The outcome of a decode: a sequence of one Trace per prompt, in order.

    `forwards`: forwards of the predictor, a batch counting once; `reward_calls`: texts scored; `reward_calls_saved`:
    scores reused or not needed.
    """

    traces: tuple[Trace, ...]
    forwards: int

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, row: Any) -> Any:
        return self.traces[row]

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Return the answers' token ids, int64 [B, n]."""
        return np.stack([trace.tokens for trace in self.traces])

    @property
    def texts(self) -> list[str | None]:
        """Return the answers' texts, None without a tokenizer."""
        return [trace.text for trace in self.traces]

    @property
    def reward_calls(self) -> int:
        """Return the number of texts scored."""
        return sum(trace.reward_calls for trace in self.traces)

    @property
    def reward_calls_saved(self) -> int:
        """Return the number of scores reused or not needed."""
        return sum(trace.reward_calls_saved for trace in self.traces)
