"""Ranking values against probabilities, and the top-k selection against a slow one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from rws_decode.step.confidence import rank_values
from rws_decode.step.select import select_top, select_topk

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


@given(batches())
@example(([[0.0, -0.0, 0.0]], [[True, True, True]], [1]))
@example(([[-math.inf, 3.0, -math.inf]], [[True, False, True]], [2]))
@example(([[1.0, 1.0]], [[True, True]], [0]))
def test_select_top_is_the_slow_selection(batch: tuple[list[list[float]], list[list[bool]], list[int]]) -> None:
    values, candidates, ks = batch
    chosen, ties = select_top(torch.tensor(values, dtype=torch.float64), torch.tensor(candidates), torch.tensor(ks))
    expected = [slow_select(*row) for row in zip(values, candidates, ks, strict=True)]
    assert chosen.tolist() == [row for row, _ in expected]
    assert ties.tolist() == [count for _, count in expected]


@pytest.mark.parametrize("width", [17, 300])
def test_among_many_equal_values_the_leftmost_go_first_too(width: int) -> None:
    """Longer rows than those that any sort leaves in order."""
    values = [[float(p % 3 == 1) for p in range(width)], [0.0] * width]
    candidates = [[p % 4 != 0 for p in range(width)]] * 2
    ks = [width // 2, width // 5]
    chosen, ties = select_top(torch.tensor(values), torch.tensor(candidates), torch.tensor(ks))
    expected = [slow_select(*row) for row in zip(values, candidates, ks, strict=True)]
    assert chosen.tolist() == [row for row, _ in expected] and ties.tolist() == [count for _, count in expected]


def random_logits(rows: int, vocabulary: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    logits = torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed)) * 3
    return logits, logits.argmax(-1)


@pytest.mark.parametrize("precision", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("factor", [0.1, 1.0, 2.37, 32.0])
def test_probability_is_what_public_decoders_compute(precision: str, factor: float) -> None:
    logits, best = random_logits(100, 30)
    scaled = logits.to(getattr(torch, precision)) * factor
    expected = torch.softmax(scaled, dim=-1)[torch.arange(100), best]
    assert torch.equal(rank_values(logits, best, factor, "probability", precision), expected.double())


@pytest.mark.parametrize("precision", ["bfloat16", "float32", "float64", "model"])
@pytest.mark.parametrize("factor", [0.1, 2.37, 32.0])
def test_log_odds_in_a_precision_are_computed_throughout_in_it(precision: str, factor: float) -> None:
    logits, best = random_logits(100, 30)
    logits = logits.bfloat16() if precision == "model" else logits
    rounded = logits.to(torch.bfloat16 if precision == "model" else getattr(torch, precision))
    expected = []
    for row, token in zip(rounded, best.tolist(), strict=True):
        others = torch.cat([row[:token], row[token + 1 :]]) - row[token]
        expected.append(-torch.logsumexp(others * factor, dim=-1).double())
    values = rank_values(logits, best, factor, "log-odds", precision)
    # Sums of bfloat16 are rounded once, whatever their order; others to the last digits.
    eps = 0.0 if rounded.dtype == torch.bfloat16 else 4 * torch.finfo(rounded.dtype).eps
    assert values.dtype == torch.float64
    np.testing.assert_allclose(values, torch.stack(expected), rtol=eps, atol=eps)


@pytest.mark.parametrize("precision", ["float16", "float64"])
def test_the_precision_of_the_model_is_that_of_its_logits(precision: str) -> None:
    logits, best = random_logits(6, 9)
    logits = logits.to(getattr(torch, precision))
    expected = torch.softmax(logits * 2.0, dim=-1)[torch.arange(6), best].double()
    assert torch.equal(rank_values(logits, best, 2.0, "probability", "model"), expected)
    assert torch.equal(rank_values(logits, best, 2.0, "topk", "model"), expected)


def test_a_choice_by_topk_of_level_values_is_that_of_pytorch_over_the_canvas() -> None:
    # In bfloat16 the two largest are level: which of them comes first is what torch.topk says of that row.
    level = torch.tensor([[1.0, 1.0009765625, 0.5]], dtype=torch.float64)
    row = torch.full((7,), -math.inf, dtype=torch.bfloat16)
    row[3:6] = level[0].bfloat16()
    level_choice = select_topk(
        level, torch.ones(1, 3).bool(), 1, columns=torch.tensor([[3, 4, 5]]), width=7, dtype=row.dtype
    )
    assert level_choice.chosen[0].nonzero().tolist() == [[int(torch.topk(row, 1).indices) - 3]]


def test_one_factor_per_row_and_rows_do_not_mix() -> None:
    logits, best = random_logits(150, 11)
    factors = torch.linspace(0.1, 30, 150, dtype=torch.float64)
    together = rank_values(logits, best, factors)
    apart = [rank_values(logits[i : i + 1], best[i : i + 1], float(factors[i])).item() for i in range(150)]
    assert together.tolist() == apart


def test_impossible_tokens_do_not_count_and_a_lone_token_is_certain() -> None:
    logits = torch.tensor([[1.0, -math.inf, 0.0], [2.0, -math.inf, -math.inf]])
    best = torch.tensor([0, 0])
    assert rank_values(logits, best, 0.5).tolist() == [pytest.approx(0.5), math.inf]
    assert rank_values(logits, best, 0.5, "probability").tolist()[1] == 1.0


@pytest.mark.parametrize("factor", [0.0, -1.0, math.inf, math.nan])
def test_the_factor_must_be_positive(factor: float) -> None:
    with pytest.raises(ValueError, match=rf"^factor is {factor}:"):
        rank_values(torch.zeros(1, 3), torch.tensor([0]), factor)
