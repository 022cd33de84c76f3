"""Perplexity, distinct-n and intervals against slow references."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from paper_figures.statistics.causal_scores import (
    CausalScorer,
    answer_scores,
    load_causal,
)
from paper_figures.statistics.distinct_n import distinct_n
from paper_figures.statistics.intervals import (
    bootstrap_interval,
    clustered_interval,
    paired_bootstrap_interval,
    share_interval,
)
from rws_decode.testing.networks import EOS, WORDS, llama, word_tokenizer

CAUSAL = CausalScorer(llama(3), word_tokenizer(), "tiny-causal")
PROMPTS = ["the cat sat on the mat .", "a dog", "", "it was red and blue", "the bird"]
ANSWERS = ["then it ran .", "", "the small bird flew over the tree . then it sat on a hill .", "a", "unheard of"]


def slow_nll(prompt: str, answer: str) -> tuple[float, int]:
    """Sum -log softmax(logits)[next token] one prefix at a time, from the definition."""
    codec = CAUSAL.tokenizer
    prefix = list(codec(prompt)["input_ids"])
    scored = [codec.convert_tokens_to_ids(word) for word in answer.split()] + [EOS]
    total = 0.0
    for token in scored:
        with torch.inference_mode():
            row = CAUSAL.model(input_ids=torch.tensor([prefix])).logits[0, -1].tolist()
        largest = max(row)
        total += largest + math.log(math.fsum(math.exp(z - largest) for z in row)) - row[token]
        prefix.append(token)
    return total, len(scored)


def test_scores_are_the_slow_scores_alone_and_in_batches() -> None:
    slow = [slow_nll(prompt, answer) for prompt, answer in zip(PROMPTS, ANSWERS, strict=True)]
    for batch_size in (1, 2, 5):
        scores = answer_scores(CAUSAL, PROMPTS, ANSWERS, batch_size=batch_size)
        np.testing.assert_allclose([score.nll for score in scores], [nll for nll, _ in slow], rtol=1e-5)
        assert [score.tokens for score in scores] == [tokens for _, tokens in slow]
    perplexities = [score.perplexity for score in answer_scores(CAUSAL, PROMPTS, ANSWERS)]
    np.testing.assert_allclose(perplexities, [math.exp(nll / tokens) for nll, tokens in slow], rtol=1e-5)


def test_the_context_is_that_of_a_pair() -> None:
    codec = CAUSAL.tokenizer
    together = codec("the cat", "sat on")["input_ids"]
    assert together == codec("the cat")["input_ids"] + codec("sat on", add_special_tokens=False)["input_ids"] + [EOS]


def test_an_empty_answer_is_its_end() -> None:
    (score,) = answer_scores(CAUSAL, ["a dog"], [""])
    assert score.tokens == 1
    assert score.nll > 0


def test_scoring_refuses_what_it_cannot_score() -> None:
    with pytest.raises(ValueError, match=r"answers has 1 texts: prompts has 2"):
        answer_scores(CAUSAL, ["a", "b"], ["a"])
    with pytest.raises(ValueError, match=r"71 tokens: causal model tiny-causal reads at most 64"):
        answer_scores(CAUSAL, ["a"], [" ".join(["cat"] * 67)])
    endless = word_tokenizer()
    endless.eos_token = None
    with pytest.raises(ValueError, match=r"no end-of-text token"):
        answer_scores(CausalScorer(llama(), endless), ["a"], ["b"])


def test_a_saved_causal_model_scores_the_same(tmp_path: Path) -> None:
    CAUSAL.model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="no tokenizer"):
        load_causal(str(tmp_path))
    CAUSAL.tokenizer.save_pretrained(tmp_path)
    again = load_causal(str(tmp_path))
    assert again.name == tmp_path.name
    assert answer_scores(again, PROMPTS, ANSWERS) == answer_scores(CAUSAL, PROMPTS, ANSWERS)
    with pytest.raises(ValueError, match="causal is 'nowhere'"):
        load_causal("nowhere")


def test_a_causal_model_without_all_its_weights_is_refused(tmp_path: Path) -> None:
    weights = CAUSAL.model.state_dict()
    CAUSAL.model.save_pretrained(tmp_path, state_dict={name: weights[name] for name in weights if "norm" not in name})
    CAUSAL.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="lacks weights"):
        load_causal(str(tmp_path))


@given(st.lists(st.lists(st.sampled_from(WORDS[:4]), max_size=6), max_size=4), st.integers(1, 3))
def test_distinct_n_counts_like_the_definition(lines: list[list[str]], n: int) -> None:
    seen = set()
    for line in lines:
        for start in range(len(line)):
            if start + n <= len(line):
                seen.add(" ".join(line[start : start + n]))
    tokens = len(list(itertools.chain(*lines)))
    texts = [" ".join(line) for line in lines]
    assert distinct_n(texts, n) == (len(seen) / tokens if tokens else 0.0)


def test_bootstrap_is_the_quantile_of_resampled_means() -> None:
    values = np.random.default_rng(1).normal(size=40)
    interval = bootstrap_interval(values, np.random.default_rng(0))
    means = [np.random.default_rng([7, draw]).choice(values, 40).mean() for draw in range(4000)]
    low, high = np.quantile(means, [0.025, 0.975])
    assert interval.mean == values.mean()
    assert (interval.low, interval.high) == (pytest.approx(low, abs=0.03), pytest.approx(high, abs=0.03))
    assert interval == bootstrap_interval(values, np.random.default_rng(0))
    wider = bootstrap_interval(values, np.random.default_rng(0), level=0.99)
    assert wider.low < interval.low < interval.mean < interval.high < wider.high


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=8), st.integers(0, 9))
def test_paired_interval_is_that_of_the_differences(pairs: list[tuple[float, float]], seed: int) -> None:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    interval = paired_bootstrap_interval(first, second, np.random.default_rng(seed), resamples=200)
    assert interval == bootstrap_interval(first - second, np.random.default_rng(seed), resamples=200)
    assert (first - second).min() - 1e-9 <= interval.low <= interval.high <= (first - second).max() + 1e-9


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=2, max_size=12))
def test_an_interval_over_groups_sums_within_them(rows: list[tuple[int, int]]) -> None:
    groups, values = [group for group, _ in rows], [float(value) for _, value in rows]
    mean, low, high = clustered_interval(values, groups)
    names, middle = set(groups), sum(values) / len(values)
    assert mean == pytest.approx(middle)
    if len(names) < 2 or len(set(values)) == 1:
        assert (low, high) == (-math.inf, math.inf)
        return
    sums = [sum(value - middle for group, value in zip(groups, values, strict=True) if group == name) for name in names]
    error = math.sqrt(len(names) / (len(names) - 1) * sum(total**2 for total in sums)) / len(values)
    assert stats.t.cdf((high - mean) / error, len(names) - 1) == pytest.approx(0.975) if error > 1e-9 else low <= high
    assert high - mean == pytest.approx(mean - low)


def test_intervals_refuse_what_has_none() -> None:
    rng = np.random.default_rng(0)
    for bad in ([], [[1.0]], [1.0, math.nan], [math.inf]):
        with pytest.raises(ValueError, match="values"):
            bootstrap_interval(bad, rng)
    with pytest.raises(ValueError, match="level is 1"):
        bootstrap_interval([1.0, 2.0], rng, level=1)
    with pytest.raises(ValueError, match="second has 1 values"):
        paired_bootstrap_interval([1.0, 2.0], [1.0], rng)
    with pytest.raises(ValueError, match="successes is 3"):
        share_interval(3, 2)


@given(st.integers(0, 30), st.integers(1, 30))
def test_share_interval_solves_wilsons_equation(successes: int, total: int) -> None:
    successes = min(successes, total)
    share, low, high = share_interval(successes, total)
    z = 1.959963984540054
    for bound in {low, high} - {0.0, 1.0}:
        assert abs(share - bound) == pytest.approx(z * math.sqrt(bound * (1 - bound) / total), rel=1e-6, abs=1e-9)
    assert low <= share <= high
