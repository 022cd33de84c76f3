"""The probability of a decode's path: invariant for exact conditionals, one token a step; else it depends on order."""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from documented_commands import page, snippets
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiny_models import bert_predictor

import rws_decode as rws
from rws_decode import CallablePredictor, Options, Shape, decode, exchange_distance, path_diagnostics, path_frame
from rws_decode.extra.testing import exact_predictor
from rws_theory.orders import exchange_distance as enumerated
from rws_theory.orders.invariance import Canvas, Rows
from rws_theory.testing import random_table


@settings(max_examples=5)
@given(st.integers(0, 10**6))
def test_exact_conditionals_give_every_order_the_same_sum(seed: int) -> None:
    table = random_table(seed, 4, 3)
    predictor = exact_predictor(table)
    options = Options(sampling_temperature=1.0, seed=seed)
    for order in ("left-to-right", "default", rws.RandomOrder(seed)):
        (trace,) = decode(predictor, [[]], order, Shape(4, 4, 4), options=options)
        path = path_diagnostics(trace, predictor)
        assert path.total == pytest.approx(table.log_prob(trace.tokens.tolist()), abs=1e-9)
        first = table.conditionals([-1] * 4)
        entropy = -float(np.where(first > -np.inf, np.exp(first) * first, 0.0).sum())
        assert path.entropy_left[0] == pytest.approx(entropy, abs=1e-9)


@given(st.integers(0, 10**6), st.integers(0, 2), st.integers(0, 2))
def test_a_swap_of_two_commits_costs_nothing_where_conditionals_are_exact(seed: int, a: int, b: int) -> None:
    predictor = exact_predictor(random_table(seed, 4, 3))
    mask = predictor.mask_id
    assert rws.circulation(predictor, [mask, 1, mask, mask], (0, a), (3, b)) == pytest.approx(0, abs=1e-9)


def test_several_runs_are_one_frame_beside_those_of_their_traces() -> None:
    predictor = bert_predictor()
    decoding = decode(predictor, ["the cat", "a dog ran"], "lookum:3", Shape(8, 4, 8))
    frame, prompts = path_frame(decoding, predictor), decoding.to_frame()
    assert set(frame["strategy"]) == {"lookum:3"} and frame.groupby("prompt")["tokens"].sum().tolist() == [8, 8]
    for number, trace in enumerate(decoding):
        path = path_diagnostics(trace, predictor)
        own = frame[frame["prompt"] == number].reset_index(drop=True)
        assert own.drop(columns=["prompt", "strategy"]).equals(path.to_frame())
        merged = trace.to_frame().query("committed").merge(own, on="step")
        assert len(merged) == 8 and (merged.groupby("step").size() == merged.groupby("step")["tokens"].first()).all()
        # What a strategy looked at is in the forwards, here as in the table of prompts.
        assert trace.forwards > trace.steps_run
        assert path.tokens_per_forward == prompts["tokens_per_forward"][number] == 8 / trace.forwards


def test_the_page_runs_and_names_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    pages = ("likelihood", "sampling-distributions", "headroom")
    for code in [code for name in pages for code in snippets(f"docs/{name}.md")]:
        small = code.replace("[:40]", "[:3]").replace("Shape(8, 4, 8)", "Shape(4, 2, 4)")
        small = small.replace(', "best-order:64", "best-of:8"', "")
        small = re.sub('"english:era", .*"antibody:human"', '"english:era",', small).replace("data, 64", "data, 2")
        exec(compile(small, "docs", "exec"), names)
    assert re.findall(r"^\| `(\w+)` \|", page("docs/likelihood.md"), flags=re.MULTILINE) == list(names["steps"].columns)
    assert len(names["words"]) == 12 and "tokens_per_forward" in capsys.readouterr().out


WORDS, LENGTH, MASK = 3, 3, 3


def weights(seed: int, canvas: tuple[int, ...], position: int) -> np.ndarray:
    digits = [token % 4 for token in canvas]
    return np.random.default_rng([seed, position, *digits]).integers(0, 6, WORDS) + np.eye(WORDS, dtype=int)[0]


def of_no_law(seed: int) -> CallablePredictor:
    def logits(canvas: torch.Tensor) -> torch.Tensor:
        rows = [[weights(seed, tuple(row), i) for i in range(LENGTH)] for row in canvas.tolist()]
        return torch.log(torch.tensor(np.array(rows), dtype=torch.float64))

    return CallablePredictor(logits, mask_id=MASK)


def fractions(seed: int, canvas: Canvas) -> Rows:
    ids = tuple(MASK if token < 0 else token for token in canvas)
    rows = {i: weights(seed, ids, i).tolist() for i, token in enumerate(canvas) if token < 0}
    return {i: [Fraction(w, sum(row)) for w in row] for i, row in rows.items()}


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.4]))
@example(321, 0.0)  # a token is impossible before a commit and possible after it
def test_the_bounds_hold_the_enumerated_distance(seed: int, left_out: float) -> None:
    for token in (MASK, 1):
        lower, upper = exchange_distance(of_no_law(seed), [MASK, token, MASK], 0, 2, left_out)
        exact = enumerated(lambda canvas: fractions(seed, canvas), (-1, -1 if token == MASK else token, -1), 0, 2)
        assert lower - 1e-12 <= exact <= upper + 1e-12
        assert upper - lower <= 2 * left_out + 1e-12
