"""One text committed in other orders: its log-likelihoods, and the circulation of its tokens in pairs. Lesson 8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rws_decode import Shape, circulation, decode, order_log_likelihood
from rws_decode.predictors import MaskPredictor

Text = tuple[MaskPredictor, str, Sequence[int]]  # predictor, prompt, tokens of the answer
_EACH = 3  # every third pair of tokens


def greedy_text(predictor: MaskPredictor, prompt: str, length: int) -> Text:
    """Return the answer of the default decoder, one token a step, with the predictor and the prompt that made it."""
    (trace,) = decode(predictor, prompt, "default", Shape(length, length, length))
    return predictor, prompt, trace.tokens.tolist()


def in_random_orders(text: Text, per_step: int, orders: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the log-likelihood of a text in random orders, `per_step` tokens a step, nats, shape (orders,)."""
    predictor, prompt, tokens = text
    drawn = [(rng.permutation(len(tokens)) // per_step).tolist() for _ in range(orders)]
    return np.array([order_log_likelihood(predictor, prompt, tokens, order) for order in drawn])


def circulations(text: Text) -> NDArray[np.float64]:
    """Return the circulation of every third pair of a text's tokens, on the canvas of masks alone, nats."""
    predictor, prompt, tokens = text
    before = predictor.encode_prompt(prompt)
    canvas = [*before, *[predictor.mask_id] * len(tokens)]
    pairs = [(i, j) for i in range(len(tokens)) for j in range(i)][::_EACH]
    places = [[(len(before) + place, tokens[place]) for place in pair] for pair in pairs]
    return np.array([circulation(predictor, canvas, first, second) for first, second in places])
