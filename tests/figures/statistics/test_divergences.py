"""How far a method's law is from the tilt, and a sampler's from an exact world's, beside sums over all texts."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.__main__ import main
from paper_figures.statistics.sampler_divergence import sampler_divergence
from paper_figures.statistics.tilt_divergence import divergences, kl_divergence, small_world
from rws_decode import Options, Shape, WorldPredictor, load_predictor, strategy_log_prob
from rws_decode.text.words import Words
from rws_theory.worlds import NGram


@given(st.lists(st.integers(0, 50), min_size=2, max_size=9).filter(any), st.randoms(use_true_random=False))
def test_the_divergence_is_the_sum_over_texts(counts: list[int], random: object) -> None:
    law = np.random.default_rng(len(counts)).dirichlet(np.ones(len(counts)))
    slow = sum(
        (count / sum(counts)) * math.log(count / sum(counts) / p) for count, p in zip(counts, law, strict=True) if count
    )
    assert kl_divergence(np.array(counts), law) == pytest.approx(slow, abs=1e-12) and slow > -1e-12


def test_exact_draws_have_the_divergence_that_their_number_gives() -> None:
    world = small_world(0)
    rng, law = np.random.default_rng(0), world.tilt(1.0)
    many = [kl_divergence(np.bincount(rng.choice(81, 4000, p=law), minlength=81), law) for _ in range(50)]
    assert np.mean(many) == pytest.approx(80 / 8000, rel=0.2)


def test_a_small_world_is_normalised_and_its_tilt_is_the_definition() -> None:
    world = small_world(3, vocabulary=2, length=3)
    assert len(world.texts) == 8 and world.p.sum() == pytest.approx(1.0)
    weights = [p * math.exp(2.0 * reward) for p, reward in zip(world.p, world.rewards, strict=True)]
    assert world.tilt(2.0) == pytest.approx(np.array(weights) / sum(weights))
    assert small_world(3, 2, 3).rewards.tolist() == world.rewards.tolist() != small_world(4, 2, 3).rewards.tolist()


def test_particles_come_nearer_with_a_larger_budget_and_a_plain_draw_does_not() -> None:
    rows = list(divergences([0], ["random-order", "rws:8", "particles"], [4, 64], beta=1.5, draws=400))
    kl = {row.method: row.kl for row in rows}
    assert kl["exact draws"] < kl["particles:21"] + 0.05 < kl["particles:1"] < kl["rws:8"]
    assert kl["particles:1"] == pytest.approx(kl["random-order"], abs=0.3)
    forwards = {row.method: row.forwards for row in rows}
    assert forwards["particles:1"] == forwards["random-order"] == 4.0 and 4 < forwards["particles:21"] <= 64


def test_the_command_prints_a_table_and_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["steering", "--methods", "default", "best-of", "--budgets", "7", "--worlds", "2", "--draws", "50"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "exact draws" in printed and "best-of:2" in printed
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2 * 3


PROMPT = "war"
SHAPE = Shape(4, 2, 4)


def small() -> WorldPredictor:
    words = Words(["peace", "and", "war"])
    text = words.ids("peace and war and peace and peace war war and war peace")
    return WorldPredictor(NGram.fit([text], order=2, vocabulary=3), words)


@pytest.mark.parametrize("strategy", ["default", "temperature:4", "margin", "threshold:0.6", "left-to-right"])
def test_the_means_are_the_sums_over_all_texts(strategy: str) -> None:
    predictor = small()
    texts = np.array(list(product(range(3), repeat=SHAPE.length)))
    context = predictor.encode_prompt(PROMPT)
    log_p = np.array([predictor.world.log_prob(text, context=context) for text in texts])
    options = Options(sampling_temperature=1.0, drawing="commit")
    log_q = strategy_log_prob(predictor, PROMPT, texts, strategy, SHAPE, options=options).log_prob
    found = sampler_divergence(predictor, [PROMPT], strategy, SHAPE, draws=300, rng=np.random.default_rng(0))
    for law, ratio, drawn in ((log_p, log_p - log_q, found.world), (log_q, log_q - log_p, found.sampler)):
        exact = np.exp(law) @ ratio
        spread = np.sqrt(np.exp(law) @ (ratio - exact) ** 2 / drawn.size)
        assert exact >= 0 and abs(drawn.mean() - exact) < 5 * spread + 1e-9


@pytest.mark.parametrize("strategy", ["default", "temperature:4", "random-order"])
def test_one_word_a_step_is_the_worlds_law(strategy: str) -> None:
    english = load_predictor("english")
    found = sampler_divergence(
        english, english.prompts[:2], strategy, Shape(4, 4, 4), draws=2, rng=np.random.default_rng(0)
    )
    assert np.allclose(found.world, 0, atol=1e-9) and np.allclose(found.sampler, 0, atol=1e-9)


def test_an_interval_is_over_prompts_and_the_seed_decides() -> None:
    english = load_predictor("english")
    once, again = (
        sampler_divergence(
            english, english.prompts[:3], "random-order", Shape(4, 2, 4), draws=2, rng=np.random.default_rng(7)
        )
        for _ in range(2)
    )
    assert np.array_equal(once.world, again.world) and np.array_equal(once.sampler, again.sampler)
    interval = once.interval(once.world, np.random.default_rng(0))
    assert interval.low < once.world.mean() == pytest.approx(interval.mean) and interval.mean < interval.high
    with pytest.raises(ValueError, match="draws is 0"):
        sampler_divergence(english, ["peace"], "default", Shape(2), draws=0, rng=np.random.default_rng(0))
