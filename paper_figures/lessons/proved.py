"""The pictures of lesson 9, one for each proved result, and the small models that they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_decode import Shape, decode, exchange_distance, load_predictor, plots
from rws_decode.common.palette import BLACK, BLUE, GREY, LOOKS, PALE, VERMILION
from rws_decode.view.plots.sheet import drawn, panels_of
from rws_theory import ReversalLimit, ReversalShare, max_probability, output_law, parallel_distances, reversal_limit
from rws_theory.orders import by_confidence, table_conditionals, table_law
from rws_theory.tilting import scaled_reward_mean

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


# --- one position and another -----------------------------------------------------------------------------------------


@drawn
def draw_ladder(a: NDArray[np.float64], b: NDArray[np.float64]) -> Figure:
    """Draw how far the confidence of a is above that of b at every scale, and the second and third rung of the ladder.

    a and b are logits with their largest first, at 0. A rung that is never above 0 proves that a is ahead.
    """
    figure, (left, right) = panels_of(None, 1, 2, (10.0, 3.8))
    left.semilogx(_SCALES, max_probability(a, _SCALES) - max_probability(b, _SCALES), color=BLUE)
    left.set(title="ahead at every scale", xlabel="scale", ylabel="confidence of a less that of b", ylim=(0, None))
    at = np.linspace(0, 7, 400)[:, None]
    for look, k in zip(LOOKS, (2, 3), strict=False):
        of_a, of_b = (np.maximum(at + x[1:], 0) ** (k - 1) for x in (a, b))
        right.plot(at, (of_a - of_b).sum(axis=1), color=look.color, linestyle=look.dash, label=f"rung {k}")
    right.set(title="it suffices that one rung is never above 0", xlabel="t [nats]", ylabel="$D_k(t)$")
    right.legend()
    return figure


@drawn
def draw_reward_means(weights: NDArray[np.float64], rewards: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the mean reward given every set of two or more words by the scale of log p; a line that falls is thick."""
    words = range(len(weights))
    sets = [list(some) for size in words[1:] for some in combinations(words, size + 1)]
    figure, panels = panels_of(None, 1, len(rewards), (5.0 * len(rewards), 3.8), sharey=True)
    for panel, (name, reward) in zip(panels, rewards.items(), strict=True):
        for look, some in zip(LOOKS, sets, strict=False):
            mean = scaled_reward_mean(np.log(weights[some]), np.array(reward)[some], _SCALES)
            width, label = 4 if mean[-1] < mean[0] else 1.5, " or ".join(map(str, weights[some]))
            panel.semilogx(_SCALES, mean, color=look.color, linestyle=look.dash, linewidth=width, label=label)
        panel.set(title=f"the reward {name}: {list(reward)}", xlabel="scale $c$")
    panels[0].set_ylabel("mean reward")
    panels[0].legend(title="given the words of weight")
    return figure


# --- entropies and turns ----------------------------------------------------------------------------------------------


def bent(n: int) -> NDArray[np.float64]:
    """Return logits of n positions of three tokens, [n, 3], made so that each is the best one at some scale."""
    q = np.linspace(0, 0.4, n)
    sums, halves = 1 + 0.1 * q - 0.1 * q**2, np.sqrt(2 * q)
    return -np.stack([0 * q, sums - halves, sums + halves], axis=1)


def entropy_parts(
    p: ArrayLike, scales: NDArray[np.float64]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return -log of the confidence at each scale, and the two Renyi entropies, weighted, that it is the sum of."""
    law = np.asarray(p, dtype=float)
    parts = {
        "$c H_\\infty$": -scales * np.log(law.max()),
        "$(1 - c) H_c$": np.log((law[:, None] ** scales).sum(axis=0)),
    }
    return -np.log(max_probability(np.log(law), scales)), parts


@drawn
def draw_entropies_and_turns(
    p: ArrayLike, numbers: Sequence[int], random: Sequence[int], built: Sequence[int], spread: ArrayLike
) -> Figure:
    """Draw the confidence of p as two entropies, and how often the best of n positions changes.

    random, built: pieces of the selection path, of many random positions for each number and of one that is made for
    it; spread: how far apart the random ones are drawn.
    """
    scales = np.linspace(0.1, 3, 30)
    surprise, parts = entropy_parts(p, scales)
    figure, (left, right) = panels_of(None, 1, 2, (10.0, 3.8))
    left.plot(scales, surprise, linewidth=6, color=PALE, label="$-\\log P(c)$")
    for look, (name, part) in zip(LOOKS, {**parts, "their sum": sum(parts.values())}.items(), strict=False):
        left.plot(scales, part, color=look.color, linestyle=look.dash, label=name)
    left.set(title=f"probabilities {p}", xlabel="scale $c$", ylabel="nats")
    across = np.repeat(numbers, len(random) // len(numbers)) + np.asarray(spread)
    right.plot(across, random, ".", color=BLUE, label="random positions")
    right.plot(numbers, built, "s", color=VERMILION, label="made to change often")
    right.plot(numbers, numbers, color=GREY, label="at most n")
    right.set(title="three tokens each", xlabel="positions n", ylabel="turns of the best position")
    left.legend()
    right.legend()
    return figure
