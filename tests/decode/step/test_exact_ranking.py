"""The decoder's order against exact arithmetic: fractions for logits and gaps, balls for exponentials, no rounding."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from exact_ranks import ball, compared, exact_gaps, exact_order, exact_top, log_odds_ball
from grouped import grouped
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_decode import RWS, CallablePredictor, CallableReward, Confidence, Savings, Strategy, Temperature, decode
from rws_decode.canvas.schedule import block_plan
from rws_decode.extra.compact.choice import choose
from rws_decode.extra.compact.row_statistics import RELATIVE, log_f_error, row_statistics
from rws_decode.extra.savings import certain, certain_from
from rws_decode.extra.testing.strategies import mask_predictors, shapes
from rws_decode.settings import Precision
from rws_decode.step.rounding import exact_at_the_cut
from rws_decode.step.select import rank_values, select_top
from rws_theory import crossings, testing

pytestmark = pytest.mark.filterwarnings("error")

Floats = NDArray[np.float64]
Case = tuple[Floats, int, float, float]
EPS = {name: torch.finfo(getattr(torch, name)).eps for name in ("float64", "float32", "bfloat16")}


def documented(precision: str, lead: float, words: int) -> float:
    """The error of log-odds by `rank_values`; lead: that of the token over the next, times the factor."""
    return 4 * EPS[precision] * (abs(lead) + math.log(words))


def places(count: int) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Row and position of `count` positions of one row, and the grid of those that compete: all."""
    return (torch.zeros(count, dtype=torch.int64), torch.arange(count)), torch.ones(1, count, dtype=torch.bool)


@pytest.mark.parametrize("precision", EPS)
@settings(deadline=None)
@given(testing.wide_logits(2, 6), testing.wide_scales(1e-6, 1e6), st.integers(0, 5))
def test_log_odds_are_within_the_documented_error(precision: Precision, x: Floats, c: float, index: int) -> None:
    dtype = getattr(torch, precision)
    logits = torch.tensor(np.clip(x, -1e30, 1e30) if dtype != torch.float64 else x)[None].to(dtype)
    row = logits[0].double().tolist()
    token = index % len(row)
    assume(row[token] > -np.inf)
    value = rank_values(logits, torch.tensor([token]), c, "log-odds", precision).item()
    gaps = exact_gaps(row, token)
    if not gaps:
        assert value == np.inf
        return
    lead = abs(float(min(gaps))) * c
    if lead > float(torch.finfo(dtype).max) / 4:
        return
    exact = log_odds_ball(gaps, Fraction(c))
    assert abs(ball(Fraction(value)) - exact) < documented(precision, lead, len(row)) + 1e-320


@given(testing.near_ties())
@example((np.array([[5.0, 1.0, 0.0], [5.0, 1.0, -1.0]]), 1, 64.0))
@example((np.array([[0.0, -0.0, -2.0], [0.0, 0.0, 0.0], [0.0, -0.0, -2.0], [-0.0, 0.0, -2.0]]), 1, 1.0))  # signed zeros
def test_what_is_chosen_is_the_exact_top_with_exact_ties_leftmost(case: tuple[Floats, int, float]) -> None:
    z, k, c = case
    logits, (coordinates, everywhere) = torch.tensor(z), places(len(z))
    values = rank_values(logits, logits.argmax(-1), c)[None]
    scale = torch.full((len(z),), c, dtype=torch.float64)
    settled = exact_at_the_cut(values, logits, scale, coordinates, everywhere, ~everywhere, k)
    chosen, ties = select_top(settled, everywhere, k)
    assert (set(chosen[0].nonzero()[:, 0].tolist()), int(ties)) == exact_top(z.tolist(), k, Fraction(c))


def misplaced(z: Floats, chosen: torch.Tensor, c: float, error: Callable[[float], float]) -> list[tuple[int, int]]:
    """Pairs of a position left out and one chosen of which the former leads by more than both errors."""
    gaps = [exact_gaps(row) for row in z.tolist()]
    odds = [log_odds_ball(u, Fraction(c)) if u else None for u in gaps]
    pairs = []
    for out, into in itertools.product((~chosen).nonzero()[:, 0].tolist(), chosen.nonzero()[:, 0].tolist()):
        if compared(gaps[out], gaps[into], Fraction(c)) > 0:
            odds_out, odds_in = odds[out], odds[into]
            if (
                odds_out is None
                or odds_in is None
                or odds_out - odds_in > error(float(odds_out.mid())) + error(float(odds_in.mid()))
            ):
                pairs.append((out, into))
    return pairs


@given(testing.near_ties(wide=False), st.sampled_from(["float64", "float32"]))
def test_compact_choice_is_exact_up_to_the_stated_error(case: tuple[Floats, int, float], precision: str) -> None:
    z, k, c = case
    assume(k > 0)
    logits = torch.tensor(z).to(getattr(torch, precision))
    z = logits.double().numpy()
    statistics = row_statistics(logits, torch.tensor([c], dtype=torch.float64))
    log_f = statistics.log_f.float().T
    factor, error = torch.tensor([c], dtype=torch.float64), torch.zeros(1, len(z), dtype=torch.float64)
    choice = choose(logits[None], statistics.token[None], log_f, factor, error, k)
    chosen, (best, level) = choice.chosen[0], exact_top(z.tolist(), k, Fraction(c))
    assert int(chosen.sum()) == k
    if bool(choice.inexact[0]):
        assert misplaced(z, chosen, c, lambda odds: float(log_f_error(torch.tensor(odds)))) == []
        return
    settled = set(chosen.nonzero()[:, 0].tolist())
    words = z.shape[1]  # a lead exceeds its log-odds by log V at most
    assert misplaced(z, chosen, c, lambda odds: documented("float64", abs(odds) + math.log(words), words)) == []
    if settled != best or int(choice.ties[0]) != level:
        assert int(choice.near_ties[0]) > 0  # what float64 cannot tell apart is said to be near


@given(testing.selection_cases(), st.sampled_from([0.0, 1e-9, 1e-3, 0.2]), st.integers(0, 2**32))
def test_a_certain_set_is_the_exact_top_at_every_factor(case: Case, error: float, seed: int) -> None:
    z, k, low, high = case
    logits, (coordinates, everywhere) = torch.tensor(z), places(len(z))
    errors = torch.full((len(z),), error, dtype=torch.float64)
    token = logits.argmax(-1)
    if not bool(certain(logits, token, *coordinates, everywhere, torch.tensor([k]), low, high, errors)):
        return
    rng = np.random.default_rng(seed)
    inner = [float(min(max(low * (high / low) ** t, low), high)) for t in rng.uniform(0, 1, 3)]
    roots = [c.root for a, b in itertools.combinations(z, 2) for c in crossings(a, b).crossings if low < c.root < high]
    gaps = [exact_gaps(row, int(t)) for row, t in zip(z.tolist(), token, strict=True)]
    sets = {frozenset(exact_order(gaps, Fraction(c))[:k]) for c in [low, high, *inner, *roots[:6]]}
    moved = z + rng.uniform(-error, error, size=z.shape) if error else z
    others = [exact_gaps(row, int(t)) for row, t in zip(moved.tolist(), token, strict=True)]
    sets |= {frozenset(exact_order(others, Fraction(c))[:k]) for c in (low, high, inner[0])}
    assert len(sets) == 1


@given(testing.selection_cases(), st.sampled_from([2, 9]), st.sampled_from(["float64", "float32"]))
def test_a_set_that_known_curves_make_certain_is_the_exact_top(case: Case, count: int, precision: str) -> None:
    z, k, low, high = case
    assume(low < high)
    logits = torch.tensor(z).to(getattr(torch, precision))
    scales = torch.from_numpy(np.geomspace(low, high, count))
    statistics = row_statistics(logits, scales, slopes=True)
    assert statistics.slope is not None
    if not bool(certain_from(statistics.log_f[None], statistics.slope[None], scales, k, RELATIVE)):
        return
    gaps = [exact_gaps(row) for row in logits.double().tolist()]
    roots = [c.root for a, b in itertools.combinations(logits.double().numpy(), 2) for c in crossings(a, b).crossings]
    inner = [c for c in roots if low < c < high][:6]
    assert len({frozenset(exact_order(gaps, Fraction(c))[:k]) for c in [*scales.tolist(), *inner]}) == 1


Scale = Callable[[Sequence[int]], Any]  # from the completion to the factor: a rational, or a ball of so many bits


def exact_decode(
    predictor: CallablePredictor, scale: Scale, length: int, steps: int, block: int
) -> tuple[list[int], list[int], list[int]]:
    """Decode in exact arithmetic from the model's float logits: tokens, commit steps, ties at each step's cut."""
    canvas, commit_step, ties = [predictor.mask_id] * length, [-1] * length, []
    start, step = 0, 0
    per_block = steps // (length // block)
    while start < length:
        sizes = [block // per_block + (number < block % per_block) for number in range(per_block)]
        for size in sizes:
            rows = predictor.logits(torch.tensor([canvas]), None)[0].tolist()
            masked = [position for position in range(length) if canvas[position] == predictor.mask_id]
            best = {
                position: max(range(len(rows[position])), key=lambda t, p=position: (rows[p][t], -t))
                for position in masked
            }
            factor = scale([best.get(position, token) for position, token in enumerate(canvas)])
            here = [position for position in masked if start <= position < start + block]
            chosen, level = exact_top([rows[position] for position in here], size, factor)
            ties.append(level)
            for position in (here[index] for index in chosen):
                canvas[position], commit_step[position] = best[position], step
            step += 1
        start += block
    return canvas, commit_step, ties


def reward_of(seed: int) -> Callable[[Sequence[int]], int]:
    return lambda tokens: (seed // 7 + sum((index + 3) * (token + 1) ** 3 for index, token in enumerate(tokens))) % 17


def rws_scale(seed: int, reward_scale: float, mean: float, std: float, eps: float = 1e-5) -> Scale:
    """The factor of RWS, s_R sqrt(sigmoid((R - mean) / std) + eps), to any number of bits."""

    def scale(tokens: Sequence[int]) -> Callable[[int], Any]:
        r = (Fraction(reward_of(seed)(tokens)) - Fraction(mean)) / Fraction(std)
        return lambda bits: ball(Fraction(reward_scale)) * (1 / (1 + (-ball(r)).exp()) + ball(Fraction(eps))).sqrt()

    return scale


@st.composite
def decodes(draw: st.DrawFn) -> tuple[CallablePredictor, dict[str, int], Strategy, Scale, int]:
    """A model, a plan, temperature or RWS, the exact factor, and the seed of the reward."""
    predictor, length = draw(mask_predictors())
    plan = draw(shapes(length))
    shape = {"length": plan.length, "steps": plan.steps, "block": plan.block}
    seed = draw(st.integers(0, 1000))
    if draw(st.booleans()):
        c = draw(testing.log_uniform(1e-3, 1e3) | st.sampled_from([1.0, 2.0, 8.0, 0.1]))
        strategy: Strategy = Confidence() if c == 1 else Temperature(c)
        return predictor, shape, strategy, lambda tokens: Fraction(c), seed
    reward_scale = draw(testing.reward_scales())
    return predictor, shape, RWS(reward_scale), rws_scale(seed, reward_scale, 7.25, 5.5), seed


@settings(deadline=None)
@given(decodes(), st.booleans())
def test_whole_decodes_are_those_of_exact_arithmetic(
    case: tuple[CallablePredictor, dict[str, int], Strategy, Scale, int], certain_: bool
) -> None:
    predictor, shape, strategy, scale, seed = case
    reward = CallableReward(
        lambda prompt, answer: float(reward_of(seed)([int(word) for word in answer.split()])), mean=7.25, std=5.5
    )
    savings = Savings(certain=certain_)
    (trace,) = decode(predictor, [[]], strategy, reward=reward, savings=savings, **grouped(**shape))
    tokens, commit_step, ties = exact_decode(predictor, scale, **shape)
    assert [len(set(commit_step)), commit_step.count(0)] == [shape["steps"], block_plan(**shape)[0].commits]
    assert trace.tokens.tolist() == tokens
    assert trace.commit_step.tolist() == commit_step
    assert trace.ties.tolist() == ties
