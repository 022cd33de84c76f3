"""Ranges of ranking values and near-ties, each against the definition."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from tiny_models import fixed_predictor

from rws_decode import Options, Shape, Temperature, decode
from rws_decode.step.rounding import logit_error, near_ties, value_range
from rws_decode.step.select import rank_values, select_deferring, select_top

Step = tuple[list[float], list[float], list[bool], list[bool], int]


def logits_of(seed: int, rows: int, vocabulary: int) -> torch.Tensor:
    return torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed)) * 4


@given(
    st.integers(0, 9999),
    st.floats(0.01, 8),
    st.floats(0, 0.3),
    st.sampled_from(["log-odds", "probability", "topk"]),
    st.sampled_from(["bfloat16", "float32", "float64"]),
)
@example(9998, 0.625, 0.0, "probability", "float32")  # a sum of exponentials rounds more than once
@example(0, 1.0, 0.0001, "log-odds", "float64")  # float32 rounds the move by more than a thousandth of it
def test_a_value_stays_in_its_range(seed: int, factor: float, size: float, ranking: str, precision: str) -> None:
    z = logits_of(seed, 6, 9)
    best = z.argmax(-1)
    moved = z + size * torch.sign(logits_of(seed + 1, 6, 9))
    error, scale = (moved.double() - z.double()).abs().amax(dim=1), torch.full((6,), factor, dtype=torch.float64)
    exact = rank_values(z, best, scale)
    low, high = value_range(exact, z, error, scale, ranking, getattr(torch, precision))  # type: ignore[arg-type]
    for changed in (z, moved):
        value = rank_values(changed, best, scale, ranking, precision)  # type: ignore[arg-type]
        assert bool((low - 1e-9 <= value).all() and (value <= high + 1e-9).all())


@st.composite
def steps(draw: st.DrawFn) -> Step:
    width = draw(st.integers(1, 7))
    values = draw(st.lists(st.integers(-4, 4).map(float) | st.just(math.inf), min_size=width, max_size=width))
    reach = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=width, max_size=width))
    eligible = draw(st.lists(st.booleans(), min_size=width, max_size=width))
    deferred = draw(st.lists(st.booleans(), min_size=width, max_size=width))
    return values, reach, eligible, deferred, draw(st.integers(0, sum(eligible)))


@given(steps())
def test_near_ties_are_the_pairs_whose_ranges_meet_across_the_cut(step: Step) -> None:
    values, reach, eligible, deferred, k = step
    value, candidates, late = torch.tensor([values]).double(), torch.tensor([eligible]), torch.tensor([deferred])
    chosen = select_deferring(select_top, value, candidates, late, k).chosen
    low, high = value - torch.tensor([reach]), value + torch.tensor([reach])
    near = set()
    for p in range(len(values)):
        for q in range(len(values)):
            across = eligible[p] and eligible[q] and bool(chosen[0, p]) and not bool(chosen[0, q])
            if across and deferred[p] == deferred[q] and low[0, p] <= high[0, q]:
                near |= {p, q}
    # One of a pair meets the extreme of the other side, so counting by the extremes is counting by pairs.
    assert int(near_ties(low, high, candidates, chosen, late)) == len(near)


@given(steps())
def test_deferred_positions_wait_for_all_others(step: Step) -> None:
    values, _, eligible, deferred, k = step
    left = [p for p in range(len(values)) if eligible[p]]
    expected, ties = [], 0
    for number in range(k):
        open_ = [p for p in left if not deferred[p]] or left
        best = max(open_, key=lambda p: values[p])
        left.remove(best)
        expected.append(best)
        if number == k - 1:
            ties = sum(values[p] == values[best] and deferred[p] == deferred[best] for p in left)
    chosen, counted = select_deferring(
        select_top, torch.tensor([values]), torch.tensor([eligible]), torch.tensor([deferred]), k
    )
    assert chosen[0].nonzero()[:, 0].tolist() == sorted(expected)
    assert int(counted) == ties


@pytest.mark.parametrize(("errors", "near"), [(1.5, 1), (2.5, 0)])
def test_a_token_is_near_another_where_both_logits_may_be_off_by_their_error(errors: float, near: int) -> None:
    table = torch.tensor([[0.0, 0.0, 16.0]])
    table[0, 1] = 16.0 - errors * logit_error(table).item()
    (trace,) = decode(fixed_predictor(table), [[]], "default", Shape(1, 1, 1))
    assert trace.near_tokens.tolist() == [near]


DOWN, UP, NONE, ALL = [3, 3, 2, 2, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2, 3, 3], [0] * 4, [8, 6, 4, 2]


@pytest.mark.parametrize(
    ("dtype", "scale", "ranking", "precision", "expected"),
    [
        ("float32", 1.0, "log-odds", "float64", (DOWN, NONE, NONE, NONE)),
        ("float32", 1.0, "log-odds", "bfloat16", (None, ALL, None, NONE)),
        ("float32", 1.0, "probability", "float64", (None, None, None, NONE)),
        ("float32", 1.0, "probability", "float32", (UP, ALL, [8, 6, 4, 0], [1, 1, 1, 0])),
        ("float32", 1.0, "topk", "model", (None, ALL, None, None)),
        # From a lead of 37 nats on a probability is 1.0 in float64; the log-odds still tell 42 from 44.
        ("float32", 2.0, "log-odds", "float64", (None, ALL, NONE, None)),
        ("float32", 2.0, "probability", "float64", (None, ALL, [8, 6, 4, 0], None)),
        ("bfloat16", 1.0, "log-odds", "float64", (None, None, [8, 6, 4, 0], None)),
    ],
)
def test_a_trace_says_what_rounding_did(dtype: str, scale: float, ranking: Any, precision: Any, expected: Any) -> None:
    settings, shape = Options(ranking=ranking, precision=precision), Shape(8, 4, 8)
    table = torch.zeros(8, 12, dtype=getattr(torch, dtype))
    table[:, 9] = torch.arange(21.0, 29.0).to(table.dtype)  # margins: in bfloat16 and float32 all probabilities are 1
    (trace,) = decode(fixed_predictor(table, mask_id=4), [[]], Temperature(scale), shape, options=settings)
    logits = torch.cat([torch.zeros(8, 11), torch.arange(21.0, 29.0)[:, None]], dim=1)
    logits[:, 0] = -math.inf  # the mask
    values = rank_values(logits, torch.full((8,), 11), scale, ranking, precision)
    np.testing.assert_allclose(trace.value[0], values, rtol=1e-14)
    for name, numbers in zip(("commit_step", "saturated", "near_ties", "inexact"), expected, strict=True):
        assert numbers is None or getattr(trace, name).tolist() == numbers, name
    assert trace.logits_dtype == dtype and (ranking != "topk" or trace.ties[0] == 6)
    assert trace.to_frame().groupby("step")["inexact"].first().tolist() == trace.inexact.tolist()
