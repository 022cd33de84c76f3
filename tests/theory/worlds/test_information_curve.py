"""Information curves against enumeration, schedules against the law of the sampler, the best against all."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_worlds import Case, tilted
from torch import Tensor, from_numpy

from rws_decode import MaskedPositions, RandomOrder, Shape, strategy_log_prob
from rws_decode.extra.testing import exact_predictor
from rws_theory.testing import random_chain, random_table
from rws_theory.worlds import InformationCurve, JointTable, NGram, best_schedule, contraction, information_curve

WORLD = NGram.fit([[0, 1, 2, 0, 2, 1, 0, 0]], order=3, vocabulary=3)


@dataclass(frozen=True)
class GivenOrders:
    """Positions of each row in an order that is given: place[row][p] says when position p goes."""

    place: NDArray[np.int64]
    name = "given"
    needs_reward = False

    def order(self, view: MaskedPositions) -> Tensor:
        return -from_numpy(self.place).double()[view.row, view.position]


def compositions(n: int, steps: int) -> Iterator[tuple[int, ...]]:
    for cuts in combinations(range(1, n), steps - 1):
        yield tuple(np.diff([0, *cuts, n]).tolist())


def slow_curve(table: JointTable) -> np.ndarray:
    """Return the mean of H(X_j | X_S) from its definition: each set, each position outside, each revealed text."""
    n, v = table.length, table.vocabulary
    curve = np.zeros(n)
    for size in range(n):
        found = []
        for shown in combinations(range(n), size):
            mean = np.zeros(n)
            for words in product(range(v), repeat=size):
                canvas = np.full(n, -1)
                canvas[list(shown)] = words
                share = np.exp(table.log_p[tuple(slice(None) if word < 0 else word for word in canvas)]).sum()
                if share > 0:
                    p = np.exp(table.conditionals(canvas))
                    mean -= share * (p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)
            found += [mean[j] for j in range(n) if j not in shown]
        curve[size] = np.mean(found)
    return curve


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 3), st.sampled_from([0.0, 0.4]))
@settings(max_examples=examples(100))
def test_a_tables_curve_is_its_definition(seed: int, length: int, words: int, holes: float) -> None:
    table = random_table(seed, length, words, holes=holes)
    curve = information_curve(table, length)
    assert np.allclose(curve.entropy, slow_curve(table), atol=1e-12)
    assert (np.diff(curve.entropy) <= 1e-12).all()  # what is known of more words leaves less
    p = np.exp(table.log_p)
    assert curve.profile[-1] == pytest.approx(-(p * np.where(p > 0, table.log_p, 0.0)).sum(), abs=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 3), st.sampled_from([0.0, 0.4]))
def test_a_chains_curve_is_its_tables(seed: int, length: int, words: int, holes: float) -> None:
    chain = random_chain(seed, words, holes=holes)
    expected = information_curve(chain.table(length), length).entropy
    assert np.allclose(information_curve(chain, length).entropy, expected, atol=1e-12)


@given(tilted(), st.booleans())
def test_an_ngrams_curve_is_its_tables(drawn: tuple[Case, NGram, Any], plain: bool) -> None:
    case, world, weights = drawn
    log_p = case.log_p if plain else weights
    table = JointTable(np.reshape(log_p, (case.vocabulary,) * case.length))
    found = information_curve(case.world if plain else world, case.length, contexts=[case.context, case.context])
    assert np.allclose(found.entropy, information_curve(table, case.length).entropy, atol=1e-9)


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_drawn_curves_are_right_on_average(beta: float) -> None:
    world, contexts = WORLD.tilt([0.0, 1.0, -1.0], beta) if beta else WORLD, [[0], [2, 1]]
    exact = information_curve(world, 4, contexts=contexts)
    drawn = information_curve(world, 4, contexts=contexts, draws=150, rng=np.random.default_rng(0))
    assert (abs(drawn.entropy - exact.entropy) <= 5 * drawn.error + 1e-12).all() and drawn.error.max() < 0.05
    cost = drawn.schedule((1, 3))
    assert abs(cost.divergence - exact.schedule((1, 3)).divergence) <= 5 * cost.error < 0.1


@given(st.integers(0, 10**6), st.sampled_from([(3, 2), (4, 2), (3, 3)]), st.data())
@settings(max_examples=examples(50))
def test_the_divergence_is_the_samplers_mean_over_all_orders(seed: int, size: Any, data: st.DataObject) -> None:
    """Equation (T92), by the law of the decoder itself. The mixture of the orders is nearer."""
    length, words = size
    steps = data.draw(st.integers(1, length))
    counts = data.draw(st.sampled_from(list(compositions(length, steps))))
    table = random_table(seed, length, words)
    log_p, shape = table.log_p.reshape(-1), Shape(length, counts=counts)
    texts, orders = list(product(range(words), repeat=length)), list(permutations(range(length)))
    strategy = GivenOrders(np.repeat(orders, len(texts), axis=0))
    law = strategy_log_prob(exact_predictor(table), [[]], texts * len(orders), strategy, shape)
    laws = law.log_prob.reshape(len(orders), len(texts))
    mean = (np.exp(log_p) @ (log_p - laws).T).mean()
    assert mean == pytest.approx(information_curve(table, length).schedule(counts).divergence, abs=1e-9)
    mixture = np.exp(log_p) @ (log_p - np.log(np.exp(laws).mean(axis=0)))
    assert mixture <= mean + 1e-9
    drawn = strategy_log_prob(exact_predictor(table), [[]], texts, RandomOrder(seed), shape).log_prob
    assert abs(laws - drawn).max(axis=1).min() < 1e-12  # the strategy's own order is one of them


@given(st.integers(0, 10**6), st.sampled_from([(4, 3), (6, 2)]), st.integers(1, 3), st.sampled_from([0.0, 0.3]))
@settings(max_examples=examples(50))
def test_what_is_lost_is_bounded_by_the_distances(seed: int, size: Any, n_apart: int, holes: float) -> None:
    """Equation (T95), by the law of the decoder: confidence order, any distance, each text along its own path."""
    length, words = size
    chain = random_chain(seed, words, holes=holes)
    log_p = chain.table(length).log_p.reshape(-1)
    texts = [text for text, log in zip(product(range(words), repeat=length), log_p, strict=True) if log > -np.inf]
    log_p = log_p[log_p > -np.inf]
    predictor, strategy = exact_predictor(chain.table(length)), "default" + f"+spacing:{n_apart}" * (n_apart > 1)
    law = strategy_log_prob(predictor, [[]], texts, strategy, Shape(length, counts=(2,) * (length // 2)))
    gaps = np.array([[abs(np.diff(np.flatnonzero(row == step))) for step in set(row)] for row in law.commit_step])
    bound = np.log(words) * (contraction(chain) ** gaps.astype(float)).sum(axis=(1, 2))
    assert np.exp(log_p) @ (log_p - law.log_prob) <= np.exp(log_p) @ bound + 1e-9


@given(st.lists(st.floats(0, 5), min_size=1, max_size=9), st.data())
def test_the_best_schedule_is_the_best_of_all_compositions(entropy: list[float], data: st.DataObject) -> None:
    """On any curve, also one that noise makes rise."""
    curve = InformationCurve(np.array(entropy))
    steps = data.draw(st.integers(1, len(entropy)))
    best = curve.best_schedule(steps)
    every = [curve.schedule(counts).divergence for counts in compositions(len(entropy), steps)]
    assert best.divergence == pytest.approx(min(every), abs=1e-9) and len(best.counts) == steps
    assert sum(best.counts) == len(entropy) and best == curve.schedule(best.counts)


def test_more_steps_are_never_worse_and_a_drawn_curve_is_that_of_its_seed() -> None:
    found = [best_schedule(random_chain(3, 3), 9, steps) for steps in range(1, 10)]
    assert (np.diff([one.divergence for one in found]) < 0).all()
    assert found[-1].divergence == found[-1].error == 0 and found[-1].counts == (1,) * 9
    assert "KL(p || q) 0.000 nats" in repr(found[-1])
    assert contraction(random_chain(0, 1)) == 0 and contraction(random_chain(0, 3, holes=0.9)) == 1
    options: Any = {"contexts": [[0], [1]], "draws": 3}
    one, again = (information_curve(WORLD, 12, rng=np.random.default_rng(1), **options) for _ in range(2))
    assert one.draws is not None and again.draws is not None and one.draws.shape == (2, 3, 12)
    assert np.array_equal(one.draws, again.draws) and "2 contexts, 3 texts each" in repr(one)
    assert one.best_schedule(4).error > 0 and "standard error" in repr(one.best_schedule(4))
