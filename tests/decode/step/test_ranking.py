"""Ranking values, selections, and the proof that no reward is needed, against slow versions."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from rws_decode import CallablePredictor, Shape, decode
from rws_decode.extra.savings import certain
from rws_decode.step.rounding import logit_error
from rws_decode.step.select import rank_rows, rank_values, select_top
from rws_theory import selection_path

LEVELS = [-math.inf, -1.5, 0.0, 0.25, 1.0, math.inf]


def slow_select(values: list[float], candidates: list[bool], k: int) -> tuple[list[bool], int]:
    """Pick the largest remaining candidate k times, leftmost first; then count those level with the last one picked."""
    chosen = [False] * len(values)
    last = math.nan
    for _ in range(k):
        best = None
        for position, value in enumerate(values):
            open_ = candidates[position] and not chosen[position]
            if open_ and (best is None or value > values[best]):
                best = position
        assert best is not None
        chosen[best], last = True, values[best]
    level = [candidates[p] and not chosen[p] and values[p] == last for p in range(len(values))]
    return chosen, sum(level)


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[list[float]], list[list[bool]], list[int]]:
    rows, width = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    value = st.sampled_from(LEVELS) | st.floats(allow_nan=False, width=32)
    values = draw(st.lists(st.lists(value, min_size=width, max_size=width), min_size=rows, max_size=rows))
    candidates = draw(st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=rows, max_size=rows))
    return values, candidates, [draw(st.integers(0, sum(row))) for row in candidates]


def level(width: int) -> tuple[list[list[float]], list[list[bool]], list[int]]:
    """Many equal values, in rows longer than those that any sort leaves in order."""
    values = [[float(p % 3 == 1) for p in range(width)], [0.0] * width]
    return values, [[p % 4 != 0 for p in range(width)]] * 2, [width // 2, width // 5]


@given(batches())
@example(level(17))
@example(level(300))
@example(([[0.0, -0.0, 0.0]], [[True, True, True]], [1]))
@example(([[-math.inf, 3.0, -math.inf]], [[True, False, True]], [2]))
@example(([[1.0, 1.0]], [[True, True]], [0]))
def test_select_top_is_the_slow_selection(batch: tuple[list[list[float]], list[list[bool]], list[int]]) -> None:
    values, candidates, ks = batch
    chosen, ties = select_top(torch.tensor(values, dtype=torch.float64), torch.tensor(candidates), torch.tensor(ks))
    expected = [slow_select(*row) for row in zip(values, candidates, ks, strict=True)]
    assert chosen.tolist() == [row for row, _ in expected]
    assert ties.tolist() == [count for _, count in expected]


@pytest.mark.parametrize("precision", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("factor", [0.1, 1.0, 2.37, 32.0])
def test_probability_is_what_public_decoders_compute(precision: str, factor: float) -> None:
    logits = torch.randn(100, 30, generator=torch.Generator().manual_seed(0)) * 3
    best = logits.argmax(-1)
    scaled = logits.to(getattr(torch, precision)) * factor
    expected = torch.softmax(scaled, dim=-1)[torch.arange(100), best]
    assert torch.equal(rank_values(logits, best, factor, "probability", precision), expected.double())


def test_most_sets_that_stay_are_proved() -> None:
    rng, stays, proved = np.random.default_rng(0), 0, 0
    everywhere, row, k = torch.ones(1, 6, dtype=torch.bool), torch.zeros(6, dtype=torch.int64), torch.tensor([2])
    for _ in range(150):
        z = rng.normal(size=(6, 8)) * 3
        z[np.arange(6), 0] += rng.uniform(0, 12, size=6)
        if len(selection_path(z, 2, 0.025, 8.0).pieces) == 1:
            stays += 1
            logits = torch.tensor(z)
            candidates = logits.argmax(-1), row, torch.arange(6)
            proved += bool(certain(logits, *candidates, everywhere, k, 0.025, 8.0, torch.zeros(6)))
    assert stays > 50 and proved >= 0.95 * stays


def test_rows_are_judged_apart_and_positions_that_do_not_compete_are_left_out() -> None:
    crossing = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]  # changes places at 4.81
    z = torch.tensor([*crossing, *crossing, [3.0, 0.0, 0.0]], dtype=torch.float64)
    row, position = torch.tensor([0, 0, 1, 1, 1]), torch.tensor([0, 1, 0, 1, 2])
    contested = torch.tensor([[True, True, False], [True, True, False]])
    k, none = torch.tensor([1, 2]), torch.zeros(5)
    candidates = (z.argmax(-1), row, position)
    assert certain(z, *candidates, contested, k, 0.1, 8.0, none).tolist() == [False, True]
    assert certain(z, *candidates, contested, k, 0.1, 4.8, none).tolist() == [True, True]
    contested[1, 1:] = torch.tensor([False, True])
    assert certain(z, *candidates, contested, torch.tensor([1, 1]), 0.1, 8.0, none).tolist() == [False, True]
    assert certain(z, *candidates, contested, torch.tensor([0, 0]), 0.1, 8.0, none).tolist() == [True, True]


class Operations(TorchDispatchMode):
    count = largest = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        self.count += 1
        if isinstance(made, Tensor) and made.dtype == torch.float64:
            self.largest = max(self.largest, made.numel())
        return made


@pytest.mark.parametrize("factor", [1.0, 0.3, 50.0])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_a_long_row_has_the_bits_of_the_whole_row(dtype: torch.dtype, factor: float) -> None:
    logits = torch.randn(4, 2**16 + 7, generator=torch.Generator().manual_seed(0)).to(dtype)
    logits[0, 3], logits[1, -1], logits[2, 1:], logits[3, 5:] = -math.inf, 9.0, -math.inf, -math.inf
    token = torch.cat([logits[:3].argmax(dim=1), torch.tensor([4])])
    factors = torch.full((4,), factor, dtype=torch.float64)
    rows = zip(logits.split(1), token.split(1), factors.split(1), strict=True)
    whole = torch.cat([rank_rows(*row, "log-odds", torch.float64) for row in rows])
    assert torch.equal(rank_values(logits, token, factor), whole)
    kept = logits.double().abs().masked_fill(logits == -math.inf, 0).amax(dim=1)
    assert torch.equal(logit_error(logits), kept * logit_error(torch.ones(1, 1, dtype=dtype)))


@pytest.mark.parametrize(("strategy", "most"), [("default", 290), ("temperature:2", 390)])
def test_a_step_takes_few_operations_and_widens_few_rows_at_once(strategy: str, most: int) -> None:
    table = torch.randn(33, 5000, generator=torch.Generator().manual_seed(0))
    predictor = CallablePredictor(lambda canvas: table[None], mask_id=0)
    with Operations() as done:
        decode(predictor, [[1]], strategy, Shape(length=32, steps=32, block=32))
    assert done.count < 32 * most and done.largest <= 2**16
