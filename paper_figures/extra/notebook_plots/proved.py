"""Notebooks 9 and 14: the small models that the proved results are about, and what their orders write."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rws_decode import Shape, decode, load_predictor
from rws_theory import ReversalLimit, output_law, parallel_distances, reversal_limit
from rws_theory.orders import by_confidence, table_conditionals, table_law

_ORDERS = {
    "left to right": lambda canvas, rows: sorted(rows),
    "right to left": lambda canvas, rows: sorted(rows)[::-1],
    "by confidence": by_confidence(),
    "by confidence, scale 8": by_confidence(8.0),
}
Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


@cache
def logit_distributions() -> dict[str, tuple[Draw, ReversalLimit]]:
    """Return distributions of logits, each with what the share of reversed pairs comes to for many tokens.

    The limits are enclosed in ball arithmetic, which takes seconds.
    """
    return {
        "normal": (lambda rng, shape: rng.standard_normal(shape), reversal_limit("gumbel")),
        "exponential": (lambda rng, shape: rng.standard_exponential(shape), reversal_limit("gumbel")),
        "Pareto, alpha 3": (lambda rng, shape: rng.pareto(3, shape), reversal_limit("frechet", 3.0)),
        "Pareto, alpha 1": (lambda rng, shape: rng.pareto(1, shape), reversal_limit("frechet", 1.0)),
        "bounded, alpha 3": (lambda rng, shape: rng.beta(1, 3, shape), reversal_limit("weibull", 3.0)),
        "uniform (alpha 1)": (lambda rng, shape: rng.random(shape), reversal_limit("weibull", 1.0)),
    }


def argmax_texts(table: NDArray[np.int64]) -> list[tuple[tuple[int, ...], Fraction]]:
    """Return the text that each of four orders writes if the likeliest token is taken, with its total variation from p.

    table: weights of all texts, as `rws_theory.orders.table_law` reads them.
    """
    law, model = table_law(table), table_conditionals(table)
    texts = [next(iter(output_law(model, table.ndim, order, commit="argmax"))) for order in _ORDERS.values()]
    return [(text, 1 - law[text]) for text in texts]


def distances_of_orders(table: NDArray[np.int64]) -> dict[str, list[Fraction]]:
    """Return the total variation of what is written from p, for 1, 2, ... sampled tokens a step: order -> distances.

    Two more tables of the same shape are asked, by confidence: one token four times over, and independent tokens.
    """
    copies = np.zeros(table.shape, dtype=int)
    copies[(np.arange(table.shape[0]),) * table.ndim] = 1
    distances = {name: parallel_distances(table, order) for name, order in _ORDERS.items()}
    distances["four copies of a token"] = parallel_distances(copies, by_confidence())
    distances["independent tokens"] = parallel_distances(np.ones(table.shape, dtype=int), by_confidence())
    return {name: list(each) for name, each in distances.items()}


def exchange_distances(name: str, revealed: int, left_out: float) -> list[tuple[float, float]]:
    """Return bounds of the exchange distances of open neighbours, where a decode has revealed so many positions.

    name: of a shipped model, asked about its fourth prompt and 12 tokens; left_out: as `exchange_distance` has it.
    """
    from rws_decode import exchange_distance  # of an extra

    predictor = load_predictor(name)
    prompt = predictor.encode_prompt(predictor.prompts[3])
    (trace,) = decode(predictor, predictor.prompts[3], "default", Shape(12, 12, 12))
    canvas = [*prompt, *np.where(trace.commit_step < revealed, trace.tokens, predictor.mask_id).tolist()]
    at = (len(prompt) + np.flatnonzero(trace.commit_step >= revealed)).tolist()
    return [exchange_distance(predictor, canvas, i, j, left_out) for i, j in pairwise(at) if j == i + 1]
