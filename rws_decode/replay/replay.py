"""Runs repeated from their traces: the selection alone, or the whole decode with the recorded factors."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.canvas.schedule import block_plan
from rws_decode.decode import decode
from rws_decode.predictors.base import MaskPredictor
from rws_decode.replay.step_logits import check_predictor, waiting
from rws_decode.settings import Options, Savings, Shape
from rws_decode.step.callback import StepCallback
from rws_decode.step.select import select_deferring, select_top
from rws_decode.strategies.given import RecordedOrder
from rws_decode.strategies.recorded import recorded
from rws_decode.trace.data import NOT_NEEDED, check_known
from rws_decode.trace.trace import Trace
from rws_theory.show import quoted

__all__ = ["Replay", "replay", "replay_with"]


@dataclass(frozen=True, eq=False)
class Replay:
    """What a trace's own values lead to: tokens, int64 [n], and the first step that differs from the record, or None.

    At positions that were not committed up to and in that step, `tokens` holds the mask id: the record says nothing of
    what would have come of another canvas.
    """

    tokens: NDArray[np.int64]
    diverged_at: int | None

    def __repr__(self) -> str:
        return f"Replay({'the same tokens' if self.diverged_at is None else f'parted at step {self.diverged_at}'})"


def replay(trace: Trace) -> Replay:
    """Select again from the recorded ranking values and candidates, step by step, and compare with the record.

    No model is needed. Guarantee: `diverged_at` is None exactly where the chosen set and the ties of every step follow
    from the values kept, and so the tokens. Three things are taken from the record, as no values on file decide them:
    how many positions a step committed, or which, where the strategy counted or chose them; which tokens it masked
    again or replaced; the set of a step whose reward was not needed and whose values are not known; and which of
    several tied positions `torch.topk` took (ranking "topk").

    >>> from rws_decode import CallablePredictor, Confidence, Shape
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> (trace,) = decode(predictor, [[2]], Confidence(), Shape(3, 3, 3))
    >>> replay(trace).tokens.tolist() == trace.tokens.tolist(), replay(trace).diverged_at
    (True, None)
    """
    check_known(trace, "replay", whole=True)
    plan = block_plan(trace.length, trace.steps, trace.block, trace.counts)
    for step, planned in enumerate(plan[: trace.steps_run]):
        own = trace.strategy.get("counts") or trace.strategy.get("revises")
        k = int(trace.chosen[step].sum()) if own else planned.commits
        chosen, same = _select(trace, step, k)
        if not same:
            before = trace.canvas[step]
            return Replay(np.where(chosen, trace.candidate[step], before), step)
    return Replay(trace.tokens, None)


def _select(trace: Trace, step: int, k: int) -> tuple[NDArray[np.bool_], bool]:
    """Return the set that the values of a step lead to, bool [n], and whether it is the recorded one, ties too."""
    value, record = trace.value[step], trace.chosen[step]
    kept = ~np.isnan(value)
    if trace.strategy.get("chooses"):
        return record, bool((record <= trace.eligible[step]).all())
    if trace.reward_use[step] == NOT_NEEDED and not kept.any():
        return record, bool((record <= trace.eligible[step]).all()) and int(record.sum()) == k
    if kept.sum() < k:
        return record, False
    late = waiting(trace, step)
    values, eligible, deferred = (torch.tensor(array)[None] for array in (value, kept, late))
    selection = select_deferring(select_top, values, eligible, deferred, k)
    chosen = selection.chosen.numpy()[0]
    same = np.array_equal(chosen, record)
    if not same and trace.ranking == "topk":
        same = all(np.array_equal(np.sort(value[chosen & g]), np.sort(value[record & g])) for g in (late, ~late))
    return chosen, same and int(selection.ties) == trace.ties[step]


def replay_with(trace: Trace, predictor: MaskPredictor, strategy: None = None) -> Trace:
    """Decode the trace's prompt again with its recorded factors, or its recorded order, asking no reward.

    With the predictor, device and batch of the run itself the tokens are the same, as the factors are what the reward
    acted through; sampling, guidance and end-of-text policy are the run's, and a run that ended early, its text settled
    or stopped by a callback, ends after as many steps. ValueError for another mask id, and for another strategy.

    >>> from rws_decode import CallablePredictor, Shape, Temperature
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> (trace,) = decode(predictor, [[2]], Temperature(5.0), Shape(3, 3, 3))
    >>> again = replay_with(trace, predictor)
    >>> again.strategy["name"], again.tokens.tolist() == trace.tokens.tolist()
    ('schedule', True)
    """
    if strategy is not None:
        right = "replay_with(trace, predictor), or decode(predictor, trace.prompt, strategy), is needed"
        raise ValueError(f"strategy is {quoted(strategy)}: a trace has its own, {right}")
    check_predictor(trace, predictor)
    rule = recorded(trace)
    shape, options = run_settings(trace)
    if isinstance(rule, RecordedOrder):
        options = replace(options, ranking="log-odds")
    savings, callback = as_ended(trace)
    prompt = [trace.prompt.tolist()]
    (again,) = decode(predictor, prompt, rule, shape, savings=savings, callback=callback, options=options)
    # The ids alone do not tell the turns of a dialogue apart.
    return replace(again, prompt_text=trace.prompt_text)


def first_difference(first: Trace, second: Trace) -> int | None:
    """Return the first step at which two runs commit or revise other tokens, None where they are the same."""

    def done(trace: Trace, step: int) -> list[list[Any]]:
        if step >= trace.steps_run:
            return [[]]
        parts = [part[step] for part in (trace.chosen, trace.masked_again, trace.edited)]
        touched = np.logical_or.reduce(parts)
        return [part.tolist() for part in (*parts, trace.candidate[step, touched])] if touched.any() else [[]]

    steps = range(max(first.steps_run, second.steps_run))
    return next((step for step in steps if done(first, step) != done(second, step)), None)


def as_ended(trace: Trace) -> tuple[Savings, StepCallback | None]:
    """Return what ends a run where the trace's ended: a settled text, or a callback where masks are left."""
    early = trace.steps_run < trace.steps
    stopped = early and bool((trace.tokens == trace.mask_id).any())
    at_last = (lambda view: view.step + 1 == trace.steps_run) if stopped else None
    return Savings(settled=early and not stopped), at_last


def run_settings(trace: Trace) -> tuple[Shape, Options]:
    """Return the shape and the options of a trace's run."""
    given: dict[str, Any] = {each.name: getattr(trace, each.name) for each in fields(Options)}
    given |= {"ranking": "log-odds" if trace.ranking == "order" else trace.ranking, "end_ids": trace.end_ids or None}
    return Shape(trace.length, trace.steps, trace.block, trace.counts), Options(**given)  # checks what a file says
