"""ReMDM, P2 and WINO, each against a plain loop over one row that does what its paper says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_rows import Row, Rule, slow_decode
from tiny_models import bert_predictor, llada_predictor

from rws_decode import P2, ReMDM, RevisingStrategy, Shape, Temperature, Trace, Wino
from rws_decode.decode import decode
from rws_decode.testing.exact import exact_predictor
from rws_theory.testing import random_table

LLADA, BERT = llada_predictor(), bert_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]


def remdm(eta: float, form: str, seed: int, length: int) -> Rule:
    def rule(row: Row) -> tuple[int, set[int]]:
        size = len(row.masked) + len(row.visible)
        a, b = len(row.visible) / size, (len(row.visible) + row.k) / size
        most = min(1.0, (1 - b) / a) if a else 1.0
        draws = np.random.default_rng((seed, row.step)).random(length)
        total = sum(math.exp(-row.then[i]) for i in row.visible)
        sigma = {
            i: {"cap": min(eta, most), "rescale": eta * most}.get(form, eta * most * math.exp(-row.then[i]) / total)
            for i in row.visible
        }
        again = sorted((i for i in row.visible if draws[i] < sigma[i]), key=lambda i: draws[i])
        again = again[: len(row.masked) - row.k]
        return row.k + len(again), set(again)

    return rule


def p2(eta: float, evidence: str) -> Rule:
    def rule(row: Row) -> tuple[int, set[int]]:
        seen = {i: p if evidence == "visible" else row.left_out(i) for i, p in row.visible.items()}
        scores = {i: eta * math.log(p) for i, p in seen.items()} | {i: math.log(p) for i, p in row.masked.items()}
        kept = sorted(scores, key=lambda i: -scores[i])[: len(seen) + row.k]
        return sum(i in row.masked for i in kept), set(seen) - set(kept)

    return rule


def wino(low: float, high: float) -> Rule:
    def rule(row: Row) -> tuple[int, set[int]]:
        most = min(max(int(len(row.masked) * 0.7), 5), 20)
        accepted = min(max(sum(p >= low for p in row.masked.values()), 1), most, len(row.masked))
        last = sum(row.when[i] == row.step - 1 for i in row.visible)
        if accepted == 1 or last < 2:
            return accepted, set()
        seen = {i: row.left_out(i) for i in row.visible}
        fails = sorted((i for i, p in seen.items() if p < high), key=lambda i: seen[i])
        return accepted, set(fails[: last - 1] if len(fails) >= last else fails)

    return rule


CASES: list[tuple[Any, Callable[[int], Rule], tuple[int, int, int]]] = [
    *((ReMDM(eta, "cap", 5), lambda n, e=eta: remdm(e, "cap", 5, n), (12, 6, 12)) for eta in (0.2, 1.0)),
    (ReMDM(0.7, "rescale", 1), lambda n: remdm(0.7, "rescale", 1, n), (12, 12, 6)),
    (ReMDM(1.0, "confidence", 2), lambda n: remdm(1.0, "confidence", 2, n), (12, 6, 12)),
    *((P2(eta), lambda n, e=eta: p2(e, "visible"), (12, 6, 12)) for eta in (0.3, 1.0, 3.0)),
    (P2(1.0, "left-out"), lambda n: p2(1.0, "left-out"), (12, 6, 12)),
    (P2(0.5, "left-out"), lambda n: p2(0.5, "left-out"), (12, 4, 6)),
    (Wino(0.3, 0.5), lambda n: wino(0.3, 0.5), (12, 12, 12)),
    (Wino(0.2, 0.9), lambda n: wino(0.2, 0.9), (16, 16, 8)),
    (Wino(0.05, 0.3), lambda n: wino(0.05, 0.3), (12, 6, 6)),
]


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize(
    ("strategy", "rule", "size"),
    CASES,
    ids=[str(strategy) for strategy, _, _ in CASES],
)
def test_a_sampler_is_its_slow_loop(
    strategy: Any, rule: Callable[[int], Rule], size: tuple[int, int, int], scale: float
) -> None:
    assert isinstance(strategy, RevisingStrategy)
    shape, scaled = Shape(*size), replace(strategy, scaled=Temperature(scale))
    together = decode(LLADA, PROMPTS, scaled, shape)
    for prompt, trace in zip(PROMPTS, together, strict=True):
        slow = slow_decode(LLADA, LLADA.encode_prompt(prompt), shape, rule(shape.length), scale)
        assert trace.canvas.tolist() == slow.canvases and trace.tokens.tolist() == slow.tokens
        assert trace.forwards == slow.forwards and trace.steps_run <= shape.steps
        (alone,) = decode(LLADA, prompt, scaled, shape)
        assert np.array_equal(alone.canvas, trace.canvas)


def test_the_cases_above_mask_tokens_again() -> None:
    revisions = [sum(t.revisions for t in decode(LLADA, PROMPTS, rule, Shape(*size))) for rule, _, size in CASES]
    assert sum(number > 0 for number in revisions) >= 9, revisions


def runs(strategy: Any) -> list[Trace]:
    """Decode small exact worlds."""
    return [decode(exact_predictor(random_table(seed, 5, 3)), [[]], strategy, Shape(5, 5, 5))[0] for seed in range(6)]


@pytest.mark.parametrize("strategy", [ReMDM(0.0), ReMDM(0.0, "rescale"), P2(0.0), P2(1.0), P2(5.0)], ids=str)
def test_without_a_revision_it_is_the_default(strategy: Any) -> None:
    """P2's visible evidence is 0 nats in an exact world: the token is given."""
    for revising, default in zip(runs(strategy), runs("default"), strict=True):
        assert revising.revisions == 0
        mine, theirs = revising.arrays(), default.arrays()
        assert all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in mine if name != "near_ties")


def test_wino_is_threshold_where_nothing_fails() -> None:
    for revising, plain in zip(runs(Wino(0.4, 1e-12)), runs("threshold:0.4"), strict=True):
        assert revising.revisions == 0 and revising.tokens.tolist() == plain.tokens.tolist()
        assert revising.commit_step.tolist() == plain.commit_step.tolist()


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.999), st.sampled_from([6, 12]), st.sampled_from(PROMPTS))
def test_wino_ends_by_itself_within_a_step_for_each_token(low: float, high: float, block: int, prompt: str) -> None:
    (trace,) = decode(BERT, prompt, Wino(low, high), Shape(12, 12, block))
    assert trace.steps_run <= 12 and not (trace.tokens == BERT.mask_id).any()
    again, went = trace.masked_again.sum(axis=1), trace.chosen.sum(axis=1)
    assert (again[1:] < went[:-1]).all() and again[0] == 0
    assert not again[went == 1].any()


def test_a_seed_of_its_own_gives_each_row_its_draws() -> None:
    rule = ReMDM(0.5, seed=(3, 8))
    first, second = decode(BERT, ["the cat"] * 2, rule, Shape(12, 6, 12))
    assert not np.array_equal(first.canvas, second.canvas)
    (alone,) = decode(BERT, "the cat", ReMDM(0.5, seed=8), Shape(12, 6, 12))
    assert np.array_equal(alone.canvas, second.canvas)
