"""What a callback sees after each step of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rws_decode.step.step import Done, State


@dataclass(frozen=True, eq=False)
class StepView:
    """One step of a batch, just after its commits; the arrays are copies.

    step: counted from 0 over the `steps` planned; rows: int64 [b], which prompts these rows are, numbered as they were
    given (rows that were settled before are gone); canvas: int64 [b, n], the answers' tokens, `mask_id` where none is
    committed yet; candidate: int64 [b, n], the completion that the step chose from, `mask_id` where it was not computed
    (`settings.Savings.block_only`); chosen: bool [b, n], the positions that this step committed; factor: float64 [b],
    what multiplied the logits, NaN where no reward was needed to know the choice (`settings.Savings.certain`).

    >>> from rws_decode import CallablePredictor, Confidence, Shape, decode
    >>> import torch
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> views = []
    >>> run = decode(predictor, [[2]], Confidence(), Shape(3, 3, 3), callback=views.append)
    >>> [(view.cur_step, view.canvas[0].tolist()) for view in views]
    [(3, [3, 0, 0]), (2, [3, 3, 0]), (1, [3, 3, 3])]
    """

    step: int
    steps: int
    mask_id: int
    rows: NDArray[np.int64]
    canvas: NDArray[np.int64]
    candidate: NDArray[np.int64]
    chosen: NDArray[np.bool_]
    factor: NDArray[np.float64]

    @property
    def cur_step(self) -> int:
        """Return how many steps remain, this one included: from `steps` down to 1, as transformers' text diffusion."""
        return self.steps - self.step

    @classmethod
    def of(cls, state: State, done: Done, steps: int, mask_id: int) -> StepView:
        """Return the view of a step: what it did, and the state after it."""
        candidate = done.choice.candidate.cpu().numpy()
        return cls(
            step=done.step,
            steps=steps,
            mask_id=mask_id,
            rows=done.rows.cpu().numpy().copy(),
            canvas=state.canvas.ids.gather(1, state.canvas.answer).cpu().numpy().copy(),
            candidate=np.where(candidate < 0, mask_id, candidate),
            chosen=done.choice.chosen.cpu().numpy().copy(),
            factor=done.known_factor.cpu().numpy().copy(),
        )


StepCallback = Callable[[StepView], bool | None]
"""Called after every step of every batch; what is true ends that batch there."""
