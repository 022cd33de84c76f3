"""Scores of answers and perplexity by a sliding window against one forward per token, also on a real model."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from misuse import refused

from paper_figures.statistics import CausalScorer, Perplexity, answer_scores, load_causal, perplexity, windows
from rws_decode.extra.testing import EOS, llama, word_tokenizer

TEXTS = [
    "the cat sat on the mat .",
    "",
    "a",
    "it was red and blue and small . " * 6,
    "a dog ran under the tree",
    "the bird flew over a hill and then it sat . the dog and the cat ran . " * 2,
]
PROMPTS = ["the dog", "a", "", "the bird sat on the hill . " * 5, "", "it was small and"]


def with_bos(given: bool) -> CausalScorer:
    codec = word_tokenizer()
    if given:
        codec.bos_token = "[CLS]"
    return CausalScorer(llama(3), codec, "tiny-causal")


def slow(causal: CausalScorer, prompt: str, text: str, window: int, stride: int) -> tuple[float, int]:
    """Follow transformers' guide token by token: each is predicted from its window's tokens before it."""
    codec = causal.tokenizer
    vocabulary = codec.get_vocab()
    ids = [vocabulary[word] for word in (prompt + " " + text).split()]
    skipped = len(prompt.split())
    if codec.bos_token_id is not None:
        ids, skipped = [codec.bos_token_id, *ids], skipped + 1
    total, count, reached = 0.0, 0, 0
    for begin in range(0, len(ids), stride):
        stop = min(begin + window, len(ids))
        for position in range(reached, stop):
            if position < skipped or position == 0:
                continue
            assert position - begin >= min(position, window - stride)
            with torch.inference_mode():
                row = causal.model(input_ids=torch.tensor([ids[begin:position]])).logits[0, -1].double()
            total += float(row.logsumexp(0) - row[ids[position]])
            count += 1
        reached = stop
        if stop == len(ids):
            break
    return total, count


@pytest.mark.parametrize(
    ("window", "stride", "bos", "prompted"),
    [(64, 32, False, True), (16, 8, True, False), (9, 1, True, True), (12, 11, False, False)],
)
def test_scores_are_those_of_one_forward_per_token(window: int, stride: int, bos: bool, prompted: bool) -> None:
    causal = with_bos(bos)
    prompts = PROMPTS if prompted else None
    measured = perplexity(causal, TEXTS, prompts=prompts, window=window, stride=stride)
    expected = [slow(causal, p, t, window, stride) for p, t in zip(prompts or [""] * len(TEXTS), TEXTS, strict=True)]
    assert [score.tokens for score in measured.scores] == [count for _, count in expected]
    np.testing.assert_allclose([score.nll for score in measured.scores], [nll for nll, _ in expected], rtol=1e-5)
    assert (measured.window, measured.stride, measured.model) == (window, stride, "tiny-causal")
    total, count = (sum(column) for column in zip(*expected, strict=True))
    assert measured.pooled == pytest.approx(math.exp(total / count), rel=1e-5)
    known = [math.exp(nll / tokens) for nll, tokens in expected if tokens]
    assert measured.mean == pytest.approx(np.mean(known), rel=1e-5)


@given(st.integers(0, 60), st.integers(2, 20), st.data())
def test_windows_score_each_token_once_with_enough_before_it(length: int, window: int, data: st.DataObject) -> None:
    stride, first = data.draw(st.integers(1, window - 1)), data.draw(st.integers(1, 70))
    scored = []
    for part in windows(length, window, stride, first):
        assert 0 < part.stop - part.begin <= window and part.stop <= length
        assert part.begin < part.first < part.stop
        for token in range(part.first, part.stop):
            assert token - part.begin >= min(token, window - stride)
            scored.append(token)
    assert scored == list(range(first, length))


def test_what_has_nothing_to_score_has_a_status_and_no_number() -> None:
    bare, marked = with_bos(False), with_bos(True)
    assert [score.status for score in perplexity(bare, TEXTS[:3]).scores] == ["scored", "empty", "no context"]
    assert [score.status for score in perplexity(marked, TEXTS[:3]).scores] == ["scored", "empty", "scored"]
    assert perplexity(bare, ["a"], prompts=["the"]).scores[0].status == "scored"
    for nothing in (perplexity(bare, ["", "a", " "]), perplexity(bare, []), perplexity(marked, [""], prompts=["a"])):
        assert nothing.pooled is None and nothing.mean is None
        assert all(value is None for value in nothing.per_text)
    mixed = perplexity(bare, ["", TEXTS[0]])
    assert mixed.per_text[0] is None and mixed.mean == mixed.pooled == mixed.per_text[1]


def test_the_default_model_is_the_users_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RWS_CAUSAL", raising=False)
    assert load_causal().name == "mini-causal"
    scorer = with_bos(True)
    scorer.model.save_pretrained(tmp_path / "own")
    scorer.tokenizer.save_pretrained(tmp_path / "own")
    monkeypatch.setenv("RWS_CAUSAL", str(tmp_path / "own"))
    chosen = load_causal()
    assert chosen.name == "own"
    assert perplexity(chosen, TEXTS, window=16) == Perplexity(perplexity(scorer, TEXTS, window=16).scores, "own", 16, 8)
    assert load_causal("mini").model.config.vocab_size != chosen.model.config.vocab_size
    assert load_causal(dtype="bfloat16").model.dtype == torch.bfloat16
    refused(lambda: load_causal(dtype="int8"), "dtype is 'int8'")


CAUSAL = CausalScorer(llama(3), word_tokenizer(), "tiny-causal")


ASKED = ["the cat sat on the mat .", "a dog", "", "it was red and blue", "the bird"]


SAID = ["then it ran .", "", "the small bird flew over the tree . then it sat on a hill .", "a", "unheard of"]


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
    slow = [slow_nll(prompt, answer) for prompt, answer in zip(ASKED, SAID, strict=True)]
    for batch_size in (1, 2, 5):
        scores = answer_scores(CAUSAL, ASKED, SAID, batch_size=batch_size)
        np.testing.assert_allclose([score.nll for score in scores], [nll for nll, _ in slow], rtol=1e-5)
        assert [score.tokens for score in scores] == [tokens for _, tokens in slow]
    perplexities = [score.perplexity for score in answer_scores(CAUSAL, ASKED, SAID)]
    np.testing.assert_allclose(perplexities, [math.exp(nll / tokens) for nll, tokens in slow], rtol=1e-5)
