"""The complete scale path against decoding: every piece, every breakpoint, budgets and ties."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from examples import examples
from grouped import grouped
from hypothesis import given, settings
from hypothesis import strategies as st
from table_models import LENGTH, REWARD, table_predictor
from tiny_models import fixed_predictor

import rws_decode as rws
from rws_decode import RWS, MaskPredictor, ScalePath, Shape, Temperature, Threshold, decode, scale_path
from rws_decode.extra.scale_paths import states as _scale_states
from rws_decode.extra.scale_paths.path import Level
from rws_decode.extra.testing import exact_predictor, token_reward
from rws_theory import SelectionPath, selection_path
from rws_theory.selection import Bracket
from rws_theory.testing import random_chain, random_table, scales

SHAPE = {"length": LENGTH, "steps": 8, "block": LENGTH}
SHAPES = [SHAPE, {"length": 8, "steps": 3, "block": 8}, {"length": 8, "steps": 4, "block": 4}]
LOW, HIGH = 0.01, 32.0
Commits = tuple[tuple[int, ...], tuple[int, ...]]


def outcomes(
    predictor: MaskPredictor, prompt: Any, path: ScalePath, points: Sequence[float], reward: Any = None, **options: Any
) -> list[Commits]:
    """Tokens and commit steps of decoding at each scale; constant factors in one batch, each row its own."""

    def rule(scaled: Any) -> Any:
        return scaled if path.threshold is None else Threshold(path.threshold, scaled=scaled)

    if path.over == "temperature":
        traces = decode(predictor, [prompt] * len(points), rule(Temperature(tuple(points))), **grouped(**options))
    else:
        traces = [decode(predictor, [prompt], rule(RWS(s_r)), reward=reward, **grouped(**options))[0] for s_r in points]
    return [(tuple(trace.tokens.tolist()), tuple(trace.commit_step.tolist())) for trace in traces]


def check_shape(path: ScalePath) -> None:
    """Pieces and unexplored intervals cover the range in rising order, and meet inside enclosures."""
    parts = sorted([*path.pieces, *path.unexplored], key=lambda part: part.lower)
    assert (parts[0].lower, parts[-1].upper) == (path.scale_min, path.scale_max)
    for left, right in pairwise(parts):
        assert left.lower < left.upper == right.lower < right.upper
        assert any(gap.lower <= left.upper <= gap.upper for gap in path.breakpoints)
    for left, right in pairwise(path.pieces):
        assert left.upper < right.lower or (left.tokens, left.commit_step) != (right.tokens, right.commit_step)
    for left, right in pairwise(path.breakpoints):
        assert left.lower <= left.upper < right.lower <= right.upper
    assert path.grid_forwards == len(path.pieces) * (1 + max(path.pieces[0].commit_step) if path.pieces else 0)
    assert path.forwards <= path.states and bool(path.unexplored) == (path.forwards < path.states)


def check_against_decode(
    predictor: MaskPredictor, prompt: Any, path: ScalePath, more: Sequence[float] = (), **options: Any
) -> None:
    """Each piece says what decoding gives in its middle, just inside its ends, and at further scales."""
    points: list[float] = []
    for piece in path.pieces:
        low, high = piece.lower * (1 + 1e-9), piece.upper * (1 - 1e-9)
        points += [low, math.sqrt(low * high), high] if low < high else []
    ends = [end for gap in path.breakpoints for end in (gap.lower, gap.upper)]
    points += [c for c in more if all(abs(c / end - 1) > 1e-9 for end in ends)]
    points = [c for c in points if path.at(c) is not None]
    for c, commits in zip(points, outcomes(predictor, prompt, path, points, **options), strict=True):
        piece = path.at(c)
        assert piece is not None and commits == (piece.tokens, piece.commit_step), f"at scale {c!r}"


@given(
    st.integers(0, 10**6),
    st.sampled_from([*SHAPES, {"length": LENGTH, "steps": 6, "block": 4}]),
    st.sampled_from([0.7, 1.5]),
    st.sampled_from([("none", None), ("suppress", None), ("defer", None), ("none", 0.5), ("suppress", 0.9)]),
    st.lists(scales(LOW, HIGH), max_size=8),
)
@settings(max_examples=examples(60))
def test_every_factor_decodes_to_its_piece(
    seed: int, shape: dict[str, int], spread: float, rule: tuple[Any, float | None], more: list[float]
) -> None:
    """At a threshold, too, where steps may end a block early."""
    predictor, (policy, tau) = table_predictor(seed, spread), rule
    path = scale_path(predictor, [], LOW, HIGH, threshold=tau, **grouped(end_of_text=policy, **shape))
    if tau is None:
        check_shape(path)
    assert path.certified and path.forwards == path.states and path.reward_calls == 0
    check_against_decode(predictor, [], path, more, **shape, end_of_text=policy)


@given(
    st.integers(0, 10**6),
    st.sampled_from(SHAPES),
    st.sampled_from([("none", None, 1e-5), ("defer", None, 1e-5), ("defer", None, 0.1), ("none", 0.9, 1e-5)]),
)
@settings(max_examples=3)
def test_scales_decode_to_their_pieces(seed: int, shape: dict[str, int], rule: tuple[Any, float | None, float]) -> None:
    predictor, (policy, tau, eps) = table_predictor(seed), rule
    arguments: dict[str, Any] = {"over": "reward-scale", "reward": REWARD, "eps": eps, "threshold": tau}
    path = scale_path(predictor, "", LOW, HIGH, **grouped(end_of_text=policy, **shape, **arguments))
    assert path.certified
    if tau is None:
        check_shape(path)
    if eps == 1e-5:
        check_against_decode(predictor, "", path, [1.0, 8.0], reward=REWARD, **shape, end_of_text=policy)
    else:
        for piece in path.pieces:
            c = math.sqrt(piece.lower * piece.upper)
            (trace,) = decode(predictor, [""], RWS(c, eps), reward=REWARD, **grouped(end_of_text=policy, **shape))
            assert trace.tokens.tolist() == list(piece.tokens) and trace.commit_step.tolist() == list(piece.commit_step)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.0, 0.3]), st.booleans())
@settings(max_examples=3)
def test_exactly_solvable_models(seed: int, chain: bool, holes: float, rewarded: bool) -> None:
    model = random_chain(seed, 4, holes=holes) if chain else random_table(seed, 5, 4, holes=holes)
    predictor, shape = exact_predictor(model), {"length": 5, "steps": 5, "block": 5}
    reward = token_reward(lambda tokens: math.cos(sum(3**n * t for n, t in enumerate(tokens))))
    arguments: dict[str, Any] = {"over": "reward-scale", "reward": reward} if rewarded else {}
    path = scale_path(predictor, "", LOW, HIGH, **grouped(**shape, **arguments))
    check_shape(path)
    check_against_decode(predictor, "", path, [0.1, 1.0, 4.0], **({"reward": reward} if rewarded else {}), **shape)


def test_a_canvas_is_evaluated_once_however_many_intervals_lead_to_it() -> None:
    shared = 0
    for seed in range(6):
        canvases: list[bytes] = []
        levels: list[Level] = []
        predictor = table_predictor(seed, 0.8, canvases)
        path = scale_path(predictor, [], LOW, HIGH, progress=levels.append, **grouped(**SHAPE))
        assert len(canvases) == len(set(canvases)) == path.forwards == sum(level.states for level in levels)
        assert [level.step for level in levels] == list(range(8)) and levels[-1].forwards == path.forwards
        assert all(level.states <= level.intervals for level in levels)
        shared += sum(level.states < level.intervals for level in levels)
        assert path.batches <= path.forwards < path.grid_forwards or len(path.pieces) < 3
    assert shared > 0


@given(st.integers(0, 10**6), st.integers(1, 7), st.booleans())
@settings(max_examples=examples(50))
def test_the_size_of_batches_does_not_matter(seed: int, batch: int, rewarded: bool) -> None:
    predictor = table_predictor(seed)
    arguments: dict[str, Any] = {"over": "reward-scale", "reward": REWARD} if rewarded else {}
    small, many = (
        scale_path(predictor, "", LOW, HIGH, batch=size, **grouped(**SHAPE, **arguments)) for size in (batch, 64)
    )
    assert many.batches == 8 and replace(small, batches=8) == many


@given(st.integers(0, 10**6), st.integers(8, 40), st.booleans())
@settings(max_examples=examples(40))
def test_a_budget_is_kept_and_what_is_explored_is_right(seed: int, budget: int, rewarded: bool) -> None:
    predictor = table_predictor(seed, 0.8)
    arguments: dict[str, Any] = {"over": "reward-scale", "reward": REWARD} if rewarded else {}
    whole = scale_path(predictor, "", LOW, HIGH, **grouped(**SHAPE, **arguments))
    part = scale_path(predictor, "", LOW, HIGH, budget=budget, **grouped(**SHAPE, **arguments))
    check_shape(part)
    assert part.forwards <= budget
    assert part.certified == (not part.unexplored)
    assert part.pieces and set(part.pieces) <= set(whole.pieces)
    missing = set(whole.pieces) - set(part.pieces)
    assert all(any(gap.lower <= p.lower and p.upper <= gap.upper for gap in part.unexplored) for p in missing)
    assert set(part.breakpoints) <= set(whole.breakpoints)
    for gap in part.unexplored:
        assert part.at(math.sqrt(gap.lower * gap.upper)) is None


def equal_rows(rows: Sequence[Sequence[float]]) -> rws.CallablePredictor:
    """Logits by position alone; the mask is the last token."""
    return fixed_predictor(torch.tensor([[*row, 0.0] for row in rows], dtype=torch.float64), mask_id=len(rows[0]))


def test_positions_with_equal_logits_go_leftmost_first() -> None:
    a, b = [1.1, 0.6, 0.3], [1.0, 0.4, 0.4]
    predictor = equal_rows([b, a, b, a, a])
    for steps in (5, 2):
        shape = {"length": 5, "steps": steps, "block": 5}
        path = scale_path(predictor, [], LOW, HIGH, **grouped(**shape))
        assert path.certified and len(path.pieces) == 2
        check_against_decode(predictor, [], path, [1.0], **shape)
    path = scale_path(predictor, [], LOW, HIGH, Shape(length=5, steps=5, block=5))
    assert [piece.commit_step for piece in path.pieces] == [(3, 0, 4, 1, 2), (0, 2, 1, 3, 4)]
    assert path.pieces[0].upper == pytest.approx(10 * math.log((1 + math.sqrt(5)) / 2), rel=1e-12)
    assert {piece.tokens for piece in path.pieces} == {(0,) * 5}
    same = scale_path(equal_rows([a] * 4), [], LOW, HIGH, Shape(length=4, steps=4, block=4))
    assert [piece.commit_step for piece in same.pieces] == [(0, 1, 2, 3)] and not same.breakpoints and same.certified


def doubtful(change: Callable[[list[Bracket], float, float], list[Bracket]]) -> Callable[..., SelectionPath]:
    def path(logits: Any, k: int, low: float, high: float) -> SelectionPath:
        selection = selection_path(logits, k, low, high)
        return replace(selection, brackets=tuple(change(list(selection.brackets), low, high)))

    return path


def test_what_is_not_proved_is_enclosed_and_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = table_predictor(5, 0.8)
    whole = scale_path(predictor, [], LOW, HIGH, **grouped(**SHAPE))

    def at_the_end(brackets: list[Bracket], low: float, high: float) -> list[Bracket]:
        first = brackets[0].lower if brackets else high
        return [Bracket(low, low + (first - low) / 8, False), *brackets]

    def inside(brackets: list[Bracket], low: float, high: float) -> list[Bracket]:
        last = brackets[-1].upper if brackets else low
        return [*brackets, Bracket(last + 0.25 * (high - last), last + 0.5 * (high - last), False)]

    for change in (at_the_end, inside):
        monkeypatch.setattr(_scale_states, "selection_path", doubtful(change))
        path = scale_path(predictor, [], LOW, HIGH, **grouped(**SHAPE))
        check_shape(path)
        assert not path.certified and any(not gap.proved for gap in path.breakpoints)
        found, all_ = ({(p.tokens, p.commit_step) for p in each.pieces} for each in (path, whole))
        assert found <= all_ and (change is at_the_end or found == all_)
    monkeypatch.setattr(_scale_states, "selection_path", doubtful(lambda _, low, high: [Bracket(low, high, False)]))
    path = scale_path(predictor, [], LOW, HIGH, **grouped(**SHAPE))
    assert path.pieces == path.unexplored == () and not path.certified
    assert [(gap.lower, gap.upper, gap.proved) for gap in path.breakpoints] == [(LOW, HIGH, False)]
