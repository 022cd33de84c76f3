"""A world's predictor for words at other positions: its logits are the scattered world's, its text is in order."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rws_decode import Shape
from rws_decode.decode import decode
from rws_decode.predictors import WorldPredictor
from rws_decode.predictors.scattered import ScatteredPredictor
from rws_decode.strategies.factors import Confidence, Temperature
from rws_decode.strategies.protocol import FactorStrategy
from rws_decode.text.words import END, Words
from rws_theory.worlds import MASK, NGram, Scattered
from rws_theory.worlds.part_memory import PartMemory

WORDS = Words(["peace", "and", "war", ".", END])
LENGTH = 6


def world() -> WorldPredictor:
    draw = np.random.default_rng(0)
    texts = [[*draw.integers(0, 4, size=9).tolist(), 4, 4] for _ in range(30)]
    return WorldPredictor(NGram.fit(texts, order=3, vocabulary=5), WORDS)


BASE = world()


def orders() -> st.SearchStrategy[np.ndarray]:
    return st.permutations(range(LENGTH)).map(np.array)


@given(orders(), st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=LENGTH, max_size=LENGTH))
def test_logits_are_those_of_the_scattered_world(order: np.ndarray, text: list[tuple[int, bool]]) -> None:
    answer = [MASK if masked else word for word, masked in text]
    rows = [[1, 0, *answer], [2, *answer, 9]]  # 9 is padding
    canvas = torch.tensor(rows)
    canvas[canvas == MASK] = BASE.mask_id
    real = torch.tensor([[True] * 8, [True] * 7 + [False]])
    logits = ScatteredPredictor(BASE, order).logits(canvas, real)
    for row, context in enumerate(([1, 0], [2])):
        expected = Scattered(BASE.world, order).conditionals(answer, context)
        found = logits[row, len(context) : len(context) + LENGTH, :-1].numpy()
        masked = np.array(answer) == MASK
        np.testing.assert_allclose(found[masked], expected[masked], rtol=0, atol=1e-12)


def test_a_text_is_read_in_its_order_up_to_its_end() -> None:
    predictor = ScatteredPredictor(BASE, np.array([2, 0, 1, 3]))
    assert predictor.decode_answer([1, 2, 0, 3]) == "peace and war."
    assert predictor.decode_answer([1, 4, 0, 3]) == "peace and"
    assert predictor.end_id is None  # an end of text ends what is read after it, wherever that stands


@given(orders(), st.sampled_from([Confidence(), Temperature(3.0)]))
def test_confidence_commits_the_same_words_in_any_order(order: np.ndarray, strategy: FactorStrategy) -> None:
    shape, memory = Shape(LENGTH, LENGTH // 2, LENGTH), PartMemory()
    (local,) = decode(ScatteredPredictor(BASE, np.arange(LENGTH)), ["war and"], strategy, shape)
    (moved,) = decode(ScatteredPredictor(BASE, order, memory), ["war and"], strategy, shape)
    (again,) = decode(ScatteredPredictor(BASE, order), ["war and"], strategy, shape)
    assert moved.tokens.tolist() == again.tokens.tolist() and len(memory)
    if not local.ties.any():
        assert moved.tokens[order].tolist() == local.tokens.tolist() and moved.text == local.text
        assert moved.commit_step[order].tolist() == local.commit_step.tolist()


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match=r"order is \[0, 0\]"):
        ScatteredPredictor(BASE, np.array([0, 0]))
    with pytest.raises(ValueError, match="canvas has 2 positions: 3 are needed"):
        ScatteredPredictor(BASE, np.arange(3)).logits(torch.tensor([[0, BASE.mask_id]]), None)


def test_an_answer_has_the_probability_of_its_words_in_reading_order() -> None:
    words = Words(["peace", "and", "war"])
    base = WorldPredictor(NGram.fit([words.ids("peace and war and peace")], order=2, vocabulary=3), words)
    scattered = ScatteredPredictor(base, np.array([2, 0, 1]))
    answer = [1, 2, 0]  # "peace and war", read
    assert scattered.log_prob([1], answer) == base.log_prob([1], [0, 1, 2]) != base.log_prob([1], answer)
    with pytest.raises(ValueError, match="prompt has gaps"):
        scattered.log_prob([1, scattered.mask_id], [0])
