"""Models of a named shape, what a device can do at best, and the least time of a step."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from paper_figures.bench.random_models import bare_network, make_models, random_prompts
from paper_figures.bench.roofline import (
    Ceilings,
    decode_parts,
    forward_parts,
    least_seconds,
    measured,
    roofline_table,
)
from paper_figures.bench.shapes import SHAPES, shapes_named
from rws_decode.canvas.schedule import block_plan
from rws_decode.predictors.bidirectional import attend_both_ways

TINY = SHAPES["tiny"]


def test_the_shapes_have_the_published_numbers_of_weights() -> None:
    shapes = shapes_named("llada-8b")
    networks = [bare_network(shapes[reward], bool(reward), torch.bfloat16) for reward in (0, 1)]
    weights = [sum(weight.numel() for weight in network.parameters()) for network in networks]
    assert weights == [8_015_581_184, 7_504_928_768]
    with pytest.raises(ValueError, match=r"shape is 'llada-9b': one of llada-8b, small, tiny"):
        shapes_named("llada-9b")


def test_models_of_a_shape_are_the_same_every_time_and_say_something() -> None:
    shapes = SHAPES["small"]
    (predictor, reward), (again, _) = make_models(shapes), make_models(shapes)
    other, _ = make_models(shapes, seed=5)
    (prompt,) = random_prompts(shapes, 1, 16)
    ids = predictor.encode_prompt(prompt)
    assert len(ids) == 16 and predictor.decode_answer(ids) == prompt
    canvas = torch.tensor([ids + [predictor.mask_id] * 64])
    with torch.inference_mode():
        logits = predictor.logits(canvas, None)
        assert torch.equal(logits, again.logits(canvas, None))
        assert not torch.equal(logits, other.logits(canvas, None))
    assert 1.5 < float(logits.std(dim=-1).mean()) < 2.5
    assert len(set(logits[0, 16:].argmax(dim=-1).tolist())) > 20
    texts = random_prompts(shapes, 6, 12, seed=3)
    scores = reward.score([prompt] * 6, texts)
    assert 0.2 < float(torch.tensor(scores).std()) < 3
    assert len(reward.ids(prompt, texts[0])) == 16 + 12 + 3


def test_weights_are_drawn_in_their_own_dtype_and_rotary_angles_are_not() -> None:
    predictor, reward = make_models(TINY, dtype=torch.bfloat16)
    assert {weight.dtype for weight in predictor.model.parameters()} == {torch.bfloat16}
    for model in (predictor.model, reward.model):
        frequencies = model.model.rotary_emb.inv_freq
        assert frequencies.dtype == torch.float32 and bool(((frequencies > 0) & (frequencies <= 1)).all())


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ["tiny", "llada-8b"])
def test_operations_are_those_that_pytorch_counts(name: str, causal: bool) -> None:
    shape = SHAPES[name].reward if causal else SHAPES[name].predictor
    rows, length, item = 2, 24, 4
    positions = rows if causal else rows * length
    model = bare_network(shape, causal, torch.float32)
    # Of causal attention transformers looks at the mask, which has no values here; the operations are the same.
    model.set_attn_implementation(attend_both_ways())
    ids = torch.zeros(rows, length, dtype=torch.int64, device="meta")
    counter = FlopCounterMode(display=False)
    with counter, torch.inference_mode():
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
        _ = model.score(hidden[:, -1]) if causal else model.lm_head(hidden)
    parts = {part.name: part.operations for part in forward_parts(shape, rows, length, positions, item, causal=causal)}
    if causal:  # PyTorch counts all pairs where half of them are masked.
        parts["attention"] *= 2 * length / (length + 1)
    # Some versions of transformers count the angles of the positions, a product of them and half a head, as well.
    assert counter.get_total_flops() - sum(parts.values()) in (0, length * shape.head_size)


def test_a_decode_needs_the_head_where_it_is_masked_and_no_more() -> None:
    plan = block_plan(8, 4, 4)
    plain = decode_parts(TINY, plan, rows=2, prompt=3, itemsize=4, rewarded=False)
    rws = decode_parts(TINY, plan, rows=2, prompt=3, itemsize=4, rewarded=True, text_tokens=14)
    head = 2 * TINY.predictor.hidden * TINY.predictor.vocabulary
    logits = [{part.name: part for part in step} for step in plain]
    assert [step["head"].operations / head for step in logits] == [2 * 4, 2 * 2, 2 * 4, 2 * 2]
    assert [{part.name: part for part in step}["head"].operations / head for step in rws] == [16, 12, 8, 4]
    assert logits[0]["logits"].nbytes == 2 * 8 * TINY.predictor.vocabulary * 4
    ceilings = Ceilings(1e9, 1e10, "float32")
    table = roofline_table(rws, ceilings)
    assert [row["part"] for row in table[-3:]] == ["reward body", "reward attention", "reward head"]
    assert sum(row["ms"] for row in table) == pytest.approx(1e3 * least_seconds(rws, ceilings) / 4)
    assert least_seconds(plain, ceilings) < least_seconds(rws, ceilings)
    assert {row["bound"] for row in table} == {"operations", "bytes"}


def test_a_call_is_timed() -> None:
    timed = measured(lambda: 7, torch.device("cpu"))
    assert timed.outcome == 7 and timed.seconds >= 0 and timed.peak_bytes is None
