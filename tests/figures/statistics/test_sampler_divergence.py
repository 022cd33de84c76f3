"""How far a sampler's law is from an exact world's: the estimate beside the sum over all texts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from paper_figures.statistics.sampler_divergence import sampler_divergence
from rws_decode import Options, Shape, WorldPredictor, load_predictor, strategy_log_prob
from rws_decode.text.words import Words
from rws_theory.worlds import NGram

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
    found = sampler_divergence(predictor, [PROMPT], strategy, SHAPE, draws=2000, rng=np.random.default_rng(0))
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
