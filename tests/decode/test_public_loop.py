"""Bit-parity with the decoding loop that LLaDA's authors publish, written here from its description."""

from collections.abc import Sequence
from typing import Any

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
) -> tuple[Tensor, Tensor]:
    """Decode a batch greedily; return the canvas, and for each column the step that committed it (-1: prompt).

    never: the tokens that logits_eos_inf closes; late: those that confidence_eos_eot_inf closes once the best is known.
    """
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
            z[..., list(never)] = -torch.inf
            best = z.argmax(dim=-1)
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
    """A predictor whose text ends in two ways, and which likes both."""

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
    told = preset.arguments(predictor, length=16, steps=steps)
    never = [EOS] if preset.values["end_of_text"] == "suppress" else []
    late = TwoEnds.end_ids if preset.values["end_of_text"] == "defer-published" else []
    with torch.inference_mode():
        canvas, when = public_loop(predictor, prompt, 16, steps, told["shape"].block, never=never, late=late)
    (trace,) = decode(predictor, prompt.tolist(), **told)
    assert (trace.commit_step == when[0, 5:].numpy()).all()
    assert (trace.tokens == canvas[0, 5:].numpy()).all()
    assert replay(trace).diverged_at is None


HIDDEN, END, TURN, WORDS = 0, 1, 2, 9
LENGTH = 6


def predictor_of(seed: int, liking: float = 2.0) -> CallablePredictor:
    """Return a predictor whose logits follow from the whole canvas, and which likes the ends of text."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(LENGTH + 1, WORDS, generator=generator)
    mixing = torch.randn(WORDS, WORDS, generator=generator)
    table[:, [END, TURN]] += liking

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        seen = mixing[canvas].mean(dim=1, keepdim=True)
        given = (table[None] + seen).clone()
        given[:, :, HIDDEN] = -50.0  # the published loop may commit the mask; here it never does
        return given

    return CallablePredictor(logits, mask_id=HIDDEN, end_id=END)


def published(
    predictor: CallablePredictor, shape: Shape, temperature: float, uniforms: torch.Generator
) -> tuple[list[int], list[int]]:
    """Decode in one obvious loop, with the flag as the public code computes it, and return tokens and commit steps."""
    canvas, commit_step = [5] + [HIDDEN] * LENGTH, [-1] * LENGTH
    for step, planned in enumerate(shape.plan):
        logits = predictor.logits(torch.tensor([canvas]), None)[0].double()
        masked = [column for column in range(1, LENGTH + 1) if canvas[column] == HIDDEN]
        noise = torch.rand((len(masked), WORDS), generator=uniforms, dtype=torch.float64) if temperature else None
        candidate, confidence = {}, {}
        for number, column in enumerate(masked):
            scores = logits[column].clone()
            scores[HIDDEN] = -torch.inf
            if noise is not None:
                scores = scores.exp() / (-noise[number].log()) ** temperature
            candidate[column] = int(scores.argmax())
            # Greedy: the noised logits are the logits themselves, so both ends are closed. Drawn: a copy is, and of the
            # logits only the end of turn.
            ranked = logits[column].clone()
            ranked[[TURN] if temperature else [END, TURN]] = -torch.inf
            confidence[column] = float(ranked.softmax(dim=0)[candidate[column]])
        block = [column for column in masked if planned.start < column <= planned.stop]
        for column in sorted(block, key=lambda column: (-confidence[column], column))[: planned.commits]:
            canvas[column], commit_step[column - 1] = candidate[column], step
    return canvas[1:], commit_step


def run(predictor: CallablePredictor, policy: str, shape: Shape, **options: Any) -> Any:
    told = Options(end_of_text=policy, end_ids=[END, TURN], **options)  # type: ignore[arg-type]
    (trace,) = decode(predictor, [[5]], Confidence(), shape, options=told)
    return trace


SHAPES = st.sampled_from([Shape(6, 6, 6), Shape(6, 3, 6), Shape(6, 4, 3), Shape(6, 6, 2)])


@given(st.integers(0, 10**6), SHAPES, st.sampled_from([0.0, 0.0, 0.5, 2.0]), st.sampled_from([0.0, 2.0, 4.0]))
@settings(max_examples=examples(150))
def test_the_published_flag_is_the_published_loop(seed: int, shape: Shape, temperature: float, liking: float) -> None:
    predictor = predictor_of(seed, liking)
    tokens, steps = published(predictor, shape, temperature, torch.Generator().manual_seed(seed))
    # The mask's own share, e^-50, does not show; "topk" would count it too.
    trace = run(predictor, "defer-published", shape, sampling_temperature=temperature, seed=seed)
    assert (trace.tokens.tolist(), trace.commit_step.tolist()) == (tokens, steps)
    assert trace.end_ids == ([TURN] if temperature else [END, TURN])
    assert replay(trace).diverged_at is None
    again = replay_with(trace, predictor)
    assert again.tokens.tolist() == tokens and np.array_equal(again.value, trace.value, equal_nan=True)
