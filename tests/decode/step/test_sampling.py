"""Gumbel-max sampling and classifier-free guidance."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import MASK, VOCABULARY, bert_predictor

from rws_decode import CallablePredictor, Options, Shape, decode, load_trace, replay, replay_with
from rws_decode.step.completion import TokenSampler, cut, guided_logits, gumbel_scores
from rws_decode.step.rounding import logit_error

PREDICTOR = bert_predictor()


@given(st.integers(0, 999), st.floats(0.05, 4), st.sampled_from([torch.float32, torch.bfloat16]))
def test_scores_are_the_public_expression_bit_for_bit(seed: int, temperature: float, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(seed)
    z = (torch.randn(4, 9, generator=generator) * 5).to(dtype)
    uniform = torch.rand(4, 9, generator=generator, dtype=torch.float64)
    wide = z.to(torch.float64)
    public = wide.exp() / (-torch.log(uniform)) ** temperature
    assert torch.equal(gumbel_scores(z, uniform, temperature), public)
    sampler = TokenSampler(temperature, seed, rows=1)
    again = torch.rand(z.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    drawn = sampler.draw(z, torch.zeros(4, dtype=torch.int64))
    assert torch.equal(drawn.token, gumbel_scores(z, again, temperature).argmax(-1))
    noised = (wide - temperature * torch.log(-torch.log(again))).sort(descending=True).values
    assert drawn.lead.tolist() == pytest.approx((noised[:, 0] - noised[:, 1]).tolist())


def kept_by_sorting(z: list[float], temperature: float, top_p: float, top_k: int | None) -> set[int]:
    """Return what top_p and top_k keep, by going through the sorted vocabulary with plain floats."""
    order = sorted(range(len(z)), key=lambda token: (-z[token], token))
    weights = [math.exp((value - max(z)) / temperature) for value in z]
    nucleus, mass = set(), 0.0
    for token in order:
        if mass < top_p * math.fsum(weights) * (1 - 1e-12):
            nucleus.add(token)
        mass += weights[token]
    k = min(top_k or len(z), len(z))
    return {token for token in (nucleus if top_p < 1 else order) if z[token] >= z[order[k - 1]]}


# Steps of a half give ties; the shares of such rows are not on the edge p but where p is a share of equals, as 0.5 is.
ROWS = st.lists(st.sampled_from([-math.inf, -9.0, 0.0, 0.5, 1.0, 3.5, 700.0]), min_size=1, max_size=9)


@given(
    ROWS.filter(lambda z: max(z) > -9),
    st.sampled_from([0.3, 1.0, 4.0]),
    st.sampled_from([1e-9, 0.43, 0.77, 0.961, 1.0]),
)
def test_cut_keeps_what_sorting_the_vocabulary_keeps(z: list[float], temperature: float, top_p: float) -> None:
    row = torch.tensor([z], dtype=torch.float64)
    for top_k in (None, 1, 2, len(z), 99):
        stays = kept_by_sorting(z, temperature, top_p, top_k)
        drawn_from = cut(row, temperature, top_p, top_k)
        expected = [value if token in stays else -math.inf for token, value in enumerate(z)]
        assert drawn_from[0].tolist() == expected
        share = (row / temperature).softmax(dim=-1)[0, sorted(stays)].sum()
        assert share >= top_p - 1e-9 or top_k in (1, 2)
        if top_p == 1 and (top_k is None or top_k >= len(z)):
            assert torch.equal(drawn_from, row)
        drawn = TokenSampler(temperature, 3, 1, top_p, top_k).draw(row, torch.zeros(1, dtype=torch.int64))
        assert int(drawn.token) in stays


def test_a_cut_decode_ranks_as_before_is_recorded_and_comes_again(tmp_path: Path) -> None:
    drawn = Options(sampling_temperature=2.0, drawing="commit", seed=4)
    (trace,) = decode(PREDICTOR, ["a dog"], options=replace(drawn, top_p=0.9, top_k=3), shape=Shape(12, 6, 12))
    again = load_trace(trace.save(tmp_path / "cut.parquet"))
    assert (again.top_p, again.top_k) == (0.9, 3) and again == trace
    assert replay(again).diverged_at is None and replay_with(again, PREDICTOR).tokens.tolist() == trace.tokens.tolist()
    (plain,) = decode(PREDICTOR, ["a dog"], options=drawn, shape=Shape(12, 6, 12))
    assert not {"top_p", "top_k"} & plain.metadata().keys()
    assert np.array_equal(trace.chosen[0], plain.chosen[0])  # the first step sees the same canvas
    (one,) = decode(PREDICTOR, ["a dog"], options=replace(drawn, top_k=1), shape=Shape(12, 6, 12))
    assert one.tokens.tolist() == decode(PREDICTOR, ["a dog"], shape=Shape(12, 6, 12))[0].tokens.tolist()


def test_guidance_is_the_published_combination_with_the_prompt_masked() -> None:
    batches = []

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        batches.append(canvas.clone())
        return torch.randn(VOCABULARY, 8, generator=torch.Generator().manual_seed(0))[canvas]

    predictor = CallablePredictor(logits, mask_id=MASK)
    canvas, prompt = torch.tensor([[7, 9, MASK, 8]]), torch.tensor([[True, True, False, False]])
    places = torch.tensor([0, 0]), torch.tensor([2, 3])
    guided, error = guided_logits(predictor, canvas, None, prompt, *places, 1.5)
    assert [batch.tolist() for batch in batches] == [[[7, 9, MASK, 8], [MASK, MASK, MASK, 8]]]
    conditional, blind = logits(canvas), logits(torch.tensor([[MASK, MASK, MASK, 8]]))
    assert torch.equal(guided, (blind + 2.5 * (conditional - blind))[places])
    assert torch.equal(error, 2.5 * logit_error(conditional[places]) + 1.5 * logit_error(blind[places]))
    plain, none = guided_logits(predictor, canvas, None, prompt, *places, 0.0)
    assert torch.equal(plain, conditional[places]) and none is None
    assert len(batches[-1]) == 1
