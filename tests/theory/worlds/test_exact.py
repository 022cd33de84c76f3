"""Exact masked models against enumeration and each other, and the reference decoder against the decoding loop."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rws_decode import RWS, Confidence, FlippedReward, RewardReplay, Shape, Strategy, Temperature, Trace, decode
from rws_decode.extra.testing import exact_predictor, token_reward
from rws_theory.testing import random_chain, random_table
from rws_theory.worlds import MASK, JointTable, MarkovChain
from rws_theory.worlds import reference_decoder as decoder

Floats = NDArray[np.float64]


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3), st.sampled_from([0.0, 0.4]))
def test_a_chain_is_its_table(seed: int, length: int, words: int, holes: float) -> None:
    chain = random_chain(seed, words, holes=holes)
    table = chain.table(length)
    everything = list(itertools.product(range(words), repeat=length))
    chain_values, table_values = ([model.log_prob(x) for x in everything] for model in (chain, table))
    assert chain_values == pytest.approx(table_values, abs=1e-12)
    assert np.exp(chain_values).sum() == pytest.approx(1.0, rel=1e-12)


def test_a_long_chain_does_not_underflow() -> None:
    chain = MarkovChain(np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]]))
    canvas = [MASK] * 1500
    canvas[0], canvas[-1] = 0, 0
    computed = np.exp(chain.conditionals(canvas))
    assert computed.sum(axis=1) == pytest.approx(1.0, rel=1e-9)
    assert computed[750].tolist() == pytest.approx([0.5, 0.5], abs=1e-9)
    # A two-state symmetric chain stays i steps away with probability (1 + 0.8^i) / 2.
    agree, back = (1 + 0.8) / 2, (1 + 0.8**1498) / 2
    assert computed[1, 0] == pytest.approx(agree * back / ((1 + 0.8**1499) / 2), rel=1e-9)


def test_what_is_too_rare_is_impossible_and_ties_go_to_the_left() -> None:
    far = np.array([-1e308, 1e308])
    assert JointTable(far).log_p.tolist() == [-np.inf, 0.0]
    chain = MarkovChain(far, np.stack([far, far[::-1]]))
    assert chain.log_initial.tolist() == [-np.inf, 0.0]
    assert chain.log_transitions.tolist() == [[-np.inf, 0.0], [0.0, -np.inf]]
    assert chain.log_prob([1, 0, 1]) == 0.0
    model = JointTable(np.zeros((3,) * 4))
    reference = decoder.decode_masked(model, decoder.constant_rule(2.0), per_step=3)
    (trace,) = decode(exact_predictor(model), [[]], Temperature(2.0), Shape(length=4, steps=2, block=4))
    assert reference.tokens.tolist() == trace.tokens.tolist() == [0, 0, 0, 0]
    assert reference.commit_step.tolist() == [0, 0, 0, 1] and trace.commit_step.tolist() == [0, 0, 1, 1]


GIVEN = [0.5, -1.0, 2.0, -3.0]
RULES: dict[str, tuple[Strategy, decoder.FactorRule]] = {
    "default": (Confidence(), decoder.constant_rule(1.0)),
    "temperature": (Temperature(5.0), decoder.constant_rule(5.0)),
    "rws": (RWS(8.0), decoder.rws_rule(8.0)),
    "rws-flipped": (FlippedReward(8.0), decoder.flipped_rule(8.0)),
    "shuffled": (RewardReplay(8.0, tuple(GIVEN)), decoder.replay_rule(GIVEN, 8.0)),
}


@pytest.mark.parametrize("name", RULES)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([1, 2, 4]), st.sampled_from([0.0, 0.4]))
def test_the_reference_decoder_is_the_decoding_loop(name: str, seed: int, words: int, steps: int, holes: float) -> None:
    table, rewards = random_table(seed, 4, words, holes=holes), np.random.default_rng(seed).normal(size=(words,) * 4)
    strategy, rule = RULES[name]
    reward = token_reward(lambda tokens: float(rewards[tuple(tokens)]), 0.1, 0.8)

    def decoded() -> Trace:
        return decode(exact_predictor(table), [[]], strategy, Shape(4, steps, 4), reward=reward)[0]

    try:
        reference = decoder.decode_masked(
            table, rule, per_step=4 // steps, reward=lambda x: (rewards[tuple(x)] - 0.1) / 0.8
        )
    except ValueError:  # tokens committed together may exclude each other
        with pytest.raises(ValueError, match="has probability 0"):
            decoded()
        return
    trace = decoded()
    if not (trace.near_ties.any() or trace.near_tokens.any()):  # which two roundings may decide otherwise
        assert trace.tokens.tolist() == reference.tokens.tolist()
        assert trace.commit_step.tolist() == reference.commit_step.tolist()
        known = ~np.isnan(trace.factor)
        np.testing.assert_allclose(trace.factor[known], np.array(reference.factors)[known], rtol=1e-12)


def test_positions_that_are_level_are_committed_from_left_to_right() -> None:
    """Of many equals the leftmost goes first: a sort that is not stable would mix them."""

    class Level:
        length = None

        def conditionals(self, canvas: NDArray[np.int64]) -> Floats:
            return np.outer(np.where(np.arange(canvas.size) % 3 == 1, 2.0, 1.0), [0.0, 1.0, 0.5])

    decoded = decoder.decode_masked(Level(), decoder.constant_rule(1.0), length=60)
    assert decoded.commit_step.argsort().tolist() == [*range(1, 60, 3), *(i for i in range(60) if i % 3 != 1)]
