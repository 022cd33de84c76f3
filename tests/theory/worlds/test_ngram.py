"""N-gram worlds against a model that is written down from its definition and enumerated, and as they are stored."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_worlds import Case, cases, tilted

from rws_theory.worlds import MASK, Backoff, NGram, PartMemory, fit_backoff, keywords, pack, unpack

Floats = NDArray[np.float64]


@given(case=cases())
def test_texts_have_the_probabilities_of_the_definition(case: Case) -> None:
    got = np.array([case.world.log_prob(text, case.context) for text in case.texts])
    np.testing.assert_allclose(got, case.log_p, rtol=0, atol=1e-12)
    assert abs(np.exp(got).sum() - 1) < 1e-12


@given(drawn=tilted())
def test_conditionals_partition_and_means_are_those_of_enumeration(drawn: tuple[Case, NGram, Floats]) -> None:
    case, world, log_weight = drawn
    log_z = np.logaddexp.reduce(log_weight)
    p = np.exp(log_weight - log_z)
    assert world.log_partition(case.length, case.context) == pytest.approx(log_z, abs=1e-11)
    text = case.texts[-1]
    assert world.log_prob(text, case.context) == pytest.approx(log_weight[-1] - log_z, abs=1e-11)
    allowed = np.where(case.allowed, p, 0.0)
    total = np.log(allowed.sum()) + log_z
    assert world.log_partition(case.canvas, case.context) == pytest.approx(total, abs=1e-11)
    expected = np.zeros((case.length, case.vocabulary))
    for text, share in zip(case.texts, allowed / allowed.sum(), strict=True):
        expected[np.arange(case.length), text] += share
    np.testing.assert_allclose(np.exp(world.conditionals(case.canvas, case.context)), expected, rtol=0, atol=1e-12)
    for reward in case.rewards:
        mean = (allowed * case.scores(reward)).sum() / allowed.sum()
        assert world.mean(reward, case.canvas, case.context) == pytest.approx(mean, abs=1e-10)
    divergence = (p * (log_weight - log_z - case.log_p)).sum()
    assert world.divergence(case.length, case.context) == pytest.approx(divergence, abs=1e-10)


@pytest.mark.parametrize("context", [[], [0], [2, 1]])
def test_texts_after_a_context_have_probability_one_under_a_tilt(context: list[int]) -> None:
    world = NGram.fit([[0, 1, 2, 0, 0, 1] * 3], 2, vocabulary=3).tilt(np.array([1.0, 0.0, -1.0]), 1.0)
    texts = itertools.product(range(3), repeat=2)
    assert sum(np.exp(world.log_prob(text, context)) for text in texts) == pytest.approx(1, abs=1e-12)


@given(drawn=tilted())
def test_the_best_text_has_the_largest_weight_of_all_that_are_allowed(drawn: tuple[Case, NGram, Floats]) -> None:
    case, world, log_weight = drawn
    chosen = (case.texts == world.best(case.canvas, case.context)).all(axis=1)
    assert case.allowed[chosen].all()
    assert log_weight[chosen][0] == pytest.approx(log_weight[case.allowed].max(), abs=1e-11)


def test_keywords_may_span_words_and_overlap() -> None:
    world, reward = NGram.fit([[0, 1, 2] * 10], 2, vocabulary=3), keywords([[0, 0], [2, 1]], 3)
    texts = list(itertools.product(range(3), repeat=5))
    weights = [world.log_prob(text) + 9.0 * reward.score(text) for text in texts]
    best = tuple(world.tilt(reward, 9.0).best(5).tolist())
    assert reward.score(best) == 2 and weights[texts.index(best)] == pytest.approx(max(weights), abs=1e-11)
    reward = keywords([[1, 1], [1, 2], [3]], 4)
    assert reward.score([1, 1, 1, 2, 1, 2]) == 2.0
    assert reward.score([3, 0, 3]) == 1.0
    assert reward.score([1, 0, 2, 1]) == 0.0


@given(drawn=tilted(), seed=st.integers(0, 2**32))
@settings(max_examples=5)
def test_samples_have_the_laws_frequencies(drawn: tuple[Case, NGram, Floats], seed: int) -> None:
    case, world, log_weight = drawn
    p = np.where(case.allowed, np.exp(log_weight - log_weight.max()), 0.0)
    p /= p.sum()
    rng, draws = np.random.default_rng(seed), 400
    counts = Counter(tuple(world.sample(case.canvas, rng, case.context).tolist()) for _ in range(draws))
    shares = np.array([counts[tuple(text)] / draws for text in case.texts.tolist()])
    # Total variation of an empirical law: at most half the sum of deviations on average, and 1 in 10^6 is far above.
    bound = 0.5 * np.sqrt(p * (1 - p) / draws).sum() + np.sqrt(np.log(1e6) / (2 * draws))
    assert 0.5 * np.abs(shares - p).sum() <= bound
    assert sum(counts[tuple(text)] for text in case.texts[case.allowed].tolist()) == draws


@given(case=cases(), others=st.lists(st.integers(0, 3), max_size=3))
def test_a_batch_gives_what_single_canvases_give(case: Case, others: list[int]) -> None:
    canvases = [case.canvas, [*case.canvas, MASK], [MASK] * 7, *([token % case.vocabulary, MASK] for token in others)]
    contexts = [case.context if i % 2 else [] for i in range(len(canvases))]
    for world in (case.world, *(case.world.tilt(reward, 1.5) for reward in case.rewards)):
        together = world.conditionals_batch(canvases, contexts)
        for canvas, context, rows in zip(canvases, contexts, together, strict=True):
            assert (rows == world.conditionals(canvas, context)).all()  # to the last bit


def text_of(rng: np.random.Generator, words: int, vocabulary: int) -> NDArray[np.int64]:
    """Return a text whose words have Zipf's frequencies, each drawn near the one before: repeated n-grams occur."""
    ranks = np.minimum(rng.zipf(1.3, words), vocabulary) - 1
    return np.where(rng.random(words) < 0.5, ranks, (np.roll(ranks, 1) * 7 + 1) % vocabulary)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_conditionals_obey_bayes_rule_at_length(order: int) -> None:
    rng = np.random.default_rng(order)
    world = NGram.fit([text_of(rng, 20_000, 500)], order, vocabulary=500, minimum=list(range(1, order)))
    canvas = np.full(64, MASK)
    canvas[[3, 20, 21, 22, 40, 63]] = rng.integers(0, 500, 6)
    context = rng.integers(0, 500, 5)
    for model in (world, world.tilt(rng.normal(size=500), 2.0)):
        rows = model.conditionals(canvas, context)
        assert np.abs(np.logaddexp.reduce(rows, axis=1)).max() < 1e-12
        base = model.log_partition(canvas, context)
        for position in (0, 2, 4, 19, 23, 30, 62):
            word = int(rng.integers(0, 500))
            shown = canvas.copy()
            shown[position] = word
            assert rows[position, word] == pytest.approx(model.log_partition(shown, context) - base, abs=1e-10)


def test_a_commit_touches_only_its_part() -> None:
    world = NGram.fit([text_of(np.random.default_rng(0), 2_000, 50)], 3, vocabulary=50)
    canvas = np.full(20, MASK)
    canvas[[8, 9]] = 3, 4
    assert world.parts(canvas) == [(0, 10), (10, 20)]
    memory = PartMemory()
    (before,) = world.conditionals_batch([canvas], [()], memory)
    assert len(memory) == 2
    canvas[12] = 5
    (after,) = world.conditionals_batch([canvas], [()], memory)
    assert len(memory) == 3  # the first part was there
    assert (after == world.conditionals(canvas)).all()
    assert (before[:10] == after[:10]).all() and np.abs(np.exp(before[10:]) - np.exp(after[10:])).max() > 0.1
    memory = PartMemory(10 * 50 * 8 / 2**20)  # ten positions, to which it keeps
    for word in range(5):
        (rows,) = world.conditionals_batch([[MASK] * 5], [[word]], memory)
        assert (rows == world.conditionals([MASK] * 5, [word])).all() and len(memory) <= 2


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
        assert max(abs(again.row(state)[0].sum() - 1.0) for state in range(again.root + 1)) < 1e-12


@pytest.mark.parametrize("name", ["unigram", "states_2", "arcs_1", "word_2", "share_2"])
def test_arrays_that_do_not_fit_are_refused_in_one_line(name: str) -> None:
    arrays = pack(chain_of(3, 0))
    for wrong in ({key: value for key, value in arrays.items() if key != name}, arrays | {name: arrays[name][:-1]}):
        with pytest.raises(ValueError, match=r"^arrays are not those of `pack`: they do not fit each other"):
            unpack(wrong)
