"""The decoder: prompts in, one trace per prompt out. `step.step.plain_step` is one step of the paper's algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from rws_decode.common.plugins import hook
from rws_decode.common.threads import torch_threads
from rws_decode.final_text import outcomes
from rws_decode.job import Job, Prompts, check_arguments, prepare
from rws_decode.predictors.base import MaskPredictor, pieces_of
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Options, Savings, Shape
from rws_decode.step.cached_reward import Scorer
from rws_decode.step.callback import StepCallback, StepView
from rws_decode.step.completion import MaskedLogits, TokenSampler
from rws_decode.step.record import Record
from rws_decode.step.step import Decoder, Done, State, forward, run
from rws_decode.strategies.protocol import Strategy, abilities_of
from rws_decode.trace.data import NOT_NEEDED
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.trace import Trace

_OPTIONS, _SAVINGS = Options(), Savings()


def decode(
    predictor: MaskPredictor,
    prompts: Prompts | None = None,
    strategy: Strategy | str = "default",
    shape: Shape | None = None,
    *,
    canvas: Prompts | Sequence[int] | None = None,
    reward: RewardModel | Callable[..., float] | None = None,
    options: Options = _OPTIONS,
    savings: Savings = _SAVINGS,
    finished: Callable[[int, Trace], None] | None = None,
    callback: StepCallback | None = None,
    **numbers: Any,
) -> Decoding:
    """Decode an answer to each prompt, block by block, and record every step.

    Each step is one of the paper's algorithm (Section "Reward-Weighted Sampling Algorithm"): (1) one forward over the
    whole canvas, and the greedy completion of all masked positions; (2) if the strategy asks, the reward of prompt and
    completed answer, normalised to r = (raw - mean) / std; (3) all logits times the strategy's factor; (4) commit the
    most confident positions of the current block. `step.step` shows them. A strategy with an order of its own takes the
    place of (3) and of the confidence in (4).

    prompts: texts, each a text, a `dialogue.Dialogue` or messages of a chat, or the token ids that stand before the
    answer, of any lengths, in lists, a tensor or a tokenizer's output; one may be given as it is. strategy: an object
    (`protocol.FactorStrategy`, `protocol.OrderStrategy`), or a name with its numbers, "rws" and reward_scale=8.0, or
    "rws:8" (`strategies.table`). reward: a reward model, or a function of (prompt, answer) or of the answer. It sees
    the text or the dialogue itself, or for ids their decoded text; the final text gets its reward from it under any
    strategy, which costs the decode nothing that the trace counts.

    A prompt with gaps, [MASK:n] in a text or mask ids among ids, is filled in. `shape.length` is the number of all its
    masks, and the answer's positions are these from left to right. The reward is that of the text before the first gap
    and of all after it, completed: fixed words count, and shift a reward that is a sum over words by a fixed amount.
    canvas: one or several of those, in place of prompts; their masks are one block where no shape is given.

    finished: called with a prompt's number and its trace as soon as its batch is done. callback: called with a
    `callback.StepView` after each step of each batch; where it returns what is true, the batch ends there: positions
    left masked have `commit_step` -1 and hold the mask id.

    Guarantees: one forward per step for all rows of a batch; [MASK], padding and the predictor's forbidden ids are
    never candidates; prompt positions never change, nor committed tokens but by a strategy that changes them; ties
    go to the leftmost position (but for "topk") and are counted; all sampling follows from `options.seed` and the
    strategy's own seed; a row's answer follows from its prompt and seed, not from its batch, as far as the predictor's
    arithmetic does (`Trace.near_ties`), and to the last bit with `Savings(batch_invariant=True)`.
    ValueError names the argument that is wrong, or the model whose output is not finite.

    >>> from rws_decode import CallablePredictor, Confidence
    >>> table = torch.tensor([[9.0, 1.0, 0.0], [9.0, 0.0, 3.0], [9.0, 0.0, 2.0]])
    >>> predictor = CallablePredictor(lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), mask_id=0)
    >>> (trace,) = decode(predictor, [[1]], Confidence(), Shape(length=2, steps=2, block=2))
    >>> trace.tokens.tolist(), trace.commit_step.tolist()
    ([2, 2], [0, 1])
    """
    check_arguments(predictor, options, shape, savings)
    job = prepare(predictor, prompts, strategy, shape, reward, options, numbers, canvas)
    return decoded(job, options, savings, finished, callback)


def decoded(
    job: Job,
    options: Options,
    savings: Savings,
    finished: Callable[[int, Trace], None] | None = None,
    callback: StepCallback | None = None,
    step_forward: Callable[[Decoder, State], MaskedLogits] = forward,
) -> Decoding:
    """Decode what was prepared, as `decode` says; step_forward: what takes the place of the step's forward."""
    predictor, shape = job.predictor, job.shape
    sampler = TokenSampler(options.sampling_temperature, options.seed, len(job.prompts), options.top_p, options.top_k)
    how = {"reuse": savings.reuse, "cache": savings.cache}
    scorer = None if job.asked is None else Scorer(predictor, job.asked, job.prompts, **how)
    parts = (predictor, job.strategy, shape.plan, options, job.ends, sampler, scorer, len(job.prompts), step_forward)
    decoder = Decoder(*parts, memory=savings.memory)
    if options != _OPTIONS or not abilities_of(job.strategy).plain:
        from rws_decode.step.layers import drawn_at_commit, layered  # here, as plain decodes have none

        decoder = layered(decoder if options.drawing == "completion" else drawn_at_commit(decoder))
    if savings.block_only or savings.certain or savings.settled:
        decoder = hook("saving", "savings")(decoder, savings)

    def show(state: State, done: Done) -> bool:
        return callback is not None and bool(callback(StepView.of(state, done, shape.steps, predictor.mask_id)))

    def batch(rows: Sequence[int]) -> Record:
        state = decoder.init(rows, [job.prompts[row].ids for row in rows])
        record = Record.of(decoder, state)
        state = run(decoder, state, [record] if callback is None else [record, show])
        record.unfinished = state.rows[state.masked.any(dim=1)].tolist()
        return record

    groups = job.batches(options, savings.memory, spread=savings.spread, alone=savings.batch_invariant)
    return run_batches(batch, groups, job, scorer, {"savings": asdict(savings)}, sampler.seeds, finished)


def run_batches(
    record_of: Callable[[Sequence[int]], Record],
    groups: Sequence[Sequence[int]],
    job: Job,
    scorer: Scorer | None,
    settings: dict[str, Any],
    seeds: Sequence[int],
    finished: Callable[[int, Trace], None] | None,
) -> Decoding:
    """Run the batches, rows of the prompts each, and return their traces; settings: further ones that all share."""
    traces: dict[int, Trace] = {}
    forwards = 0
    for rows in groups:
        with torch_threads(), torch.inference_mode():
            batch = record_of(rows)
        forwards += batch.calls
        records: dict[int, dict[str, Any]] = {}
        for index, row in enumerate(rows):
            # What stands where no step committed a token: the end of text, or the mask where a run stopped.
            end = None if row in batch.unfinished else job.predictor.end_id
            records[row] = batch.row(index, job.predictor.mask_id if end is None else end) | {"seed": seeds[row]}
        whole = {row: record["tokens"].tolist() for row, record in records.items() if row not in batch.unfinished}
        with torch_threads(), torch.inference_mode():
            known = {} if scorer is None else {row: scorer.recall(row, answer) for row, answer in whole.items()}
            ends = outcomes(job.predictor, job.reward, job.prompts, whole, known)
        for row, record in records.items():
            costs = {"reward_calls": 0, "reward_calls_saved": 0} | ({} if scorer is None else scorer.costs(row))
            costs["reward_calls_saved"] += int((record["reward_use"] == NOT_NEEDED).sum())
            traces[row] = trace_of(job, row, job.settings | settings | record | ends.get(row, {}) | costs)
            if finished is not None:
                finished(row, traces[row])
    return Decoding(tuple(traces[row] for row in sorted(traces)), forwards)


def trace_of(job: Job, row: int, fields: dict[str, Any]) -> Trace:
    """Return a prompt's trace: what is known of it, with its texts."""
    prompt = job.prompts[row]
    committed = [token for token in fields["tokens"].tolist() if token != job.predictor.mask_id]
    text = job.predictor.decode_answer(committed)
    ids = {*prompt.ids, *fields["tokens"].tolist(), *np.unique(fields["candidate"]).tolist()} - {-1}
    return Trace(
        checked=False,  # its parts are a decode's own
        **fields,
        prompt_text=prompt.text,
        text=text,
        pieces={} if text is None else pieces_of(job.predictor, sorted(ids)),
        prompt=np.asarray(prompt.ids, dtype=np.int64),
    )
