"""The compact decoder: `decode` for one GPU, with the CPU as the same code path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import torch

from rws_decode.decode import run_batches
from rws_decode.extra.compact.forward import Network
from rws_decode.extra.compact.rewards import DeviceScorer
from rws_decode.extra.compact.savings import CompactSavings
from rws_decode.extra.compact.step import CompactSteps
from rws_decode.job import Prompts, batches, check_arguments, prepare
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Options, Shape
from rws_decode.step.completion import TokenSampler
from rws_decode.step.record import Record
from rws_decode.step.step import Decoder, run
from rws_decode.strategies.protocol import FactorStrategy, factor_alone, gives_factor
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.trace import Trace
from rws_theory.show import quoted

_SHAPE, _OPTIONS, _SAVINGS = Shape(), Options(), CompactSavings()


def decode_compact(
    predictor: MaskPredictor,
    prompts: Prompts,
    strategy: FactorStrategy | str = "default",
    shape: Shape = _SHAPE,
    *,
    reward: RewardModel | Callable[..., float] | None = None,
    options: Options = _OPTIONS,
    savings: CompactSavings = _SAVINGS,
    finished: Callable[[int, Trace], None] | None = None,
    **numbers: Any,
) -> Decoding:
    """Decode greedily as `decode.decode` does, ranked by log-odds, with the least work for a GPU.

    Of each forward the head is applied to masked positions; one reading of their logits gives candidates, leads and
    log F (`row_statistics`); the positions nearest the cut are ranked anew in float64 (`choice.choose`). Forwards of
    Llama-like predictors and reward models are recorded once per shape and replayed (`CompactSavings`).

    strategy: one that multiplies the logits; the view of its `factor` has step, rows and reward alone, no logits.
    options: greedy log-odds in float64, the defaults; padding, end_ids, and end_of_text "none" or "suppress" may
    differ. The rest as in `decode.decode`; ValueError for numbers that are not finite comes after the batch.

    Guarantee: the tokens and commit steps of `decode.decode` in float64, if the predictor's arithmetic gives the same
    logits. A step where that is not certain has `inexact` in its trace; near-ties are counted as in `decode`. Values in
    traces are float64 near the cut, elsewhere within `row_statistics.log_f_error`. Between the reward's texts nothing
    waits for the device, except once at the end of each block if `settled` is on. Same input, same device, same output.

    >>> from rws_decode import CallablePredictor, Confidence
    >>> import torch
    >>> table = torch.tensor([[9.0, 1.0, 0.0], [9.0, 0.0, 3.0], [9.0, 0.0, 2.0]])
    >>> predictor = CallablePredictor(lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), mask_id=0)
    >>> (trace,) = decode_compact(predictor, [[1]], Confidence(), Shape(length=2, steps=2, block=2))
    >>> trace.tokens.tolist(), trace.commit_step.tolist()
    ([2, 2], [0, 1])
    """
    if not isinstance(savings, CompactSavings):
        raise ValueError(f"savings is {quoted(savings)}: a CompactSavings is needed")
    check_arguments(predictor, options, shape)
    options.only("the compact decoder", "padding", "end_of_text", "end_ids", "record")
    if options.end_of_text not in ("none", "suppress"):
        raise ValueError(f"end_of_text is {options.end_of_text!r}: the compact decoder knows none, suppress")
    if "canvas" in numbers:
        raise ValueError(f"canvas is {numbers['canvas']!r:.80}: the compact decoder writes after a prompt, use decode")
    job = prepare(predictor, prompts, strategy, shape, reward, options, numbers)
    shape = job.shape
    if not gives_factor(job.strategy):
        raise ValueError(f"strategy is {quoted(strategy)}: one with name, needs_reward and a method factor is needed")
    if not factor_alone(job.strategy):
        raise ValueError(
            f"strategy is {quoted(strategy)}: the compact decoder goes by confidence and the schedule alone, use decode"
        )
    for number, prompt in enumerate(job.prompts):
        if predictor.mask_id in prompt.ids:
            raise ValueError(f"prompts[{number}] has gaps: the compact decoder writes after a prompt, use decode")
    closed = list(job.ends.suppressed)
    how = {"reuse": savings.reuse, "cache": False, "replay": savings.graphs, "device": predictor.device}
    scorer = None if job.asked is None else DeviceScorer(predictor, job.asked, job.prompts, **how)
    count = len(job.prompts)
    greedy = TokenSampler(0.0, 0, count)
    shared = Decoder(predictor, job.strategy, shape.plan, options, job.ends, greedy, scorer, count)

    def batch(rows: Sequence[int]) -> Record:
        state = shared.init(rows, [job.prompts[row].ids for row in rows])._replace(rows=torch.tensor(rows))
        steps = CompactSteps(Network(predictor, state.canvas, closed, savings), savings)
        decoder, record = replace(shared, step=steps.step, going=steps.going), Record.of(shared, state)
        run(decoder, state, [record])
        steps.check(decoder, record)
        return record

    row_bytes = None
    if predictor.vocab_size is not None:
        columns = shape.length if scorer is not None or not savings.block_only else shape.block
        if not (savings.places and hasattr(predictor, "logits_at")):
            columns += max(job.widths)
        # Once as they come, and twice more those of the block: set apart, and its positions near the cut.
        itemsize = getattr(predictor, "logits_dtype", torch.float32).itemsize
        row_bytes = itemsize * predictor.vocab_size * (columns + 2 * shape.block)
    groups = batches(job.widths, row_bytes, savings.memory)
    settings = {"savings": {"compact": True} | asdict(savings)}
    return run_batches(batch, groups, job, scorer, settings, [0] * count, finished)
