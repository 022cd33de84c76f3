"""The logits that a step ranked, computed again from its trace and the predictor."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.canvas.end_of_text import Ends
from rws_decode.canvas.layout import lay_out
from rws_decode.common.page import Page, notebook_html, picture
from rws_decode.common.threads import torch_threads
from rws_decode.predictors.base import MaskPredictor, forbidden_ids, pieces_of
from rws_decode.step.completion import masked_logits
from rws_decode.trace.data import check_known
from rws_decode.trace.trace import Trace
from rws_theory.crossings import Crossings, crossings
from rws_theory.show import shortened


@dataclass(frozen=True, eq=False)
class StepLogits:
    """The logits of the m positions that a step ranked, those of its block that were masked.

    positions: int64 [m], rising; logits: float64 [m, V], as the model gave them, not scaled, -inf where a token cannot
    be committed (with the ranking topk, which reads them all, only where it is suppressed), nor has a share in the
    confidence ("defer-published", at positions that do not wait); candidate: int64 [m], the token that each would
    commit; words: the candidates' texts; chosen: bool [m], those that the step committed; factor: what the step
    multiplied the logits by, NaN where not known.
    """

    step: int
    positions: NDArray[np.int64]
    logits: NDArray[np.float64]
    candidate: NDArray[np.int64]
    words: tuple[str, ...]
    chosen: NDArray[np.bool_]
    factor: float

    def __repr__(self) -> str:
        shape = f"{len(self.positions)} positions, {self.logits.shape[1]} tokens"
        return f"StepLogits(step {self.step}: {shape}, {int(self.chosen.sum())} committed, factor {self.factor:.4g})"

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    def view(self, k: int | None = None, scale_min: float = 0.1, scale_max: float = 32.0) -> Page:
        """Return an interactive page of the confidence curves, which a notebook shows by itself.

        k: positions that are chosen, by default as many as the step committed (`curves_page`).
        """
        return picture("curves_page", "step.view()")(self, k, scale_min, scale_max)

    def crossings(self, i: int, j: int) -> Crossings:
        """Return all factors at which two positions of the step change places, with proof (`rws_theory.crossings`).

        i, j: positions of the answer that the step ranked. The curves are those of their best tokens, and
        `sign_at_one` is 1 where i is ahead at factor 1. ValueError for a position that was not ranked, and for one
        whose token is not its best, such as a sampled one.
        """
        rows = []
        for name, position in (("i", i), ("j", j)):
            if position not in self.positions:
                raise ValueError(
                    f"{name} is {position}: step {self.step} ranked {shortened(self.positions.tolist(), 20)}"
                )
            row = self.positions.tolist().index(position)
            if self.logits[row, self.candidate[row]] < self.logits[row].max():
                raise ValueError(f"{name} is {position}: its token, {self.words[row]!r}, is not its best one")
            rows.append(self.logits[row])
        return crossings(*rows)


def step_logits(trace: Trace, predictor: MaskPredictor, step: int) -> StepLogits:
    """Return the logits that a step of a trace ranked, by one forward of its predictor.

    The canvas is the recorded one, alone and without padding: in another batch, last digits can differ. Guidance and
    end-of-text policy are the run's. ValueError for a step that was not run, and for a predictor with another mask id.

    >>> from rws_decode import CallablePredictor, Shape, decode
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> (trace,) = decode(predictor, [[2]], "default", Shape(3, 3, 3))
    >>> step_logits(trace, predictor, 1)
    StepLogits(step 1: 2 positions, 4 tokens, 1 committed, factor 1)
    """
    check_predictor(trace, predictor)
    if not isinstance(step, Integral) or not 0 <= step < trace.steps_run:
        raise ValueError(f"step is {step}: the trace has steps 0 to {trace.steps_run - 1}")
    rows, _ = masked_rows(trace, step, predictor)
    positions = np.flatnonzero(trace.eligible[step])
    logits = np.stack([rows[position] for position in positions.tolist()])
    candidate = trace.candidate[step, positions]
    forbidden = [token for token in forbidden_ids(predictor) if token < logits.shape[1]]
    best = np.delete(np.arange(logits.shape[1]), forbidden)[np.delete(logits, forbidden, axis=1).argmax(axis=1)]
    candidate = np.where(candidate < 0, best, candidate)
    pieces = pieces_of(predictor, sorted({*candidate.tolist()})) | trace.pieces  # a trace does not have all
    words = tuple(pieces.get(str(token), str(token)) for token in candidate.tolist())
    chosen, factor = trace.chosen[step, positions], float(trace.factor[step])
    return StepLogits(step, positions, logits, candidate, words, chosen, factor)


def check_predictor(trace: Trace, predictor: MaskPredictor) -> None:
    """Raise ValueError for a predictor that cannot be the trace's, with another mask id, and for a step map."""
    check_known(trace, "what a predictor says of a run")
    if predictor.mask_id != trace.mask_id:
        raise ValueError(f"predictor {predictor.name} has mask id {predictor.mask_id}: the trace has {trace.mask_id}")


def check_fresh(trace: Trace) -> None:
    """Raise ValueError for a run that kept keys: a canvas alone does not tell its logits."""
    if trace.key_cache != "none":
        raise ValueError(
            f"trace has key_cache {trace.key_cache!r}: one step's logits follow from its block's first step"
        )


def waiting(trace: Trace, step: int) -> NDArray[np.bool_]:
    """Return the positions that the end-of-text policy makes wait at a step, bool [n]."""
    ends = Ends() if trace.of_step_map else Ends(trace.end_of_text, trace.end_ids)
    return ends.waits(torch.tensor(trace.candidate[step])).numpy()


def masked_rows(
    trace: Trace, step: int, predictor: MaskPredictor
) -> tuple[dict[int, NDArray[np.float64]], dict[int, float]]:
    """Return the logits that ranked each masked position of a step, by position, computed again, and their error."""
    check_fresh(trace)
    canvas = lay_out(predictor, [trace.prompt.tolist()], trace.length)
    canvas.ids[0, canvas.answer[0]] = torch.tensor(trace.canvas[step], device=canvas.ids.device)
    masked = torch.tensor(trace.masked[step], device=canvas.ids.device)[None]
    ends = Ends(trace.end_of_text, trace.end_ids)
    public = trace.ranking == "topk"
    with torch_threads(), torch.inference_mode():
        found = masked_logits(predictor, canvas, masked, cfg=trace.cfg, suppressed=ends.suppressed, published=public)
    logits, positions = found.published if public else found.logits, found.position.tolist()
    candidate = torch.tensor(trace.candidate[step, positions], device=logits.device)
    candidate = torch.where(candidate < 0, found.logits.argmax(dim=1), candidate)
    ranked = ends.ranked(logits, candidate)
    # Positions that wait are level there; their own logits say more.
    waits = ends.waits(candidate)
    rows = torch.where(waits[:, None], logits, ranked).double().cpu().numpy()
    return dict(zip(positions, rows, strict=True)), dict(zip(positions, found.error.tolist(), strict=True))
