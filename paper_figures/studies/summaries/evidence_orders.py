"""Ask whether a less left-to-right order is better, over all orders that commit the likeliest words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from paper_figures.statistics.equivalence import tost
from paper_figures.statistics.intervals import Interval, percentile_interval
from paper_figures.statistics.max_t import max_t
from paper_figures.studies.design.evidence_arms import METHODS, WORLDS, Arm
from paper_figures.studies.summaries.evidence import arm_title
from paper_figures.studies.summaries.evidence_comparisons import ALPHA, difference_interval, main_measures
from paper_figures.studies.summaries.evidence_measures import MEASURES, differences_of, scores_of

_RESAMPLES = 1999


@dataclass(frozen=True)
class EqualOrders:
    """Of how many orders how many pairs have equivalent GOD, how many pairs differ in a measure, and the widest apart.

    `widest` is (the order with more of it, the order with less).
    """

    orders: int
    pairs: int
    apart: int
    widest: tuple[Arm, Arm] | None


def order_arms(arms: Mapping[Arm, pd.DataFrame], one_by_one: bool = False) -> list[Arm]:
    """Return the arms that differ in their order alone: all of them commit the likeliest words, as many a step.

    A factor on the logits leaves the likeliest word of a position as it is. Copies, lookahead and tilts do more.
    """
    kinds = ("rws", "factor", "order")
    return [
        arm
        for arm in arms
        if METHODS[arm.method].kind in kinds and not arm.sampling_temperature and arm.one_by_one == one_by_one
    ]


def rank_correlation(
    first: NDArray[np.float64], second: NDArray[np.float64], rng: np.random.Generator, resamples: int = _RESAMPLES
) -> Interval:
    """Return Spearman's rank correlation of two measures' means over arms, with its 95 % interval over prompts.

    `first` and `second` have shape (arms, prompts). Each resample draws prompts, the same of all arms (percentile
    bootstrap). The interval is of these arms; it does not say what other arms would do. Arms that are all equal have a
    correlation of 0.
    """
    n = first.shape[1]
    weights = rng.multinomial(n, np.full(n, 1 / n), size=resamples) / n
    draws = _spearman(weights @ first.T, weights @ second.T)
    estimate = _spearman(first.mean(axis=1)[None], second.mean(axis=1)[None])
    return percentile_interval(float(estimate[0]), draws, 0.95)


def order_lines(arms: Mapping[Arm, pd.DataFrame], world: str) -> list[str]:
    """Return how GOD goes with quality over the orders, and two orders of one GOD and unlike quality."""
    orders = order_arms(arms)
    if len(orders) < 3:
        return []
    god = np.array([scores_of(arms[arm], world, "god") for arm in orders])
    lines = []
    for name in reversed(main_measures(world)):  # the quality of the text before its reward
        quality = np.array([scores_of(arms[arm], world, name) for arm in orders])
        if not np.isfinite(quality).all():
            continue
        rho = rank_correlation(god, quality, np.random.default_rng(0))
        title = f"the {MEASURES[name].title}" if MEASURES[name].kind == "mean" else f"the {_OF_ARM[name]}"
        lines += _equal_lines(arms, world, name)
        lines.append(
            f"Over {len(orders)} orders of {WORLDS[world].model}, the rank correlation of GOD and {title} is "
            f"{rho.mean:+.2f} [{rho.low:+.2f}, {rho.high:+.2f}]. {_direction(rho)}"
        )
    return [*lines, *_one_by_one(arms, world)]


_OF_ARM = {"coherent": "share of coherent answers", "net mini-judge": "other judge's score"}


def _direction(rho: Interval) -> str:
    if rho.low > 0:
        return "A less left-to-right order goes with more of it."
    return "A less left-to-right order goes with less of it." if rho.high < 0 else "No direction is shown."


def equal_orders(arms: Mapping[Arm, pd.DataFrame], world: str, name: str) -> EqualOrders | None:
    """Return how many pairs of orders with equivalent GOD differ in a measure; None where no GOD is equivalent.

    GOD is equivalent within its margin by two one-sided tests; p of the measure is corrected for all pairs (max-T).
    """
    orders, margin = order_arms(arms), MEASURES["god"].margin
    god = [scores_of(arms[arm], world, "god") for arm in orders]
    pairs = [
        (i, j)
        for i, j in combinations(range(len(orders)), 2)
        if abs(god[i].mean() - god[j].mean()) < margin and tost(god[i] - god[j], margin).p <= ALPHA
    ]
    if not pairs:
        return None
    quality = [scores_of(arms[arm], world, name) for arm in orders]
    table = np.array([differences_of(name, quality[i], quality[j]) for i, j in pairs])
    real = np.array(max_t(table, np.random.default_rng(0))) <= ALPHA
    if not real.any():
        return EqualOrders(len(orders), len(pairs), 0, None)
    best = int(np.argmax(np.abs(table.mean(axis=1)) * real))
    i, j = pairs[best] if table[best].mean() > 0 else pairs[best][::-1]
    return EqualOrders(len(orders), len(pairs), int(real.sum()), (orders[i], orders[j]))


def equal_sentence(equal: EqualOrders, world: str, name: str) -> str:
    """Return in words how many pairs of orders with equivalent GOD differ in a measure."""
    return (
        f"In {WORLDS[world].model}, {equal.pairs} pairs of {equal.orders} orders have the same GOD within "
        f"±{MEASURES['god'].margin:g} tokens; {equal.apart or 'none'} of them differ in {MEASURES[name].title} "
        "(p corrected for all pairs)."
    )


def _equal_lines(arms: Mapping[Arm, pd.DataFrame], world: str, name: str) -> list[str]:
    equal = equal_orders(arms, world, name)
    if equal is None:
        return []
    line = equal_sentence(equal, world, name)
    interval = equal.widest and difference_interval((arms[equal.widest[0]], arms[equal.widest[1]]), world, name)
    if equal.widest is None or interval is None:
        return [line]
    measure = MEASURES[name]
    ends = [measure.text(end) for end in interval]
    names = [arm_title(arm.method, arm.number, False) for arm in equal.widest]
    god = [float(scores_of(arms[arm], world, "god").mean()) for arm in equal.widest]
    return [
        line,
        f"The widest apart are {names[0]} and {names[1]}: {ends[0]} [{ends[1]}, {ends[2]}] {measure.unit}, with GOD "
        f"{god[0]:.1f} and {god[1]:.1f}.",
    ]


def _one_by_one(arms: Mapping[Arm, pd.DataFrame], world: str) -> list[str]:
    """Return GOD and the last main measure of each order at one token a step, as a list in rising GOD."""
    name = "log_prob" if WORLDS[world].exact else "coherent"
    measure, listed = MEASURES[name], []
    for arm in order_arms(arms, one_by_one=True):
        god, values = (float(scores_of(arms[arm], world, part).mean()) for part in ("god", name))
        listed.append((god, f"{arm_title(arm.method, arm.number, False)} {god:.1f} and {_plain(name, values)}"))
    if len(listed) < 2:
        return []
    unit = "%" if measure.kind == "share" else measure.unit
    told = "; ".join(text for _, text in sorted(listed))
    return [f"At one token a step, GOD (tokens) and {measure.title} ({unit}) are: {told}."]


def _plain(name: str, value: float) -> str:
    return MEASURES[name].text(value, sign=False)


def _spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank correlation of each pair of rows, 0 where all of a row are equal."""
    ranks = [rankdata(values, axis=1) for values in (first, second)]
    centred = [values - values.mean(axis=1, keepdims=True) for values in ranks]
    lengths = np.linalg.norm(centred[0], axis=1) * np.linalg.norm(centred[1], axis=1)
    products = (centred[0] * centred[1]).sum(axis=1)
    return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
