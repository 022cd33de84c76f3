"""Ranking values, selections, exact order at the cut, and the proof that no reward is needed, against slow versions."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from grouped import grouped
from hypothesis import example, given
from hypothesis import strategies as st
from tiny_models import fixed_predictor
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from rws_decode import CallablePredictor, MaskedPositions, Options, Shape, Temperature, load_predictor, scale_path
from rws_decode.decode import decode
from rws_decode.extra.savings import certain
from rws_decode.extra.testing.strategies import logit_tensors
from rws_decode.replay.replay import replay
from rws_decode.step.completion import greedy
from rws_decode.step.rounding import logit_error
from rws_decode.step.select import rank_rows, rank_values, select_top
from rws_theory import log_odds, selection_path, stability_radius

LEVELS = [-math.inf, -1.5, 0.0, 0.25, 1.0, math.inf]


def slow_select(values: list[float], candidates: list[bool], k: int) -> tuple[list[bool], int]:
    """Pick the largest remaining candidate k times, leftmost first; then count those level with the last one picked."""
    chosen = [False] * len(values)
    last = math.nan
    for _ in range(k):
        best = None
        for position, value in enumerate(values):
            open_ = candidates[position] and not chosen[position]
            if open_ and (best is None or value > values[best]):
                best = position
        assert best is not None
        chosen[best], last = True, values[best]
    level = [candidates[p] and not chosen[p] and values[p] == last for p in range(len(values))]
    return chosen, sum(level)


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[list[float]], list[list[bool]], list[int]]:
    rows, width = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    value = st.sampled_from(LEVELS) | st.floats(allow_nan=False, width=32)
    values = draw(st.lists(st.lists(value, min_size=width, max_size=width), min_size=rows, max_size=rows))
    candidates = draw(st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=rows, max_size=rows))
    return values, candidates, [draw(st.integers(0, sum(row))) for row in candidates]


@given(batches())
@example(([[0.0, -0.0, 0.0]], [[True, True, True]], [1]))
@example(([[-math.inf, 3.0, -math.inf]], [[True, False, True]], [2]))
@example(([[1.0, 1.0]], [[True, True]], [0]))
def test_select_top_is_the_slow_selection(batch: tuple[list[list[float]], list[list[bool]], list[int]]) -> None:
    values, candidates, ks = batch
    chosen, ties = select_top(torch.tensor(values, dtype=torch.float64), torch.tensor(candidates), torch.tensor(ks))
    expected = [slow_select(*row) for row in zip(values, candidates, ks, strict=True)]
    assert chosen.tolist() == [row for row, _ in expected]
    assert ties.tolist() == [count for _, count in expected]


@pytest.mark.parametrize("width", [17, 300])
def test_among_many_equal_values_the_leftmost_go_first_too(width: int) -> None:
    """Longer rows than those that any sort leaves in order."""
    values = [[float(p % 3 == 1) for p in range(width)], [0.0] * width]
    candidates = [[p % 4 != 0 for p in range(width)]] * 2
    ks = [width // 2, width // 5]
    chosen, ties = select_top(torch.tensor(values), torch.tensor(candidates), torch.tensor(ks))
    expected = [slow_select(*row) for row in zip(values, candidates, ks, strict=True)]
    assert chosen.tolist() == [row for row, _ in expected] and ties.tolist() == [count for _, count in expected]


def random_logits(rows: int, vocabulary: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    logits = torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed)) * 3
    return logits, logits.argmax(-1)


@pytest.mark.parametrize("precision", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("factor", [0.1, 1.0, 2.37, 32.0])
def test_probability_is_what_public_decoders_compute(precision: str, factor: float) -> None:
    logits, best = random_logits(100, 30)
    scaled = logits.to(getattr(torch, precision)) * factor
    expected = torch.softmax(scaled, dim=-1)[torch.arange(100), best]
    assert torch.equal(rank_values(logits, best, factor, "probability", precision), expected.double())


@pytest.mark.parametrize("precision", ["bfloat16", "float32", "float64", "model"])
@pytest.mark.parametrize("factor", [0.1, 2.37, 32.0])
def test_log_odds_in_a_precision_are_computed_throughout_in_it(precision: str, factor: float) -> None:
    logits, best = random_logits(100, 30)
    logits = logits.bfloat16() if precision == "model" else logits
    rounded = logits.to(torch.bfloat16 if precision == "model" else getattr(torch, precision))
    expected = []
    for row, token in zip(rounded, best.tolist(), strict=True):
        others = torch.cat([row[:token], row[token + 1 :]]) - row[token]
        expected.append(-torch.logsumexp(others * factor, dim=-1).double())
    values = rank_values(logits, best, factor, "log-odds", precision)
    # Sums of bfloat16 are rounded once, whatever their order; others to the last digits.
    eps = 0.0 if rounded.dtype == torch.bfloat16 else 4 * torch.finfo(rounded.dtype).eps
    assert values.dtype == torch.float64
    np.testing.assert_allclose(values, torch.stack(expected), rtol=eps, atol=eps)


@pytest.mark.parametrize("factor", [0.0, -1.0, math.inf, math.nan])
def test_the_factor_must_be_positive(factor: float) -> None:
    with pytest.raises(ValueError, match=rf"^factor is {factor}:"):
        rank_values(torch.zeros(1, 3), torch.tensor([0]), factor)


def predictor_of(rows: list[list[float]]) -> CallablePredictor:
    return fixed_predictor(torch.tensor([[-np.inf, *row] for row in rows], dtype=torch.float64), decode=str)


@given(st.integers(0, 2**32), st.floats(0.01, 60.0), st.integers(2, 5), st.integers(2, 5), st.integers(1, 2))
def test_decoding_is_on_the_scale_path_however_coarse_the_logits(
    seed: int, scale: float, count: int, words: int, steps: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, size=(count, words)).astype(float).tolist()
    predictor, shape = predictor_of(rows), {"length": count, "steps": min(steps, count), "block": count}
    path = scale_path(predictor, [], 0.01, 60.0, **grouped(**shape))
    (trace,) = decode(predictor, [[]], Temperature(scale), **grouped(**shape))
    if all(not gap.lower * (1 - 1e-9) < scale < gap.upper * (1 + 1e-9) for gap in path.breakpoints):
        piece = path.at(scale)
        assert piece is not None and piece.commit_step == tuple(trace.commit_step.tolist())
    assert replay(trace).diverged_at is None


def test_guidance_amplifies_what_rounding_does() -> None:
    """Logits a little further apart than rounding: with guidance they are within it."""
    gap = 3 * logit_error(torch.tensor([[10.0]], dtype=torch.float32)).item()
    predictor, counted = fixed_predictor(torch.tensor([[-20.0, 10.0 + gap, 10.0]] * 2)), []
    for cfg in (0.0, 3.0):
        (trace,) = decode(predictor, [[1]], "default", Shape(1, 1, 1), options=Options(cfg=cfg))
        counted.append(trace.near_tokens.tolist())
    assert counted == [[0], [1]]


def test_a_token_that_is_impossible_stays_so_under_guidance() -> None:
    predictor = fixed_predictor(torch.tensor([[-np.inf, 0.0, -np.inf, 1.0]] * 3))
    (trace,) = decode(predictor, [[1]], "default", Shape(2, 2, 2), options=Options(cfg=2.0))
    assert trace.tokens.tolist() == [3, 3]


def ask(z: np.ndarray, k: int, low: float, high: float, error: float = 0.0) -> bool:
    logits, count = torch.tensor(z), len(z)
    coordinates = torch.zeros(count, dtype=torch.int64), torch.arange(count)
    everywhere = torch.ones(1, count, dtype=torch.bool)
    errors = torch.full((count,), error)
    return bool(certain(logits, logits.argmax(-1), *coordinates, everywhere, torch.tensor([k]), low, high, errors))


def test_most_sets_that_stay_are_proved() -> None:
    rng, stays, proved = np.random.default_rng(0), 0, 0
    for _ in range(150):
        z = rng.normal(size=(6, 8)) * 3
        z[np.arange(6), 0] += rng.uniform(0, 12, size=6)
        if len(selection_path(z, 2, 0.025, 8.0).pieces) == 1:
            stays += 1
            proved += ask(z, 2, 0.025, 8.0)
    assert stays > 50 and proved >= 0.95 * stays


def test_rows_are_judged_apart_and_positions_that_do_not_compete_are_left_out() -> None:
    crossing = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]  # changes places at 4.81
    z = torch.tensor([*crossing, *crossing, [3.0, 0.0, 0.0]], dtype=torch.float64)
    row, position = torch.tensor([0, 0, 1, 1, 1]), torch.tensor([0, 1, 0, 1, 2])
    contested = torch.tensor([[True, True, False], [True, True, False]])
    k, none = torch.tensor([1, 2]), torch.zeros(5)
    candidates = (z.argmax(-1), row, position)
    assert certain(z, *candidates, contested, k, 0.1, 8.0, none).tolist() == [False, True]
    assert certain(z, *candidates, contested, k, 0.1, 4.8, none).tolist() == [True, True]
    contested[1, 1:] = torch.tensor([False, True])
    assert certain(z, *candidates, contested, torch.tensor([1, 1]), 0.1, 8.0, none).tolist() == [False, True]
    assert certain(z, *candidates, contested, torch.tensor([0, 0]), 0.1, 8.0, none).tolist() == [True, True]


LENGTH = 16


@dataclass(frozen=True)
class Recording:
    """Confidence decoding that keeps the logits of each step."""

    steps: list[np.ndarray] = field(default_factory=list)
    name = "recording"
    needs_reward = False

    def order(self, view: MaskedPositions) -> Tensor:
        self.steps.append(view.logits.double().numpy().copy())
        return view.logits.new_tensor(log_odds(self.steps[-1], 1.0)).double()


@pytest.mark.parametrize(("model", "k"), [("mini", 2), ("english", 1)])
def test_every_interval_is_certified_and_the_cheap_bound_proves_a_useful_share(model: str, k: int) -> None:
    predictor, recording = load_predictor(model), Recording()
    for prompt in predictor.prompts[:2]:
        decode(predictor, prompt, recording, Shape(LENGTH, LENGTH // k, LENGTH))
    stable = [stability_radius(logits, k) for logits in recording.steps if len(logits) > k]
    shares = [min(s.cheap[1] - 1, 1 - s.cheap[0]) / s.radius for s in stable if s.radius]
    assert len(stable) == 2 * (LENGTH // k - 1) and all(s.certified for s in stable)
    assert all(0 < share <= 1 + 1e-9 for share in shares)
    assert 0.15 < float(np.median(shares)) < 0.6  # 23 to 40 % over six prompts: docs/theory.md, section 19
    for s in stable:
        assert s.lower <= s.cheap[0] * (1 + 1e-12) + 1e-12 and s.cheap[1] <= s.upper * (1 + 1e-12)


@given(logit_tensors())
def test_the_best_token_is_the_first_of_the_largest_and_leads_the_next(logits: Tensor) -> None:
    for row, token, lead in zip(logits.tolist(), *(each.tolist() for each in greedy(logits)), strict=True):
        others = sorted([*row[:token], *row[token + 1 :], -math.inf])
        assert (token, lead) == (row.index(max(row)), max(row) - others[-1])


class Operations(TorchDispatchMode):
    """Counts PyTorch's operations, and the float64 numbers of the largest result that is new."""

    count = largest = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        self.count += 1
        if isinstance(made, Tensor) and made.dtype == torch.float64:
            self.largest = max(self.largest, made.numel())
        return made


@pytest.mark.parametrize("factor", [1.0, 0.3, 50.0])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_a_long_row_has_the_bits_of_the_whole_row(dtype: torch.dtype, factor: float) -> None:
    logits = torch.randn(4, 2**16 + 7, generator=torch.Generator().manual_seed(0)).to(dtype)
    logits[0, 3], logits[1, -1], logits[2, 1:], logits[3, 5:] = -math.inf, 9.0, -math.inf, -math.inf
    token = torch.cat([logits[:3].argmax(dim=1), torch.tensor([4])])
    factors = torch.full((4,), factor, dtype=torch.float64)
    rows = zip(logits.split(1), token.split(1), factors.split(1), strict=True)
    whole = torch.cat([rank_rows(*row, "log-odds", torch.float64) for row in rows])
    assert torch.equal(rank_values(logits, token, factor), whole)
    kept = logits.double().abs().masked_fill(logits == -math.inf, 0).amax(dim=1)
    assert torch.equal(logit_error(logits), kept * logit_error(torch.ones(1, 1, dtype=dtype)))


@pytest.mark.parametrize(("strategy", "most"), [("default", 290), ("temperature:2", 390)])
def test_a_step_takes_few_operations_and_widens_few_rows_at_once(strategy: str, most: int) -> None:
    table = torch.randn(33, 5000, generator=torch.Generator().manual_seed(0))
    predictor = CallablePredictor(lambda canvas: table[None], mask_id=0)
    with Operations() as done:
        decode(predictor, [[1]], strategy, Shape(length=32, steps=32, block=32))
    assert done.count < 32 * most and done.largest <= 2**16
