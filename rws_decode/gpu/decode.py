"""The compact decoder: `decode` for one GPU, with the CPU as the same code path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Literal, get_args

import torch

from rws_decode.canvas.batches import batches
from rws_decode.canvas.dialogue import Dialogue
from rws_decode.canvas.end_of_text import end_tokens
from rws_decode.canvas.layout import Padding, encode_prompts
from rws_decode.canvas.schedule import block_plan
from rws_decode.decode import Decoding, check_models, reward_settings, run_batches
from rws_decode.gpu.rewards import DeviceScorer
from rws_decode.gpu.savings import CompactSavings
from rws_decode.gpu.steps import CompactLoop
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.step.reward import scorer_for
from rws_decode.strategies.protocol import FactorStrategy, describe
from rws_decode.trace.trace import Trace

__all__ = ["CompactEnd", "decode_compact"]

CompactEnd = Literal["none", "suppress"]

_USUAL = CompactSavings()


def decode_compact(
    predictor: MaskPredictor,
    prompts: Sequence[str | Dialogue | Sequence[int]],
    strategy: FactorStrategy,
    *,
    length: int = 64,
    steps: int = 32,
    block: int = 32,
    reward: RewardModel | None = None,
    padding: Padding = "right",
    end_of_text: CompactEnd = "none",
    end_ids: Sequence[int] | None = None,
    savings: CompactSavings = _USUAL,
    finished: Callable[[int, Trace], None] | None = None,
) -> Decoding:
    """Decode greedily as `decode.decode` does, ranked by log-odds, with as little as a GPU need do.

    Of each forward the head is applied to masked positions; one reading of their logits gives candidates, leads and
    log F (`row_statistics`); the positions nearest the cut are ranked anew in float64 (`choice.choose`). Forwards of
    Llama-like predictors and reward models are recorded once per shape and replayed (`savings.CompactSavings`).

    strategy: one that multiplies the logits; what its `factor` is given has step, rows and reward alone, no logits.
    end_of_text: "none" or "suppress". The rest as in `decode.decode`.

    Guarantee: the tokens and commit steps of `decode.decode` in float64, as far as the predictor's arithmetic gives the
    same logits; a step where that cannot be shown has `inexact` in its trace, and a step that other rounding could turn
    has near-ties, as everywhere. In traces, values are those ranked by: of float64 near the cut, elsewhere within
    `row_statistics.log_f_error`. Between the reward's texts nothing waits for the device, but for one look at the end
    of each block where `settled` is on. Same input, same device, same output.

    ValueError as in `decode.decode`; that a model's numbers are not finite is told once the batch is done.

    >>> from rws_decode.strategies.factors import Confidence
    >>> from rws_decode.predictors import CallablePredictor
    >>> table = torch.tensor([[9.0, 1.0, 0.0], [9.0, 0.0, 3.0], [9.0, 0.0, 2.0]])
    >>> predictor = CallablePredictor(lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), mask_id=0)
    >>> (trace,) = decode_compact(predictor, [[1]], Confidence(), length=2, steps=2, block=2)
    >>> trace.tokens.tolist(), trace.commit_step.tolist()
    ([2, 2], [0, 1])
    """
    plan = block_plan(length, steps, block)
    check_models(predictor, reward)
    if not isinstance(savings, CompactSavings):
        raise ValueError(f"savings is {savings!r}: a CompactSavings is needed")
    if isinstance(strategy, type) or not isinstance(strategy, FactorStrategy):
        raise ValueError(f"strategy is {strategy!r}: one with name, needs_reward and a method factor is needed")
    if end_of_text not in get_args(CompactEnd):
        raise ValueError(f"end_of_text is {end_of_text!r}: the compact decoder knows {', '.join(get_args(CompactEnd))}")
    encoded = encode_prompts(predictor, prompts, length)
    ending = end_tokens(predictor, end_of_text, end_ids)
    closed = ending if end_of_text == "suppress" else []
    scorer = scorer_for(
        predictor,
        strategy,
        reward,
        encoded,
        DeviceScorer,
        reuse=savings.reuse,
        cache=False,
        replay=savings.graphs,
        device=predictor.device,
    )
    loop = CompactLoop(predictor, strategy, plan, len(encoded), padding, closed, scorer, savings)
    settings: dict[str, Any] = {
        "length": length,
        "steps": steps,
        "block": block,
        "ranking": "log-odds",
        "precision": "float64",
        "strategy": describe(strategy),
        "predictor": predictor.name,
        "reward_model": None if scorer is None else scorer.model.name,
        "savings": {"compact": True} | asdict(savings),
        "reward_settings": {} if scorer is None else reward_settings(scorer.model),
        "mask_id": predictor.mask_id,
        "padding": padding,
        "sampling_temperature": 0.0,
        "cfg": 0.0,
        "end_of_text": end_of_text,
        "end_ids": closed,
    }
    widths = [len(prompt.ids) + length for prompt in encoded]
    row_bytes = None
    if predictor.vocab_size is not None:
        everywhere = scorer is not None or not savings.block_only
        columns = length if everywhere else block
        if not (savings.places and hasattr(predictor, "logits_at")):
            columns += max(widths)
        # Once as they come, and twice more those of the block: set apart, and its positions near the cut.
        row_bytes = _item_bytes(predictor) * predictor.vocab_size * (columns + 2 * block)
    groups = batches(widths, row_bytes, savings.memory)
    return run_batches(loop.run, groups, predictor, encoded, scorer, settings, [0] * len(encoded), finished)


def _item_bytes(predictor: MaskPredictor) -> int:
    """Return the bytes of one logit: of the dtype of a predictor's network, where it has one."""
    dtype = getattr(getattr(predictor, "model", None), "dtype", torch.float32)
    return dtype.itemsize
