"""How far laws are from an exact world, and the best text over all orders, beside sums over all."""

from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.statistics import order_ceiling, sampler_divergence, share_of_room
from rws_decode import Options, Shape, WorldPredictor, decode, load_predictor, strategy_log_prob
from rws_decode.extra.testing import exact_predictor
from rws_decode.text.words import Words
from rws_theory.worlds import JointTable, NGram

PROMPT = "war"
SHAPE = Shape(4, 2, 4)


def small() -> WorldPredictor:
    words = Words(["peace", "and", "war"])
    text = words.ids("peace and war and peace and peace war war and war peace")
    return WorldPredictor(NGram.fit([text], order=2, vocabulary=3), words)


@pytest.mark.parametrize("strategy", ["default", "temperature:4", "threshold:0.6", "left-to-right"])
def test_the_means_are_the_sums_over_all_texts(strategy: str) -> None:
    predictor = small()
    texts = np.array(list(product(range(3), repeat=SHAPE.length)))
    context = predictor.encode_prompt(PROMPT)
    log_p = np.array([predictor.world.log_prob(text, context=context) for text in texts])
    options = Options(sampling_temperature=1.0, drawing="commit")
    log_q = strategy_log_prob(predictor, PROMPT, texts, strategy, SHAPE, options=options).log_prob
    found = sampler_divergence(predictor, [PROMPT], strategy, SHAPE, draws=100, rng=np.random.default_rng(0))
    for law, ratio, drawn in ((log_p, log_p - log_q, found.world), (log_q, log_q - log_p, found.sampler)):
        exact = np.exp(law) @ ratio
        spread = np.sqrt(np.exp(law) @ (ratio - exact) ** 2 / drawn.size)
        assert exact >= 0 and abs(drawn.mean() - exact) < 5 * spread + 1e-9


def test_one_word_a_step_is_the_worlds_law_and_the_seed_decides() -> None:
    english, one_by_one = load_predictor("english"), Shape(4, 4, 4)
    for strategy in ("temperature:4", "random-order"):
        rng = np.random.default_rng(0)
        found = sampler_divergence(english, english.prompts[:2], strategy, one_by_one, draws=2, rng=rng)
        assert np.allclose(found.world, 0, atol=1e-9) and np.allclose(found.sampler, 0, atol=1e-9)
    pair = [np.random.default_rng(7) for _ in range(2)]
    prompts = english.prompts[:3]
    once, again = (sampler_divergence(english, prompts, "random-order", Shape(4, 2, 4), draws=2, rng=r) for r in pair)
    assert np.array_equal(once.world, again.world) and np.array_equal(once.sampler, again.sampler)
    interval = once.interval(once.world)
    assert interval.low < once.world.mean() == pytest.approx(interval.mean) and interval.mean < interval.high
    with pytest.raises(ValueError, match="draws is 0"):
        sampler_divergence(english, ["peace"], "default", Shape(2), draws=0, rng=np.random.default_rng(0))


def _texts(predictor, canvas: list[int], plan) -> list[tuple[int, ...]]:
    """Return the text of every order, one after another."""
    if not plan:
        return [tuple(canvas)]
    best = predictor.logits(torch.tensor([canvas]), None)[0].argmax(dim=-1).tolist()
    start, stop, commits = plan[0]
    masked = [i for i in range(start, stop) if canvas[i] == predictor.mask_id]
    found = []
    for chosen in combinations(masked, commits):
        after = [best[i] if i in chosen else token for i, token in enumerate(canvas)]
        found += _texts(predictor, after, plan[1:])
    return found


@given(
    st.integers(0, 10**6),
    st.sampled_from([Shape(4, 4, 4), Shape(4, 2, 4), Shape(4, 4, 2), Shape(5, 3, 5), Shape(4, 2, 2)]),
    st.sampled_from([None, 1, 3, 10**4]),
)
def test_no_order_reaches_more_and_one_reaches_as_much(seed: int, shape: Shape, beam: int | None) -> None:
    rng = np.random.default_rng(seed)
    predictor = exact_predictor(JointTable(rng.normal(0, 2, (2,) * shape.length)))
    worth = rng.normal(size=(2,) * shape.length)
    best = order_ceiling(predictor, [], lambda texts: worth[tuple(texts.T)], shape, beam=beam)
    reached = [worth[text] for text in _texts(predictor, [predictor.mask_id] * shape.length, shape.plan)]
    assert best.value == worth[tuple(best.tokens)] and best.value in reached
    assert not best.exact or best.value == max(reached)
    assert best.exact or beam in (1, 3)
    canvas = np.full(shape.length, predictor.mask_id)
    for step, planned in enumerate(shape.plan):  # the steps that it tells are those of a greedy decode
        now = best.commit_step == step
        assert now.sum() == planned.commits and not now[: planned.start].any() and not now[planned.stop :].any()
        words = predictor.logits(torch.from_numpy(canvas[None]), None)[0].argmax(dim=-1).numpy()
        canvas[now] = words[now]
    assert canvas.tolist() == best.tokens.tolist()
    for strategy in ("default", "random-order", "margin"):
        (trace,) = decode(predictor, [[]], strategy, shape)
        assert worth[tuple(trace.tokens)] in reached


def test_a_gap_is_filled_as_a_decode_fills_it() -> None:
    rng = np.random.default_rng(0)
    predictor = exact_predictor(JointTable(rng.normal(0, 2, (2,) * 4)))
    gap = [predictor.mask_id, 1, predictor.mask_id, predictor.mask_id]
    worth, shape = rng.normal(size=(2,) * 3), Shape(3, 3, 3)
    best = order_ceiling(predictor, gap, lambda texts: worth[tuple(texts.T)], shape)
    runs = [decode(predictor, [gap], "random-order", shape, options=Options(seed=seed))[0] for seed in range(40)]
    assert best.value == max(worth[tuple(run.tokens)] for run in runs)
    with pytest.raises(ValueError, match=r"the gaps of prompts\[0\] have length 3, give Shape\(3\)"):
        order_ceiling(predictor, gap, lambda texts: worth[tuple(texts.T)], Shape(4, 4, 4))


@pytest.mark.long
def test_the_interval_of_a_share_covers_it() -> None:
    """On rooms and gains as skewed as those of rewards, 60 prompts a trial."""
    rng, covered = np.random.default_rng(0), 0
    for _ in range(200):
        room, noise = rng.lognormal(1.0, 0.5, 60), rng.normal(0, 1.5, 60)
        found = share_of_room(0.2 * room + noise, np.zeros(60), room, rng)
        covered += found.low <= 0.2 <= found.high
    assert covered >= 180  # of 200, at a level of 0.95
