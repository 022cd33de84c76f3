"""Bit-parity with the decoding loop that LLaDA's authors publish, written here from its description."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from rws_decode.decode import decode
from rws_decode.predictors import CallablePredictor
from rws_decode.replay.replay import replay
from rws_decode.settings import Options, Shape
from rws_decode.strategies.factors import Confidence
from rws_decode.testing.networks import llama
from rws_decode.testing.words import EOS, MASK, VOCABULARY

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def network(dtype: torch.dtype, sharpness: float) -> CallablePredictor:
    """A tiny LLaDA of a dtype; its mask logit is the least of all, so that no loop commits the mask."""
    model = llama(1).to(dtype)

    def logits(canvas: Tensor) -> Tensor:
        batch, length = canvas.shape
        everywhere = torch.zeros(batch, 1, length, length, dtype=dtype)
        z = model(input_ids=canvas, attention_mask=everywhere, use_cache=False).logits * sharpness
        z[..., MASK] = z.amin(dim=-1)
        return z

    return CallablePredictor(logits, mask_id=MASK, pad_id=EOS, end_id=EOS, vocab_size=VOCABULARY)


def public_loop(
    predictor: CallablePredictor, prompt: Tensor, length: int, steps: int, block: int, cfg: float
) -> tuple[Tensor, Tensor]:
    """Decode a batch greedily; return the canvas, and for each column the step that committed it (-1: prompt)."""
    batch, start = prompt.shape
    x = torch.cat([prompt, torch.full((batch, length), MASK)], dim=1)
    when = torch.full_like(x, -1)
    blocks = length // block
    for number in range(blocks):
        end = start + (number + 1) * block
        masks, rounds = block, steps // blocks
        counts = [masks // rounds + (i < masks % rounds) for i in range(rounds)]
        for i, count in enumerate(counts):
            open_ = x == MASK
            if cfg > 0:
                blind = x.clone()
                blind[:, :start] = MASK
                z, un = predictor.logits(torch.cat([x, blind]), None).chunk(2)
                z = un + (cfg + 1) * (z - un)
            else:
                z = predictor.logits(x, None)
            best = z.argmax(dim=-1)
            confidence = torch.softmax(z, dim=-1).gather(2, best[..., None])[..., 0]
            confidence[:, end:] = -torch.inf
            confidence = torch.where(open_, confidence, -torch.inf)
            for row in range(batch):
                picked = torch.topk(confidence[row], count).indices
                x[row, picked] = best[row, picked]
                when[row, picked] = number * rounds + i
    return x, when


@pytest.mark.parametrize("cfg", [0.0, 1.5])
@pytest.mark.parametrize("sharpness", [1.0, 8.0])
@pytest.mark.parametrize("precision", ["model", "same"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_topk_is_the_public_loop(dtype: str, precision: str, sharpness: float, cfg: float) -> None:
    predictor = network(DTYPES[dtype], sharpness)
    prompt = torch.randint(6, VOCABULARY, (3, 5), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        canvas, when = public_loop(predictor, prompt, 24, 10, 12, cfg)
    batch = decode(
        predictor,
        prompt.tolist(),
        Confidence(),
        Shape(length=24, steps=10, block=12),
        options=Options(ranking="topk", precision=dtype if precision == "same" else "model", cfg=cfg),
    )
    assert batch.tokens.tolist() == canvas[:, 5:].tolist()
    assert [trace.commit_step.tolist() for trace in batch] == when[:, 5:].tolist()
    assert all(trace.logits_dtype == dtype and (trace.offset, trace.width) == (5, 29) for trace in batch)
    assert [replay(trace).parted_at for trace in batch] == [None] * 3
    # The parity is not for want of ties: saturated bfloat16 probabilities are level, and topk has its own way.
    if (dtype, sharpness) == ("bfloat16", 8.0):
        assert sum(trace.ties.sum() for trace in batch) > 0
        assert any(trace.inexact.any() for trace in batch)
