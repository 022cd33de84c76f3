"""The laws of absorbing, editing and uniform samplers: against the world, a seeded simulation, and docs/theory.md."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from rws_theory.testing import random_chain, random_table
from rws_theory.worlds import JointTable, constant_rule, divergence, process_law, processes, rws_rule, table_reward
from rws_theory.worlds.processes import Absorbing, Editing, Uniform

TABLE = random_table(1, 3, 3)
PAGE = (Path(__file__).parents[3] / "docs/theory.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+\(.*\))` \| (.*) \|$", PAGE, re.MULTILINE)
assert ROWS, "section 23 of docs/theory.md has a table"


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["confidence", "random"]), st.floats(0.1, 10), st.integers(1, 3))
def test_a_law_sums_to_one_and_one_word_a_step_is_the_worlds(seed: int, order: str, factor: float, steps: int) -> None:
    world = random_table(seed, 3, 2)
    law = process_law(Absorbing(steps, order), world, constant_rule(factor))
    sizes = [
        process_law(process, world, constant_rule(factor)) for process in (Editing(steps, after=1), Uniform(steps))
    ]
    assert all(np.exp(each.log_p).sum() == pytest.approx(1) for each in (law, *sizes))
    if steps == world.length:
        np.testing.assert_allclose(np.exp(law.log_p), np.exp(world.log_p), atol=1e-12)
    assert divergence(law, world) >= -1e-12


def test_together_words_are_independent_and_random_orders_are_their_mixture() -> None:
    marginals = np.exp(TABLE.conditionals([-1, -1, -1]))
    law = np.exp(process_law(Absorbing(1), TABLE).log_p)
    np.testing.assert_allclose(law, np.einsum("a,b,c->abc", *marginals), atol=1e-12)
    mixture = np.zeros_like(law)  # two words of a random pair, then the third
    for alone, pair in ((0, "bc"), (1, "ac"), (2, "ab")):
        others = [marginals[i] for i in range(3) if i != alone]
        joint = np.exp(TABLE.log_p)
        conditional = joint / joint.sum(axis=alone, keepdims=True)
        mixture += np.einsum(f"{pair[0]},{pair[1]},abc->abc", *others, conditional) / 3
    np.testing.assert_allclose(np.exp(process_law(Absorbing(2, "random"), TABLE).log_p), mixture, atol=1e-12)


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["confidence", "random"]))
def test_drawn_edits_only_mend(seed: int, order: str) -> None:
    world = random_table(seed, 3, 2)
    away = [divergence(process_law(Editing(1, order, after=n, draws=True), world), world) for n in range(6)]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(away))
    assert away[0] == pytest.approx(divergence(process_law(Absorbing(1), world), world))


def test_the_published_edit_takes_a_better_word_above_its_threshold_alone() -> None:
    world = JointTable(np.log([[0.55, 0.02], [0.03, 0.40]]))  # two words that agree; together, they may not
    before = np.exp(process_law(Absorbing(1), world).log_p)
    edited = np.exp(process_law(Editing(1, after=1, threshold=0.9), world).log_p)
    np.testing.assert_allclose(edited, [[before[0, 0], before[1, 0]], [before[0, 1], before[1, 1]]])  # both give way
    np.testing.assert_allclose(np.exp(process_law(Editing(1, after=1, threshold=0.97), world).log_p), before)
    sharper = process_law(Editing(1, after=1, threshold=0.97), world, constant_rule(2.0))
    np.testing.assert_allclose(np.exp(sharper.log_p), edited)  # the factor counts


def simulate(world: JointTable, process: Uniform, scale: float, reward: Any, texts: int) -> np.ndarray:
    """Return how often each text comes, drawn by the obvious loop: the noise level by a sum over a fine grid."""
    rng = np.random.default_rng(0)
    n, v, p = world.length, world.vocabulary, np.exp(world.log_p)
    levels = (np.arange(100) + 0.5) / 100
    known: dict[tuple[int, ...], np.ndarray] = {}

    def logits(canvas: tuple[int, ...]) -> np.ndarray:
        if canvas not in known:
            marginal = np.zeros((n, v))
            for text in np.ndindex(p.shape):
                m = sum(a == b for a, b in zip(text, canvas, strict=True))
                weight = p[text] * ((levels + (1 - levels) / v) ** m * ((1 - levels) / v) ** (n - m)).mean()
                marginal[range(n), text] += weight
            known[canvas] = np.log(marginal / marginal.sum(axis=1, keepdims=True))
        return known[canvas]

    counts = np.zeros_like(p)
    for _ in range(texts):
        canvas = tuple(rng.integers(v, size=n))
        for left in range(process.steps, 0, -1):
            z = logits(canvas)
            r = reward(z.argmax(axis=1).tolist())
            temperature = process.t_min + (process.t_max - process.t_min) * left / process.steps
            q = softmax(scale * np.sqrt(1 / (1 + np.exp(-r)) + 1e-5) * z / temperature, axis=1)
            drawn = [int(rng.choice(v, p=row)) for row in q]
            spent, noisy = 0.0, rng.integers(v, size=n).tolist()
            for entropy, i in sorted((-(row @ np.log(row)), i) for i, row in enumerate(q)):
                if spent <= process.bound:
                    noisy[i] = drawn[i]
                spent += entropy
            canvas = tuple(noisy if left > 1 else drawn)
        counts[canvas] += 1
    return counts


def test_the_uniform_law_is_how_often_a_plain_loop_writes_each_text() -> None:
    process, texts = Uniform(3, bound=0.8, t_max=1.2, t_min=0.6, greedy=False), 1500
    reward = table_reward(TABLE, (np.indices(TABLE.log_p.shape) == 1).sum(axis=0))
    law = np.exp(process_law(process, TABLE, rws_rule(2.0), reward).log_p)
    counts = simulate(TABLE, process, 2.0, reward, texts)
    chi = ((counts - texts * law) ** 2 / (texts * law)).sum()
    assert chi < 26 + 5 * np.sqrt(2 * 26)  # 26 degrees of freedom
    plain = np.exp(process_law(process, TABLE).log_p)
    assert ((counts - texts * plain) ** 2 / (texts * plain)).sum() > 100  # the reward moves the words


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 10), st.floats(1, 3), st.floats(0, 2))
def test_a_larger_factor_accepts_no_fewer_words(seed: int, factor: float, times: float, bound: float) -> None:
    logits, canvas = np.random.default_rng(seed).normal(size=(5, 4)), np.zeros(5, dtype=np.int64)

    def accepted(process: Uniform, factor: float) -> int:
        ((_, rows),) = process.moves(canvas, logits, factor, 0)
        return int((rows[:, :4] != 0.25).any(axis=1).sum())

    assert accepted(Uniform(2, bound), factor) <= accepted(Uniform(2, bound), factor * times)
    cooler = Uniform(2, bound, t_max=1 / factor, t_min=1 / factor).moves(canvas, logits, 1.0, 0)
    np.testing.assert_allclose(cooler[0][1], Uniform(2, bound).moves(canvas, logits, factor, 0)[0][1])


@pytest.mark.parametrize(("call", "cells"), ROWS)
def test_the_table_of_the_page(call: str, cells: str) -> None:
    world = random_chain(0, 3).table(4)
    p = np.exp(world.log_p)
    reward = table_reward(world, (np.indices(p.shape) == 2).sum(axis=0))
    values = np.array([reward(text) for text in np.ndindex(p.shape)])
    process, found = eval(call, vars(processes)), []
    for rule, asked in ((constant_rule(1.0), None), (rws_rule(8.0), reward)):
        law = process_law(process, world, rule, asked)
        found += [divergence(law, world), float(np.exp(law.log_p).ravel() @ values)]
    np.testing.assert_allclose([float(cell) for cell in cells.split(" | ")], found, atol=0.0006)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Absorbing(0), "steps"),
        (lambda: Absorbing(1, "left"), "order"),
        (lambda: Editing(1, after=-1), "after"),
        (lambda: Editing(1, threshold=1.5), "threshold"),
        (lambda: Uniform(1, bound=-0.1), "bound"),
        (lambda: Uniform(1, t_max=0.4, t_min=0.8), "t_min"),
        (lambda: process_law(Absorbing(1), JointTable(np.array([[0.0, 0.0], [0.0, -np.inf]]))), "world"),
        (lambda: divergence(TABLE, random_table(0, 2, 2)), "law"),
    ],
)
def test_bad_input(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message} .*") as caught:
        make()
    assert "\n" not in str(caught.value)
