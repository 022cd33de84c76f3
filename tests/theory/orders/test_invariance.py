"""The exact law of decoding: the model's own under every order of sampled tokens, and where it is not."""

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from rws_theory import output_law, parallel_distances
from rws_theory.orders import invariance, table_conditionals, table_law, total_variation
from rws_theory.orders.invariance import Canvas, Law, Order, Rows
from rws_theory.testing import canvases
from rws_theory.worlds import JointTable, constant_rule, decode_masked

SHAPES = [(1, 2), (2, 2), (2, 3), (3, 2), (3, 3), (4, 2)]


@st.composite
def tables(draw: st.DrawFn, least: int = 0) -> np.ndarray:
    """Whole weights of a joint table; with `least` 0 some sequences are impossible."""
    length, words = draw(st.sampled_from(SHAPES))
    count = words**length
    weights = draw(st.lists(st.integers(least, 9), min_size=count, max_size=count).filter(any))
    return np.array(weights).reshape((words,) * length)


def scrambled(seed: int) -> Order:
    """An adaptive order that nothing in the model explains: the ranking is drawn anew for each canvas."""

    def order(canvas: Canvas, rows: Rows) -> list[int]:
        return random.Random(f"{seed} {canvas}").sample(list(rows), len(rows))

    return order


ORDERS = st.one_of(st.integers(0, 10**6).map(scrambled), st.sampled_from([0.1, 1.0, 7.0]).map(invariance.by_confidence))


def share(table: np.ndarray, canvas: Canvas) -> Fraction:
    return Fraction(int(np.sum(table[tuple(slice(None) if token < 0 else token for token in canvas)])))


def replayed(table: np.ndarray, order: Order, per_step: int, tokens: Canvas) -> tuple[Fraction, float]:
    """Follow the one path that can write `tokens`: its probability, and its conditional total correlations, nats."""
    canvas, probability, correlation = (-1,) * table.ndim, Fraction(1), 0.0
    rows = table_conditionals(table)
    while -1 in canvas and share(table, canvas):
        chosen = list(order(canvas, rows(canvas) or {}))[:per_step]
        shown = tuple(tokens[i] if i in chosen else token for i, token in enumerate(canvas))
        alone = Fraction(1)
        for i in chosen:
            alone *= share(table, (*canvas[:i], tokens[i], *canvas[i + 1 :])) / share(table, canvas)
        together = share(table, shown) / share(table, canvas)
        correlation += math.log(together / alone) if together else 0.0
        probability, canvas = probability * alone, shown
    return probability, correlation


@given(tables(), ORDERS)
def test_every_order_of_sampled_tokens_gives_the_model_s_own_law(table: np.ndarray, order: Order) -> None:
    assert output_law(table_conditionals(table), table.ndim, order) == table_law(table)


@given(tables(), ORDERS, st.integers(1, 4))
def test_impossible_canvases_hold_the_rest(table: np.ndarray, order: Order, per_step: int) -> None:
    law = output_law(table_conditionals(table), table.ndim, order, per_step=per_step)
    assert sum(law.values()) == 1
    for canvas, probability in law.items():
        assert probability > 0 and (-1 not in canvas or share(table, canvas) == 0)
    p = table_law(table)
    assert all(law.get(x, 0) == replayed(table, order, per_step, x)[0] for x in p)
    assert total_variation(law, p) == sum((max(p[x] - law.get(x, 0), Fraction(0)) for x in p), Fraction(0))


@given(tables(), ORDERS, st.integers(2, 4))
def test_divergence_is_the_total_correlation_of_the_steps(table: np.ndarray, order: Order, per_step: int) -> None:
    law, p = output_law(table_conditionals(table), table.ndim, order, per_step=per_step), table_law(table)
    divergence = sum(float(p[x]) * math.log(p[x] / law[x]) for x in p)
    correlation = sum(float(p[x]) * replayed(table, order, per_step, x)[1] for x in p)
    assert divergence == pytest.approx(correlation, abs=1e-12)
    assert float(total_variation(law, p)) ** 2 <= divergence / 2 + 1e-12  # Pinsker


@given(tables(), ORDERS)
def test_argmax_writes_one_text(table: np.ndarray, order: Order) -> None:
    law = output_law(table_conditionals(table), table.ndim, order, commit="argmax")
    ((tokens, probability),) = law.items()
    assert probability == 1 and total_variation(law, table_law(table)) == 1 - table_law(table).get(tokens, 0)


@given(tables(least=1), st.sampled_from([0.5, 1.0, 4.0]), st.integers(1, 3))
def test_argmax_by_confidence_is_the_reference_decoder(table: np.ndarray, scale: float, per_step: int) -> None:
    # The decoder computes in float64, where two confidences that tie may differ: such tables are left out by weights.
    table = table * 1000 + np.arange(table.size).reshape(table.shape) ** 2
    law = output_law(
        table_conditionals(table), table.ndim, invariance.by_confidence(scale), per_step=per_step, commit="argmax"
    )
    decode = decode_masked(JointTable(np.log(table)), constant_rule(scale), per_step=per_step)
    assert law == {tuple(decode.tokens.tolist()): 1}


@given(st.data())
def test_conditionals_are_those_of_the_joint_table(data: st.DataObject) -> None:
    table = data.draw(tables(least=1))
    canvas = data.draw(canvases(table.shape[0], table.ndim))
    rows = table_conditionals(table)(tuple(canvas))
    expected = np.exp(JointTable(np.log(table)).conditionals(canvas))
    assert rows is not None and list(rows) == [i for i, token in enumerate(canvas) if token == -1]
    for i, row in rows.items():
        assert [float(p) for p in row] == pytest.approx(expected[i], abs=1e-12)


@given(tables(), ORDERS)
def test_no_table_loses_more_than_groups_of_equal_tokens(table: np.ndarray, order: Order) -> None:
    for k, distance in enumerate(parallel_distances(table, order), start=1):
        assert distance <= 1 - Fraction(1, len(table) ** (table.ndim - math.ceil(table.ndim / k)))


@given(tables(least=1))
def test_ranking_by_the_draw_keeps_likely_tokens_too_often(table: np.ndarray) -> None:
    law, p = invariance.drawn_first_law(table_conditionals(table), table.ndim), table_law(table)
    assert sum(law.values()) == 1
    if table.ndim == 1:
        assert law == p
    if len({*p.values()}) == 1:
        assert law == p  # independent uniform tokens: all draws are equally likely, so the leftmost goes
    if table.ndim == 2:
        assert law == two_drawn_first(p, table)


def two_drawn_first(p: Law, table: np.ndarray) -> Law:
    """By hand for two positions: both draw; the likelier draw stays; the other is drawn again given it."""
    rows = table_conditionals(table)((-1, -1)) or {}
    law = dict.fromkeys(p, Fraction(0))
    for a, b in itertools.product(range(table.shape[0]), repeat=2):
        drawn = rows[0][a] * rows[1][b]
        for x in p:
            if rows[0][a] >= rows[1][b]:
                law[x] += drawn * p[x] / rows[0][a] if x[0] == a else 0
            else:
                law[x] += drawn * p[x] / rows[1][b] if x[1] == b else 0
    return law


@st.composite
def free_rows(draw: st.DrawFn) -> tuple[int, int, dict[Canvas, Rows]]:
    """Positive rows for every canvas, that fit no joint law but by accident."""
    length, words = draw(st.sampled_from([(2, 2), (2, 3), (3, 2)]))
    parts = st.lists(st.integers(1, 4), min_size=words, max_size=words)
    rows: dict[Canvas, Rows] = {}
    for canvas in itertools.product(range(-1, words), repeat=length):
        drawn = {i: draw(parts) for i, token in enumerate(canvas) if token < 0}
        rows[canvas] = {i: tuple(Fraction(n, sum(row)) for n in row) for i, row in drawn.items()}
    return length, words, rows


@settings(max_examples=examples(300))
@given(free_rows())
def test_orders_agree_exactly_where_every_exchange_does(case: tuple[int, int, dict[Canvas, Rows]]) -> None:
    length, _, rows = case
    laws = [
        output_law(rows.get, length, lambda canvas, rows, rank=rank: sorted(rows, key=rank.__getitem__))
        for rank in itertools.permutations(range(length))
    ]
    pairs = ((c, *two) for c in rows for two in itertools.combinations([i for i in range(length) if c[i] < 0], 2))
    assert (max(invariance.exchange_distance(rows.get, *pair) for pair in pairs) == 0) == all(
        law == laws[0] for law in laws
    )


@given(tables(least=1), free_rows(), ORDERS)
def test_rows_near_laws_lose_little(table: np.ndarray, case: tuple[int, int, dict[Canvas, Rows]], order: Order) -> None:
    length, words, rows = case
    if table.shape != (words,) * length:
        table = np.arange(1, words**length + 1).reshape((words,) * length)
    exact, p = table_conditionals(table), table_law(table)

    def mixed(canvas: Canvas) -> Rows:
        pairs = {i: zip(row, rows[canvas][i], strict=True) for i, row in (exact(canvas) or {}).items()}
        return {i: tuple((9 * x + y) / 10 for x, y in pair) for i, pair in pairs.items()}

    law = output_law(mixed, length, order)
    divergence = sum(float(p[x]) * math.log(p[x] / law[x]) for x in p)
    steps = 0.0
    for x in p:  # the mean, under p, of the divergence of each row that is used
        canvas = (-1,) * length
        while -1 in canvas:
            i = next(iter(order(canvas, mixed(canvas))))
            pairs: Any = zip((exact(canvas) or {})[i], mixed(canvas)[i], strict=True)
            steps += float(p[x]) * sum(float(a) * math.log(a / b) for a, b in pairs)
            canvas = (*canvas[:i], x[i], *canvas[i + 1 :])
    assert divergence == pytest.approx(steps, abs=1e-12)
