"""The proof that a step needs no reward, against the certified selection path."""

from __future__ import annotations

import numpy as np
import torch

from rws_decode.step.certainty import certain
from rws_theory.selection import selection_path


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
