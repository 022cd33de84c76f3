"""The law of a sampler, against enumeration, exact worlds, fixed orders and drawn decodes."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import rws_decode as rws
from rws_decode import CallablePredictor, CallableReward, Options, Shape, decode, strategy_log_prob
from rws_decode.extra.testing import tabulated_predictor
from rws_theory.worlds import JointTable

DRAWN = Options(sampling_temperature=1.0, drawing="commit")
LENGTH, WORDS = 4, 3
TEXTS = list(product(range(WORDS), repeat=LENGTH))
SHAPE = Shape(LENGTH, 2, LENGTH)
# Every name of the table that needs no run and has a law, with numbers at which it differs from the default.
NAMES = (
    "default temperature:0.3 rws:8 rws-every:8+every:2 rws-flipped:8 rws-random:8 margin entropy threshold:0.5 "
    "parallel-factor:1 entropy-bound:0.3 klass:0.4 dus:2 certainty-prior:2 information-gain:3 lookum:2 lopa:0.5 "
    "random-order left-to-right default+spacing:2 rws:8+spacing:3 random-order+spacing:2 threshold:0.4+spacing:2"
).split()
COUNTING = "threshold:0.5 parallel-factor:1 entropy-bound:0.3 klass:0.4 dus:2 lopa:0.5 threshold:0.4+spacing:2".split()
ONE_BY_ONE = [name for name in NAMES if name not in COUNTING]


def table_predictor(seed: int) -> CallablePredictor:
    """Return a predictor whose logits are drawn for every canvas by itself: its conditionals fit no joint law."""
    logits = torch.from_numpy(np.random.default_rng(seed).normal(0, 2, (*(WORDS + 1,) * LENGTH, LENGTH, WORDS + 1)))
    texts = {"encode": lambda text: [*map(int, text.split())], "decode": lambda ids: " ".join(map(str, ids))}
    return CallablePredictor(lambda c: logits[tuple(c.T)].clone(), mask_id=WORDS, vocab_size=WORDS + 1, **texts)


REWARD = CallableReward(lambda prompt, answer: float(sum(map(int, answer.split()))), mean=4.0, std=2.0)


def law(predictor: Any, strategy: Any, shape: Shape = SHAPE, **more: Any) -> Any:
    return strategy_log_prob(predictor, [[]], TEXTS, strategy, shape, reward=REWARD, **more)


@given(st.sampled_from(NAMES), st.integers(0, 2**20), st.sampled_from([(1, 4), (2, 4), (3, 4), (4, 4), (2, 2), (4, 2)]))
def test_the_probabilities_of_all_texts_sum_to_one(name: str, seed: int, size: tuple[int, int]) -> None:
    steps, block = size
    result = law(table_predictor(seed), name, Shape(LENGTH, steps, block))
    assert np.exp(result.log_prob).sum() == pytest.approx(1, abs=1e-9)
    assert np.allclose(result.step_log_prob.sum(axis=1), result.log_prob)


@given(st.sampled_from(ONE_BY_ONE), st.sampled_from([(1, 3), (3, 1), (1, 2, 1), (1, 1, 2)]))
@settings(max_examples=examples(50))
def test_so_they_do_where_the_tokens_of_each_step_are_given(name: str, counts: tuple[int, ...]) -> None:
    result = law(table_predictor(4), name, Shape(LENGTH, counts=counts))
    assert np.exp(result.log_prob).sum() == pytest.approx(1, abs=1e-9)
    assert [(result.commit_step == step).sum(axis=1).max() for step in range(len(counts))] == list(counts)


@pytest.mark.parametrize(
    "options",
    [
        Options(sampling_temperature=0.5, drawing="commit", ranking="probability", precision="float32"),
        Options(sampling_temperature=2.0, drawing="commit", end_of_text="defer", end_ids=[1]),
        Options(sampling_temperature=1.0, drawing="commit", end_of_text="suppress", end_ids=[1]),
        Options(sampling_temperature=1.0, drawing="commit", cfg=0.7),
        Options(sampling_temperature=0.0, drawing="commit"),
        Options(sampling_temperature=0.7, drawing="commit", top_p=0.8),
        Options(sampling_temperature=1.0, drawing="commit", top_k=2, top_p=0.9, cfg=0.7),
    ],
    ids=lambda options: f"{options.end_of_text} {options.sampling_temperature} {options.cfg} {options.top_p}",
)
def test_options_are_in_the_law(options: Options) -> None:
    result = law(table_predictor(3), "rws:4", options=options)
    assert np.exp(result.log_prob).sum() == pytest.approx(1, abs=1e-9)
    never = [1 in text for text in TEXTS] if options.end_of_text == "suppress" else [False] * len(TEXTS)
    assert np.isneginf(result.log_prob[never]).all()


@given(st.sampled_from(ONE_BY_ONE), st.integers(0, 2**20))
@settings(max_examples=examples(50))
def test_one_word_a_step_gives_log_p_of_an_exact_world(name: str, seed: int) -> None:
    """Theorem T65: with exact conditionals and one drawn word a step, the order does not matter."""
    joint = np.random.default_rng(seed).normal(0, 2, (WORDS,) * LENGTH)
    log_p = joint - np.logaddexp.reduce(joint, axis=None)
    result = law(tabulated_predictor(JointTable(joint)), name, Shape(LENGTH, LENGTH, LENGTH))
    assert np.allclose(result.log_prob, log_p.reshape(-1), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_log_likelihood_of_the_order_taken(name: str) -> None:
    predictor = table_predictor(2)
    result = law(predictor, name)
    for number in (0, 17, 80):
        expected = rws.order_log_likelihood(predictor, [], TEXTS[number], result.commit_step[number])
        assert result.log_prob[number] == pytest.approx(expected, abs=1e-9)


def frequencies(name: str, options: Options, draws: int = 2_000) -> np.ndarray:
    sampling = replace(options, seed=tuple(range(draws)), record="tokens")
    run = decode(table_predictor(7), [[]] * draws, name, SHAPE, reward=REWARD, options=sampling)
    return np.bincount(run.tokens @ WORDS ** np.arange(LENGTH - 1, -1, -1), minlength=len(TEXTS))


@pytest.mark.parametrize(
    ("name", "cuts"), [("rws:4", {}), ("threshold:0.6", {}), ("rws:4", {"top_p": 0.8, "top_k": 2})]
)
def test_drawn_decodes_have_the_law(name: str, cuts: dict[str, Any]) -> None:
    """Chi square of 2,000 decodes with fixed seeds: a right law gives a p below 0.001 once in a thousand seeds."""
    options = replace(DRAWN, **cuts)
    observed, due = frequencies(name, options), 2_000 * np.exp(law(table_predictor(7), name, options=options).log_prob)
    assert not observed[due == 0].any() and (due == 0).any() == bool(cuts)
    rare = due < 5
    observed, due = (np.append(counts[~rare], counts[rare].sum()) for counts in (observed, due))
    assert stats.chisquare(observed[due > 0], due[due > 0]).pvalue > 0.001


def test_what_is_drawn_before_positions_are_chosen_has_another_law() -> None:
    """Public loops rank the drawn words: their decodes are far from the law of `commit`."""
    share = np.exp(law(table_predictor(7), "default").log_prob)
    assert abs(frequencies("default", Options(sampling_temperature=1.0)) / 2_000 - share).sum() > 0.1


def test_gaps_blocks_and_one_text_alone() -> None:
    """Each text of two gaps around a word, in one batch with the other texts and alone."""
    predictor, texts = table_predictor(11), list(product(range(WORDS), repeat=LENGTH - 1))
    canvas, shape = [WORDS, 1, WORDS, WORDS], Shape(LENGTH - 1, 3, 1)
    result = strategy_log_prob(predictor, None, texts, "rws:8", shape, canvas=canvas, reward=REWARD)
    assert np.exp(result.log_prob).sum() == pytest.approx(1, abs=1e-9)
    alone = strategy_log_prob(predictor, None, texts[16:17], "rws:8", shape, canvas=[canvas], reward=REWARD)
    assert alone.log_prob[0] == pytest.approx(result.log_prob[16], abs=1e-12)
    assert (result.commit_step == [0, 1, 2]).all()
