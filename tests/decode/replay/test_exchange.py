"""The distance of two orders of drawing: 0 for exact conditionals, as enumerated in fractions for others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from rws_decode import CallablePredictor, exchange_distance, load_predictor
from rws_decode.testing import exact_predictor
from rws_theory.orders.invariance import Canvas, Rows
from rws_theory.orders.invariance import exchange_distance as enumerated
from rws_theory.testing import random_table

WORDS, LENGTH, MASK = 3, 3, 3


def weights(seed: int, canvas: tuple[int, ...], position: int) -> np.ndarray:
    """Return whole numbers for each word that depend on the canvas and on nothing else: of no joint law."""
    digits = [token % 4 for token in canvas]
    return np.random.default_rng([seed, position, *digits]).integers(0, 6, WORDS) + np.eye(WORDS, dtype=int)[0]


def of_no_law(seed: int) -> CallablePredictor:
    def logits(canvas: torch.Tensor) -> torch.Tensor:
        rows = [[weights(seed, tuple(row), i) for i in range(LENGTH)] for row in canvas.tolist()]
        return torch.log(torch.tensor(np.array(rows), dtype=torch.float64))

    return CallablePredictor(logits, mask_id=MASK)


def fractions(seed: int, canvas: Canvas) -> Rows:
    ids = tuple(MASK if token < 0 else token for token in canvas)
    rows = {i: weights(seed, ids, i).tolist() for i, token in enumerate(canvas) if token < 0}
    return {i: [Fraction(w, sum(row)) for w in row] for i, row in rows.items()}


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.4]))
@example(321, 0.0)  # a token is impossible before a commit and possible after it
def test_the_bounds_hold_the_enumerated_distance(seed: int, left_out: float) -> None:
    for token in (MASK, 1):
        lower, upper = exchange_distance(of_no_law(seed), [MASK, token, MASK], 0, 2, left_out)
        exact = enumerated(lambda canvas: fractions(seed, canvas), (-1, -1 if token == MASK else token, -1), 0, 2)
        assert lower - 1e-12 <= exact <= upper + 1e-12
        assert upper - lower <= 2 * left_out + 1e-12


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2]))
def test_exact_conditionals_allow_a_distance_of_zero(seed: int, left_out: float) -> None:
    predictor = exact_predictor(random_table(seed, 4, 3))
    lower, upper = exchange_distance(predictor, [predictor.mask_id, 1, *[predictor.mask_id] * 2], 0, 3, left_out)
    assert lower < 1e-12 and upper <= 2 * left_out + 1e-12


def test_a_learned_model_has_no_joint_law() -> None:
    mini = load_predictor("mini")
    prompt = mini.encode_prompt(mini.prompts[3])
    canvas, (i, j) = [*prompt, *[mini.mask_id] * 6], (len(prompt) + 1, len(prompt) + 2)
    wide, close = (exchange_distance(mini, canvas, i, j, left_out) for left_out in (0.2, 0.05))
    assert 0 < wide[0] <= close[0] + 1e-6 and close[1] <= wide[1] + 1e-6
    turned = exchange_distance(mini, canvas, j, i, 0.05)
    assert turned == pytest.approx(close, abs=1e-5)


@pytest.mark.parametrize(
    ("canvas", "columns", "left_out", "message"),
    [
        ([MASK, 1, MASK], (1, 2), 0.0, "first is column 1: a masked column of the canvas is needed"),
        ([MASK, 1, MASK], (0, 3), 0.0, "second is column 3"),
        ([MASK, 1, MASK], (0, 0), 0.0, "first and second are both column 0"),
        ("a cat", (0, 2), 0.0, "canvas is 'a cat': ids are needed"),
        ([MASK, 1, MASK], (0, 2), 0.5, "left_out is 0.5:"),
    ],
)
def test_misuse_is_named(canvas: list[int], columns: tuple[int, int], left_out: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        exchange_distance(of_no_law(0), canvas, *columns, left_out)
