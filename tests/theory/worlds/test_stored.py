from __future__ import annotations

import numpy as np
import pytest

from rws_theory.worlds.backoff import Backoff, fit_backoff
from rws_theory.worlds.stored import pack, unpack, world_of


def chain_of(order: int, seed: int) -> Backoff:
    rng = np.random.default_rng(seed)
    vocabulary = int(rng.integers(2, 6))
    sequences = [rng.integers(0, vocabulary, size=rng.integers(1, 30)) for _ in range(5)]
    minimum = tuple(np.sort(rng.integers(1, 3, size=order - 1)).tolist())
    return fit_backoff(sequences, order, vocabulary, 0.75, minimum)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_chain_comes_back_but_for_the_rounding_of_its_shares(order: int) -> None:
    for seed in range(10):
        chain = chain_of(order, seed)
        arrays = pack(chain)
        again = unpack(arrays)
        assert again.order == chain.order and np.array_equal(again.last, chain.last)
        for kept, made in zip(chain.levels, again.levels, strict=True):
            assert all(np.shape(vars(kept)[name]) == np.shape(value) for name, value in vars(made).items())
            assert all(np.allclose(vars(kept)[name], value, atol=1e-6) for name, value in vars(made).items())
        assert all(np.array_equal(value, arrays[name]) for name, value in pack(again).items())


def test_every_state_of_a_stored_world_has_probabilities_that_sum_to_1() -> None:
    chain = world_of(pack(chain_of(4, 3))).chain
    assert max(abs(chain.row(state)[0].sum() - 1.0) for state in range(chain.root + 1)) < 1e-12


@pytest.mark.parametrize("name", ["unigram", "states_2", "arcs_1", "word_2", "share_2"])
def test_arrays_that_do_not_fit_are_refused_in_one_line(name: str) -> None:
    arrays = pack(chain_of(3, 0))
    for wrong in ({key: value for key, value in arrays.items() if key != name}, arrays | {name: arrays[name][:-1]}):
        with pytest.raises(ValueError, match=r"^arrays are not those of `pack`: they do not fit each other"):
            unpack(wrong)
