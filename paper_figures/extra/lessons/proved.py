"""The pictures of lesson 9, one for each proved result, and the small models that they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rws_decode import Shape, decode, load_predictor, plots
from rws_decode.common.palette import BLACK, LOOKS
from rws_decode.view.plots.sheet import drawn, panels_of
from rws_theory import ReversalLimit, ReversalShare, output_law, parallel_distances, reversal_limit
from rws_theory.orders import by_confidence, table_conditionals, table_law

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ORDERS = {
    "left to right": lambda canvas, rows: sorted(rows),
    "right to left": lambda canvas, rows: sorted(rows)[::-1],
    "by confidence": by_confidence(),
    "by confidence, scale 8": by_confidence(8.0),
}
_SCALES = np.geomspace(0.05, 8, 200)
Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


@cache
def laws() -> dict[str, tuple[Draw, ReversalLimit]]:
    """Return laws of logits, each with what the share of reversed pairs comes to for many tokens.

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


# --- orders -----------------------------------------------------------------------------------------------------------


def argmax_texts(table: NDArray[np.int64]) -> list[tuple[tuple[int, ...], Fraction]]:
    """Return the text that each of four orders writes if the likeliest token is taken, with its total variation from p.

    table: weights of all texts, as `rws_theory.orders.table_law` reads them.
    """
    law, model = table_law(table), table_conditionals(table)
    texts = [next(iter(output_law(model, table.ndim, order, commit="argmax"))) for order in _ORDERS.values()]
    return [(text, 1 - law[text]) for text in texts]


def distances_of_orders(table: NDArray[np.int64]) -> dict[str, list[Fraction]]:
    """Return the total variation of what is written from p, for 1, 2, ... drawn tokens a step: order -> distances.

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


@drawn
def draw_orders(
    distances: Mapping[str, Sequence[Fraction]],
    argmax: Sequence[tuple[tuple[int, ...], Fraction]],
    exchange: Mapping[str, Sequence[tuple[float, float]]],
) -> Figure:
    """Draw the distances of orders by tokens a step, with argmax as stars, and the sorted exchange distances."""
    figure, (left, right) = panels_of(None, 1, 2, (12.0, 4.4))
    for look, (name, each) in zip(LOOKS, distances.items(), strict=False):
        left.plot(range(1, 1 + len(each)), [float(tv) for tv in each], look.marker + "-", color=look.color, label=name)
    left.plot([1] * len(argmax), [float(tv) for _, tv in argmax], "*", color=BLACK, markersize=10, label="argmax")
    for look, (name, bounds) in zip(LOOKS, exchange.items(), strict=False):
        right.semilogy(np.sort(np.mean(bounds, axis=1)), look.marker, color=look.color, label=name)
    left.set(title="four positions, three words", xlabel="tokens a step", xticks=range(1, 5), ylabel="total variation")
    right.set(title="exchange distances", xlabel="pair of neighbours, sorted", ylim=(1e-17, 10))
    left.legend(loc="center right")
    right.legend(loc="center right")
    return figure


# --- reversals --------------------------------------------------------------------------------------------------------


@drawn
def draw_reversals(
    shares: Mapping[str, Mapping[float, ReversalShare]], crossings: Mapping[int, NDArray[np.float64]]
) -> Figure:
    """Draw shares of reversed pairs beside the limits of `laws`, and how many pairs cross so often.

    crossings: tokens -> the share of pairs of normal logits that cross 0, 1, ... times.
    """
    figure, (left, right) = panels_of(None, 1, 2, (12.0, 4.6), width_ratios=(3, 2))
    plots.reversal_shares(shares, {name: limit for name, (_, limit) in laws().items()}, axes=left)
    left.legend(loc="upper left", ncols=2)
    left.set_ylim(0, 0.75)
    for place, (look, (d, share)) in enumerate(zip(LOOKS, crossings.items(), strict=False)):
        at, name = np.arange(len(share)) + 0.4 * place, f"{d} tokens"
        bars = right.bar(at, share, 0.4, facecolor=look.color, hatch=look.hatch, edgecolor="white", label=name)
        right.bar_label(bars, [f"{100 * part:.1f} %" for part in share], fontsize=8)
    right.set(title="normal logits", xlabel="crossings of a pair, certified", ylabel="share of pairs", xticks=range(4))
    right.legend()
    return figure
