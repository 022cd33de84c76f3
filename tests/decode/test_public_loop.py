"""Bit-parity with the decoding loop that LLaDA's authors publish, written here from its description."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import EOS, MASK, VOCABULARY, llama
from torch import Tensor

from rws_decode import CallablePredictor, Confidence, Options, Shape, decode, replay, replay_with
from rws_decode.extra import presets

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
    predictor: CallablePredictor,
    prompt: Tensor,
    length: int,
    steps: int,
    block: int,
    cfg: float = 0.0,
    never: Sequence[int] = (),
    late: Sequence[int] = (),
    temperature: float = 0.0,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    """Return a batch's canvas and commit steps. never, late: what logits_eos_inf, confidence_eos_eot_inf close."""
    (batch, start), uniforms = prompt.shape, torch.Generator().manual_seed(seed)
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
            z[..., list(never)] = -torch.inf
            best = z.argmax(dim=-1)
            if temperature > 0:
                noise = torch.rand((int(open_.sum()), z.shape[-1]), generator=uniforms, dtype=torch.float64)
                scores = z[open_].double().index_fill(-1, torch.tensor(MASK), -torch.inf).exp()
                best[open_] = (scores / (-noise.log()) ** temperature).argmax(dim=-1)
            z[..., list(late)] = -torch.inf
            confidence = torch.softmax(z, dim=-1).gather(2, best[..., None])[..., 0]
            confidence[:, end:] = -torch.inf
            confidence = torch.where(open_, confidence, -torch.inf)
            for row in range(batch):
                picked = torch.topk(confidence[row], count).indices
                x[row, picked] = best[row, picked]
                when[row, picked] = number * rounds + i
    return x, when


@pytest.mark.parametrize(("precision", "cfg"), [("model", 0.0), ("same", 1.5)])
@pytest.mark.parametrize("sharpness", [1.0, 8.0])
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
    assert [replay(trace).diverged_at for trace in batch] == [None] * 3
    assert not any(trace.changed.any() for trace in batch)  # factor 1 would have committed the same, ties and all
    # The parity is not for want of ties: saturated bfloat16 probabilities are level, and topk has its own way.
    if (dtype, sharpness) == ("bfloat16", 8.0):
        assert sum(trace.ties.sum() for trace in batch) > 0
        assert any(trace.inexact.any() for trace in batch)


class TwoEnds(CallablePredictor):
    end_ids = (EOS, 9)


def liking(seed: int, much: float) -> CallablePredictor:
    model = network(torch.float32, 4.0)
    pull = torch.randn(64, generator=torch.Generator().manual_seed(seed)).abs() * much

    def logits(canvas: Tensor) -> Tensor:
        z = model.logits(canvas, None).clone()
        for end in TwoEnds.end_ids:
            z[..., end] += pull[: canvas.shape[1]]
        return z

    return TwoEnds(logits, mask_id=MASK, pad_id=EOS, end_id=EOS, vocab_size=VOCABULARY)


@given(
    st.sampled_from(["llada-demo", "llada-gsm8k", "llada-gsm8k-blocks", "llada-humaneval", "llada-1.5-mbpp"]),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1.0, 3.0]),
    st.sampled_from([4, 8]),
)
@settings(max_examples=examples(60))
def test_presets_are_the_public_loop(name: str, seed: int, much: float, steps: int) -> None:
    predictor, preset = liking(seed, much), presets.load(name)
    prompt = torch.randint(6, VOCABULARY, (1, 5), generator=torch.Generator().manual_seed(seed))
    arguments = preset.arguments(predictor, length=16, steps=steps)
    never = [EOS] if preset.values["end_of_text"] == "suppress" else []
    late = TwoEnds.end_ids if preset.values["end_of_text"] == "defer-published" else []
    with torch.inference_mode():
        canvas, when = public_loop(predictor, prompt, 16, steps, arguments["shape"].block, never=never, late=late)
    (trace,) = decode(predictor, prompt.tolist(), **arguments)
    assert (trace.commit_step == when[0, 5:].numpy()).all()
    assert (trace.tokens == canvas[0, 5:].numpy()).all()
    assert replay(trace).diverged_at is None


SHAPES = st.sampled_from([Shape(6, 6, 6), Shape(6, 3, 6), Shape(6, 4, 3), Shape(6, 6, 2)])


@given(st.integers(0, 10**6), SHAPES, st.sampled_from([0.5, 2.0]), st.sampled_from([0.0, 1.0, 3.0]))
@settings(max_examples=examples(80))
def test_the_flag_of_drawn_tokens_is_the_public_loop(seed: int, shape: Shape, temperature: float, much: float) -> None:
    """Of drawn tokens it closes the end of a turn alone: the other end loses its confidence in a copy of the logits."""
    predictor, prompt = liking(seed, much), torch.tensor([[7]])
    with torch.inference_mode():
        drawn = {"late": TwoEnds.end_ids[1:], "temperature": temperature, "seed": seed}
        canvas, when = public_loop(predictor, prompt, 6, shape.steps, shape.block, **drawn)
    options = Options(end_of_text="defer-published", ranking="topk", sampling_temperature=temperature, seed=seed)
    (trace,) = decode(predictor, prompt.tolist(), Confidence(), shape, options=options)
    assert trace.tokens.tolist() == canvas[0, 1:].tolist() and trace.commit_step.tolist() == when[0, 1:].tolist()
    assert trace.end_ids == [9] and replay(trace).diverged_at is None
    again = replay_with(trace, predictor)
    assert again.tokens.tolist() == trace.tokens.tolist()
    assert np.array_equal(again.value, trace.value, equal_nan=True)
