"""What the notebooks' helpers compute: numbers that a slow count confirms."""

from itertools import product

import numpy as np
import pytest
from interactive_pages import data_of
from scipy.stats import binomtest, multinomial

from paper_figures.extra.notebook_plots import must_matter, order_worth, printed_tables
from rws_decode import Options, strategy_log_prob
from rws_theory.printed import printed_in


# notebook 7
def test_the_page_of_prompts_has_the_power_that_a_slow_count_gives() -> None:
    rows = printed_in("table1_win_rate")["rows"][:2]
    data = data_of(printed_tables.power_page(rows))
    assert data["at"] == list(printed_tables.SIZES) and data["names"] == [row["model"] for row in rows]
    shares, wide = data["cases"]
    win, loss, n = rows[0]["win"] / 100, rows[0]["default_win"] / 100, 10
    chance = 0.0  # every number of wins and losses that the exact test calls different
    for won, lost in product(range(n + 1), repeat=2):
        if 0 < won + lost <= n and binomtest(won, won + lost).pvalue <= 0.05:
            chance += multinomial.pmf([won, lost, n - won - lost], n, [win, loss, 1 - win - loss])
    assert shares["bars"][0]["values"][0][0] == pytest.approx(chance, abs=1e-4)
    low, high = printed_tables.net_interval(rows[0]["win"], rows[0]["default_win"], n)
    assert wide["bars"][0]["values"][0][0] == pytest.approx((high - low) / 2, rel=1e-3)
    assert all(line["values"] == sorted(line["values"]) for line in shares["lines"])


# notebook 11
def slow_divergence(memory: float, strategy: str, words: int, seed: int = 0) -> tuple[float, list[int]]:
    log_p = order_worth.chain(memory).table(8).log_p.ravel()
    drawn = Options(sampling_temperature=1.0, drawing="commit", seed=seed)
    predictor, shape = order_worth.predictor_of(memory), order_worth.shape_of(words)
    law = strategy_log_prob(predictor, [[]], order_worth.TEXTS, strategy, shape, options=drawn)
    return float(np.exp(log_p) @ (log_p - law.log_prob)), law.commit_step[order_worth.SHOWN].tolist()


@pytest.mark.parametrize(("words", "distance"), [(2, 1), (2, 3), (4, 3)])
def test_the_fast_divergences_of_the_chain_are_those_of_every_text(words: int, distance: int) -> None:
    far = f"+spacing:{distance}" if distance > 1 else ""
    memory = 0.6
    value, steps = order_worth.of_confidence(memory, words, distance)
    expected = slow_divergence(memory, f"default{far}", words)
    assert value == pytest.approx(expected[0], abs=1e-9) and steps.tolist() == expected[1]
    seeds = [np.random.default_rng(seed).random(8) for seed in range(2)]
    weights, steps = order_worth.of_orders(np.array(seeds), words, distance)
    slow = [slow_divergence(memory, f"random-order{far}", words, seed) for seed in range(2)]
    assert weights @ order_worth.set_entropies(memory) == pytest.approx(np.mean([each[0] for each in slow]), abs=1e-9)
    assert steps.tolist() == slow[0][1]


# lesson 13
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_many_models_at_once_are_compared_as_the_decoder_compares_one(noise: float) -> None:
    weights = must_matter.WEIGHTS * np.exp(noise * np.random.default_rng(0).standard_normal(must_matter.WEIGHTS.shape))
    slow = must_matter.twins(must_matter.model_of(weights))
    means = {name: np.mean([must_matter.mean_score(each) for each in runs]) for name, runs in slow.items()}
    unit, scale = must_matter.spread(weights), np.array([must_matter.SCALE])
    fast = must_matter.compared(weights[None], must_matter.SCORES[None], scale, must_matter.SD).differences
    assert {name: found[0] for name, found in fast.items()} == pytest.approx(
        {name: (means["RWS"] - mean) / unit for name, mean in means.items() if name != "RWS"}
    )
    if noise == 0:  # the bound (T100) is sharp: the whole range of the reward
        assert fast["tuned fixed factor"][0] * unit == pytest.approx(2)
