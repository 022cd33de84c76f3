"""The decoder: prompts in, one trace per prompt out. `step.step.Decoder.step` is one step of the paper's algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import torch

from rws_decode.canvas.batches import batches, logit_bytes
from rws_decode.canvas.end_of_text import end_tokens
from rws_decode.canvas.layout import Prompt, encode_prompts
from rws_decode.common.threads import torch_threads
from rws_decode.predictors.base import MaskPredictor, computes_at
from rws_decode.rewards.base import RewardModel, bounds_of
from rws_decode.settings import Options, Savings, Shape
from rws_decode.step.cached_reward import Scorer, scorer_for
from rws_decode.step.callback import StepCallback, StepView
from rws_decode.step.candidate import TokenSampler
from rws_decode.step.savings import leave_settled, saving
from rws_decode.step.step import Decoder
from rws_decode.strategies.protocol import FactorStrategy, OrderStrategy, Strategy, describe
from rws_decode.text.dialogue import Dialogue
from rws_decode.text.gaps import row_of
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.record import NOT_NEEDED, Record
from rws_decode.trace.trace import Trace

__all__ = ["BatchRun", "Job", "decode", "prepare", "run_batches"]

_SHAPE, _OPTIONS, _SAVINGS = Shape(), Options(), Savings()


def decode(
    predictor: MaskPredictor,
    prompts: Sequence[str | Dialogue | Sequence[int]],
    strategy: Strategy,
    shape: Shape = _SHAPE,
    *,
    reward: RewardModel | None = None,
    options: Options = _OPTIONS,
    savings: Savings = _SAVINGS,
    finished: Callable[[int, Trace], None] | None = None,
    callback: StepCallback | None = None,
) -> Decoding:
    """Decode an answer to each prompt, block by block, and record every step.

    The paper's algorithm (Section "Reward-Weighted Sampling Algorithm"), in each step: (1) one forward over the whole
    canvas, and the greedy completion of all masked positions; (2) if the strategy asks, the reward of prompt and
    completed answer, normalised to r = (raw - mean) / std; (3) all logits times the strategy's factor; (4) commit the
    most confident positions of the current block. A strategy with an order of its own takes the place of (3) and of
    the confidence in (4). `step.step` shows them.

    prompts: text, a `dialogue.Dialogue` of several turns, or the token ids that stand before the answer. Lengths may
    differ: rows are padded under an attention mask, and no mask is passed where none is padded. A reward model sees
    the text or the dialogue itself, or for ids their decoded text. strategy: what `strategies` holds, or any object
    with the members of `protocol.FactorStrategy` or `protocol.OrderStrategy`. shape, options, savings: `settings`.

    A prompt with gaps, [MASK:n] in a text or mask ids among ids, is filled in. `shape.length` is the number of all its
    masks, and the answer's positions are these from left to right. The reward is that of the text before the first gap
    and of all after it, completed: fixed words count, which adds a constant to a reward that is a sum over words.

    finished: called with a prompt's number and its trace as soon as its batch is done. callback: called with a
    `callback.StepView` after each step of each batch; where it returns what is true, the batch ends there: positions
    left masked have `commit_step` -1 and hold the mask id.

    Guarantees: one forward per step for all rows of a batch; [MASK], padding and the predictor's forbidden ids are
    never candidates; prompt positions and committed tokens never change; ties go to the leftmost position (but for
    "topk") and are counted; nothing is drawn but from `options.seed` and the strategy's own; a row's answer follows
    from its prompt and seed, not from its batch, as far as the predictor's arithmetic does (`Trace.near_ties`).
    ValueError names the argument that is wrong, or the model whose output is not finite.

    >>> from rws_decode.strategies.factors import Confidence
    >>> from rws_decode.predictors import CallablePredictor
    >>> table = torch.tensor([[9.0, 1.0, 0.0], [9.0, 0.0, 3.0], [9.0, 0.0, 2.0]])
    >>> predictor = CallablePredictor(lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), mask_id=0)
    >>> (trace,) = decode(predictor, [[1]], Confidence(), Shape(length=2, steps=2, block=2))
    >>> trace.tokens.tolist(), trace.commit_step.tolist()
    ([2, 2], [0, 1])
    """
    if not isinstance(savings, Savings):
        raise ValueError(f"savings is {savings!r}: a Savings is needed")
    job = prepare(predictor, prompts, strategy, shape, reward, options)
    sampler = TokenSampler(options.sampling_temperature, options.seed, len(job.prompts))
    scorer = scorer_for(predictor, strategy, reward, job.prompts, reuse=savings.reuse, cache=savings.cache)
    decoder = Decoder(predictor, strategy, shape.plan, options, job.end_ids, sampler, scorer, len(job.prompts))
    decoder = saving(decoder, savings)

    def run(rows: Sequence[int]) -> BatchRun:
        state = first = decoder.init(rows, [job.prompts[row].ids for row in rows])
        record = Record(rows, shape.length, shape.steps)
        stopped = False
        while state.step < shape.steps and len(state.rows) and not stopped:
            state, info = decoder.step(state)
            record.add(info)
            if callback is not None:
                stopped = bool(callback(StepView.of(state, info, shape.steps, predictor.mask_id)))
            if savings.settled and not stopped:
                state = leave_settled(decoder, state)
        unfinished = state.rows[state.masked.any(dim=1)].tolist() if stopped else []
        return BatchRun(record, state.step, first.canvas.answer[:, 0].tolist(), first.canvas.ids.shape[1], unfinished)

    row_bytes = None
    if predictor.vocab_size is not None:
        # A predictor without logits_at computes those of the prompt as well.
        whole = 0 if computes_at(predictor) else max(len(prompt.ids) for prompt in job.prompts)
        copies = {"guided": options.cfg != 0, "published": options.ranking == "topk"}
        row_bytes = logit_bytes(shape.length, predictor.vocab_size, width=whole, **copies)
    groups = batches(job.widths, row_bytes, savings.memory, savings.spread)
    return run_batches(run, groups, job, scorer, {"savings": asdict(savings)}, sampler.seeds, finished)


class BatchRun(NamedTuple):
    """What a batch did: its record, its forwards, the columns where answers begin, and the canvas width.

    unfinished: the prompts' numbers of the rows whose masks were left when a callback ended the batch.
    """

    record: Record
    forwards: int
    offsets: list[int]
    width: int
    unfinished: Sequence[int] = ()


class Job(NamedTuple):
    """A checked call of a decoder: prompts as ids, end-of-text ids, and the settings that all its traces share."""

    predictor: MaskPredictor
    prompts: list[Prompt]
    end_ids: list[int]
    settings: dict[str, Any]

    @property
    def widths(self) -> list[int]:
        """Return the canvas columns of each prompt and its answer."""
        mask_id, length = self.predictor.mask_id, self.settings["length"]
        return [len(row_of(prompt.ids, mask_id, length)) for prompt in self.prompts]


def prepare(
    predictor: MaskPredictor,
    prompts: Sequence[str | Dialogue | Sequence[int]],
    strategy: Strategy,
    shape: Shape,
    reward: RewardModel | None,
    options: Options,
) -> Job:
    """Check the arguments that both decoders share, encode the prompts, and return what all traces will say.

    ValueError names the argument that is wrong.
    """
    for name, value, kind in (("shape", shape, Shape), ("options", options, Options)):
        if not isinstance(value, kind):
            raise ValueError(f"{name} is {value!r}: {kind.__name__}(...) is needed")
    if not isinstance(predictor, MaskPredictor):
        raise ValueError(f"predictor is {predictor!r}: a mask predictor is needed, load_predictor(name) gives one")
    if reward is not None and not isinstance(reward, RewardModel):
        raise ValueError(f"reward is {reward!r}: a reward model is needed, load_reward(name) gives one")
    if isinstance(strategy, type) or not isinstance(strategy, FactorStrategy | OrderStrategy):
        raise ValueError(f"strategy is {strategy!r}: name, needs_reward and a method factor or order are needed")
    ordered = isinstance(strategy, OrderStrategy)
    if ordered and options.ranking != "log-odds":
        raise ValueError(
            f"ranking is {options.ranking!r}: strategy {strategy.name} ranks by its own values, leave it out"
        )
    encoded = encode_prompts(predictor, prompts, shape.length)
    end_ids = end_tokens(predictor, options.end_of_text, options.end_ids)
    asked = reward if strategy.needs_reward else None
    settings = asdict(shape) | {
        "ranking": "order" if ordered else options.ranking,
        "precision": options.precision,
        "strategy": describe(strategy),
        "predictor": predictor.name,
        "reward_model": None if asked is None else asked.name,
        "reward_settings": {} if asked is None else _reward_settings(asked),
        "mask_id": predictor.mask_id,
        "padding": options.padding,
        "sampling_temperature": float(options.sampling_temperature),
        "cfg": float(options.cfg),
        "end_of_text": options.end_of_text,
        "end_ids": end_ids if options.end_of_text != "none" else [],
    }
    return Job(predictor, encoded, end_ids, settings)


def run_batches(
    run: Callable[[Sequence[int]], BatchRun],
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
            batch = run(rows)
        forwards += batch.forwards
        for index, row in enumerate(rows):
            # What stands where no step committed a token: the end of text, or the mask where a run stopped.
            end = None if row in batch.unfinished else job.predictor.end_id
            fields = job.settings | settings | batch.record.row(index, job.predictor.mask_id if end is None else end)
            fields |= {"width": batch.width, "offset": batch.offsets[index], "seed": seeds[row]}
            traces[row] = _trace_of(job, scorer, row, fields | {"forwards": fields["steps_run"]})
            if finished is not None:
                finished(row, traces[row])
    return Decoding(tuple(traces[row] for row in sorted(traces)), forwards)


def _trace_of(job: Job, scorer: Scorer | None, row: int, fields: dict[str, Any]) -> Trace:
    """Return a row's trace: what is known of it, with its texts and what its rewards cost."""
    prompt, unasked = job.prompts[row], int((fields["reward_use"] == NOT_NEEDED).sum())
    committed = [token for token in fields["tokens"].tolist() if token != job.predictor.mask_id]
    return Trace(
        **fields,
        prompt_text=prompt.text,
        text=job.predictor.decode_answer(committed),
        reward_calls=0 if scorer is None else scorer.calls(row),
        reward_calls_saved=0 if scorer is None else scorer.saved(row) + unasked,
        reward_tokens=0 if scorer is None else scorer.tokens(row),
        reward_tokens_saved=0 if scorer is None else scorer.tokens_saved(row),
        prompt=np.asarray(prompt.ids, dtype=np.int64),
    )


def _reward_settings(model: RewardModel) -> dict[str, Any]:
    """Return what a reward's numbers follow from besides the texts."""
    bounds = bounds_of(model)
    bounded = any(math.isfinite(bound) for bound in bounds)
    finite = [bound if math.isfinite(bound) else None for bound in bounds] if bounded else None
    return {"mean": model.mean, "std": model.std, "bounds": finite}
