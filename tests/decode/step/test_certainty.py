"""The proof that a step needs no reward, against the certified selection path."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from rws_decode.step.certainty import certain
from rws_decode.step.confidence import rank_values
from rws_decode.step.select import select_top
from rws_theory.selection import selection_path


def ask(z: np.ndarray, k: int, low: float, high: float, error: float = 0.0) -> bool:
    logits, count = torch.tensor(z), len(z)
    coordinates = torch.zeros(count, dtype=torch.int64), torch.arange(count)
    everywhere = torch.ones(1, count, dtype=torch.bool)
    errors = torch.full((count,), error)
    return bool(certain(logits, logits.argmax(-1), *coordinates, everywhere, torch.tensor([k]), low, high, errors))


@st.composite
def contests(draw: st.DrawFn) -> tuple[np.ndarray, int, float, float]:
    """Logits of a few positions, some forbidden or all alike, how many are chosen, and a range of factors."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count, words = draw(st.integers(1, 7)), draw(st.integers(2, 9))
    z = rng.normal(size=(count, words)) * draw(st.sampled_from([0.3, 2.0, 8.0]))
    z[np.arange(count), 0] += rng.uniform(0, draw(st.sampled_from([0.0, 12.0])) + 1e-9, size=count)
    if draw(st.booleans()):
        z[rng.random(z.shape) < 0.3] = -np.inf
        z[:, 0] = np.maximum(z[:, 0], -1.0)
    if draw(st.booleans()):
        z[-1] = z[0]
    low = 10 ** draw(st.floats(-2, 1))
    return z, draw(st.integers(0, count)), low, low * 10 ** draw(st.floats(0, 2.5))


@given(contests())
def test_what_is_proved_is_one_piece_of_the_path(contest: tuple[np.ndarray, int, float, float]) -> None:
    z, k, low, high = contest
    if ask(z, k, low, high):
        assert len(selection_path(z, k, low, high).pieces) == 1


@given(contests(), st.floats(0, 1), st.floats(1e-6, 0.5), st.integers(0, 2**32))
def test_what_is_proved_holds_for_all_logits_within_the_error(
    contest: tuple[np.ndarray, int, float, float], share: float, error: float, seed: int
) -> None:
    z, k, low, high = contest
    if not ask(z, k, low, high, error):
        return
    rng, scale, everywhere = np.random.default_rng(seed), low * (high / low) ** share, torch.ones(1, len(z)).bool()
    token = torch.tensor(z).argmax(-1)
    chosen = [
        select_top(rank_values(torch.tensor(logits), token, scale)[None], everywhere, k).chosen.tolist()
        for logits in (z, z + rng.uniform(-error, error, size=z.shape))
    ]
    assert chosen[0] == chosen[1]


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
