"""The next forward, begun before the reward is known and kept where the reward does not change the choice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from types import TracebackType
from typing import Self, TypeVar

import torch
from torch import Tensor

from rws_decode.threads import torch_threads

__all__ = ["Speculation"]

T = TypeVar("T")


class Speculation:
    """Runs a predictor ahead, in one worker thread, while a reward model on another device scores.

    A step's choice waits for its reward, the next forward for the choice. With the last factor, say, the choice can be
    guessed, and the forward that would follow the guess runs while the reward is scored. Where the guess is the choice
    its result is kept, else it is thrown away and the forward runs anew: what is returned is the same with and
    without a guess. `hits` and `misses` count the guesses that were right and wrong. It pays where forward and reward
    do not compete for one device, and the guess is mostly right. To be used in a `with` statement, which ends the
    thread.

    >>> with Speculation() as ahead:
    ...     choice = torch.tensor([[True, False]])
    ...     kept = ahead.step(lambda chosen: chosen.sum().item(), lambda: choice, guess=choice)
    ...     other = ahead.step(lambda chosen: chosen.sum().item(), lambda: ~choice, guess=choice)
    >>> kept[1], other[1], ahead.hits, ahead.misses
    (1, 1, 1, 1)
    """

    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="speculation")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._worker.shutdown()

    def step(
        self, forward: Callable[[Tensor], T], choose: Callable[[], Tensor], guess: Tensor | None = None
    ) -> tuple[Tensor, T]:
        """Return what choose() returns, and forward of that.

        forward: from the positions chosen, bool [b, n], to what follows; it must depend on nothing else that changes,
        and draw nothing. choose: scores and chooses; in this thread. guess: what choose is expected to return, None
        to run nothing ahead. Guarantee: never two calls of forward at once, and none begun by this step is left
        running; an error of a forward whose guess was wrong is dropped with its result, any other is raised.
        """
        begun = None if guess is None else self._begin(forward, guess)
        try:
            chosen = choose()
        finally:
            if begun is not None:
                wait([begun])
        if begun is None or guess is None:
            return chosen, forward(chosen)
        if torch.equal(chosen, guess):
            self.hits += 1
            return chosen, begun.result()
        self.misses += 1
        return chosen, forward(chosen)

    def _begin(self, forward: Callable[[Tensor], T], guess: Tensor) -> Future[T]:
        # Both are a thread's own, not the process's.
        inference, context = torch.is_inference_mode_enabled(), copy_context()

        def run() -> T:
            with torch_threads(), torch.inference_mode(inference):
                return forward(guess)

        return self._worker.submit(context.run, run)
