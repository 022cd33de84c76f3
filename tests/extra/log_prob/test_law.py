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
from misuse import refused
from scipy import stats
from tiny_models import llada_predictor

from rws_decode import CallablePredictor, CallableReward, Options, Shape, decode, replay_with, steer, strategy_log_prob
from rws_decode.extra.path_diagnostics.diagnostics import order_log_likelihood
from rws_decode.extra.testing.exact import tabulated_predictor
from rws_decode.job import prepare
from rws_decode.step.cached_reward import Scorer
from rws_decode.step.completion import TokenSampler
from rws_decode.step.layers import drawn_at_commit, layered
from rws_decode.step.step import Decoder, State, run
from rws_decode.trace.trace import load
from rws_theory.worlds.joint_table import JointTable

DRAWN = Options(sampling_temperature=1.0, drawing="commit")
LENGTH, WORDS = 4, 3
TEXTS = list(product(range(WORDS), repeat=LENGTH))
SHAPE = Shape(LENGTH, 2, LENGTH)
# Every name of the table that needs no run and has a law, with numbers at which it differs from the default.
NAMES = (
    "default temperature:0.3 rws:8 rws-every:8+every:2 rws-flipped:8 rws-random:8 margin entropy threshold:0.5 "
    "parallel-factor:1 entropy-bound:0.3 klass:0.4 dus:2 certainty-prior:2 information-gain:3 lookum:2 lopa:0.5 "
    "random-order left-to-right default+apart:2 rws:8+apart:3 random-order+apart:2 threshold:0.4+apart:2"
).split()
COUNTING = (
    "threshold:0.5",
    "parallel-factor:1",
    "entropy-bound:0.3",
    "klass:0.4",
    "dus:2",
    "lopa:0.5",
    "threshold:0.4+apart:2",
)
ONE_BY_ONE = [name for name in NAMES if name not in COUNTING]


def table_predictor(seed: int) -> CallablePredictor:
    """Return a predictor whose logits are drawn for every canvas by itself: its conditionals fit no joint law."""
    logits = torch.from_numpy(np.random.default_rng(seed).normal(0, 2, (*(WORDS + 1,) * LENGTH, LENGTH, WORDS + 1)))
    return CallablePredictor(
        lambda canvas: logits[tuple(canvas.T)].clone(),
        mask_id=WORDS,
        vocab_size=WORDS + 1,
        encode=lambda text: [int(digit) for digit in text.split()],
        decode=lambda ids: " ".join(map(str, ids)),
    )


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


def test_greedy_words_are_one_text() -> None:
    predictor, greedy = table_predictor(5), Options(drawing="commit")
    result = law(predictor, "rws:4", options=greedy)
    (trace,) = decode(predictor, [[]], "rws:4", SHAPE, reward=REWARD)
    assert sorted(result.log_prob)[-2:] == [-np.inf, 0.0]
    at = int(result.log_prob.argmax())
    assert (list(TEXTS[at]), result.commit_step[at].tolist()) == (trace.tokens.tolist(), trace.commit_step.tolist())


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
        expected = order_log_likelihood(predictor, [], TEXTS[number], result.commit_step[number])
        assert result.log_prob[number] == pytest.approx(expected, abs=1e-9)


def frequencies(name: str, options: Options, draws: int = 4_000) -> np.ndarray:
    """Return how often each text is drawn, [81]: the decoder's steps in one batch, without traces."""
    predictor = table_predictor(7)
    job = prepare(predictor, [[]] * draws, name, SHAPE, REWARD, options)
    sampler = TokenSampler(options.sampling_temperature, range(draws), draws, options.top_p, options.top_k)
    scorer = None if job.asked is None else Scorer(predictor, job.asked, job.prompts)
    decoder = Decoder(predictor, job.strategy, SHAPE.plan, options, job.ends, sampler, scorer, draws)
    decoder = layered(decoder if options.drawing == "completion" else drawn_at_commit(decoder))
    state, tokens = decoder.init(range(draws), [[]] * draws), torch.empty(draws, LENGTH, dtype=torch.int64)

    def keep(state: State, _: object) -> None:
        tokens[state.rows] = state.canvas.ids

    run(decoder, state, [keep])
    numbers = (tokens * WORDS ** torch.arange(LENGTH - 1, -1, -1)).sum(dim=1)
    return torch.bincount(numbers, minlength=len(TEXTS)).numpy()


@pytest.mark.parametrize(
    ("name", "cuts"), [("rws:4", {}), ("threshold:0.6", {}), ("rws:4", {"top_p": 0.8, "top_k": 2})]
)
def test_drawn_decodes_have_the_law(name: str, cuts: dict[str, Any]) -> None:
    """Chi square of 4,000 decodes with fixed seeds: a right law gives a p below 0.001 once in a thousand seeds."""
    options = replace(DRAWN, **cuts)
    seen, due = frequencies(name, options), 4_000 * np.exp(law(table_predictor(7), name, options=options).log_prob)
    assert not seen[due == 0].any() and (due == 0).any() == bool(cuts)
    rare = due < 5
    seen, due = (np.append(counts[~rare], counts[rare].sum()) for counts in (seen, due))
    assert stats.chisquare(seen[due > 0], due[due > 0]).pvalue > 0.001


def test_what_is_drawn_before_positions_are_chosen_has_another_law() -> None:
    """Public loops rank the drawn words: their decodes are far from the law of `commit`."""
    share = np.exp(law(table_predictor(7), "default").log_prob)
    assert abs(frequencies("default", Options(sampling_temperature=1.0)) / 4_000 - share).sum() > 0.1


def test_gaps_blocks_and_one_text_alone() -> None:
    """Each text of two gaps around a word, in one batch with the other texts and alone."""
    predictor, texts = table_predictor(11), list(product(range(WORDS), repeat=LENGTH - 1))
    canvas, shape = [WORDS, 1, WORDS, WORDS], Shape(LENGTH - 1, 3, 1)
    result = strategy_log_prob(predictor, None, texts, "rws:8", shape, canvas=canvas, reward=REWARD)
    assert np.exp(result.log_prob).sum() == pytest.approx(1, abs=1e-9)
    alone = strategy_log_prob(predictor, None, texts[16:17], "rws:8", shape, canvas=[canvas], reward=REWARD)
    assert alone.log_prob[0] == pytest.approx(result.log_prob[16], abs=1e-12)
    assert (result.commit_step == [0, 1, 2]).all()


def test_texts_are_read_as_ids() -> None:
    predictor = llada_predictor()
    ids = [predictor.encode_prompt("the cat")]
    text = strategy_log_prob(predictor, "a dog", ["the cat"])
    assert text.log_prob.tolist() == strategy_log_prob(predictor, "a dog", ids).log_prob.tolist()
    assert -np.inf < text.log_prob[0] < 0 and "1 texts" in repr(text)


def test_a_decode_that_draws_at_the_commit_is_saved_and_repeated(tmp_path: Any) -> None:
    """Its trace says how it drew; those of ordinary decodes are the bytes that they were."""
    predictor = table_predictor(13)
    (trace,) = decode(predictor, [[]], "rws:4", SHAPE, reward=REWARD, options=DRAWN)
    assert (trace.drawing, load(trace.save(tmp_path / "a.parquet"))) == ("commit", trace)
    (usual,) = decode(predictor, [[]], "rws:4", SHAPE, reward=REWARD)
    assert "drawing" not in usual.metadata() and load(usual.save(tmp_path / "b.parquet")) == usual
    assert (replay_with(trace, predictor).tokens == trace.tokens).all()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"answers": [[0, 0, 0]]}, "answers have 3 tokens"),
        ({"answers": [[0, 0, 0, 9]]}, "answers hold 9"),
        *(({"answers": given}, "answers ... is ") for given in (None, 3, {0}, [b"a"], {"a": [0]}, [[]], [[0, -1]])),
        ({"answers": [[0, 0, 0, 0]] * 3, "prompts": [[], []]}, "answers are 3"),
        ({"strategy": "remdm:0.2"}, "strategy remdm takes words back, and has no law"),
        ({"options": Options(sampling_temperature=1.0)}, "drawing is 'completion'"),
    ],
)
def test_bad_input_gets_one_line(change: dict[str, Any], named: str) -> None:
    usual: dict[str, Any] = {"prompts": [[]], "answers": [[0, 0, 0, 0]], "strategy": "default", "shape": SHAPE}
    predictor = table_predictor(1)
    refused(lambda: strategy_log_prob(predictor, **usual | change), named)
    steering = {"reward": REWARD, "options": DRAWN}
    refused(lambda: steer(predictor, [[]], "best-of:2", SHAPE, **steering), "drawing is 'commit'")
