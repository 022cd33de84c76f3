"""Causal reward models: scores at the right token, and the same with a key-value cache as without."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from examples import examples
from grouped import grouped
from hypothesis import given, settings
from hypothesis import strategies as st
from json_files import write_json
from tiny_models import CLS, EOS, LLAMA_SIZES, SEP, VOCABULARY, WORDS, bert_predictor, llada_predictor, word_tokenizer

from rws_decode import RWS, CallableReward, CausalReward, Savings, decode, load_reward
from rws_decode.extra.testing.strategies import edited_texts

SIZES = LLAMA_SIZES | {"num_labels": 1}
BYTES_PER_TOKEN = 2 * 2 * 2 * 4 * 4  # keys and values, layers, kv heads, head dim, float32


def llama(seed: int = 0, **changes: Any) -> transformers.PreTrainedModel:
    torch.manual_seed(seed)
    return transformers.LlamaForSequenceClassification(transformers.LlamaConfig(**SIZES | changes)).eval()


def mistral(seed: int = 0, window: int = 6) -> transformers.PreTrainedModel:
    torch.manual_seed(seed)
    return transformers.MistralForSequenceClassification(
        transformers.MistralConfig(**SIZES, sliding_window=window)
    ).eval()


def gpt2(seed: int = 0) -> transformers.PreTrainedModel:
    torch.manual_seed(seed)
    names = {"vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 128}
    config = transformers.GPT2Config(**names, num_labels=1, initializer_range=0.6, bos_token_id=CLS, eos_token_id=EOS)
    return transformers.GPT2ForSequenceClassification(config).eval()


def qwen_next(seed: int = 0) -> transformers.PreTrainedModel:
    """Build a classifier with linear attention, whose state cannot be cut back."""
    torch.manual_seed(seed)
    sizes = SIZES | {f"linear_{name}": 4 for name in ("key_head_dim", "value_head_dim")} | {"head_dim": 4}
    sizes |= {"linear_num_value_heads": 2, "linear_num_key_heads": 2, "num_experts": 0}
    config = transformers.Qwen3NextConfig(**sizes, layer_types=["linear_attention", "full_attention"])
    return transformers.Qwen3NextForSequenceClassification(config).eval()


MODELS = {"llama": llama, "mistral": mistral, "gpt2": gpt2}


def reward(
    model: transformers.PreTrainedModel, codec: transformers.PreTrainedTokenizerFast | None = None, **options: Any
) -> CausalReward:
    return CausalReward(model, word_tokenizer() if codec is None else codec, mean=0.0, std=1.0, **options)


def by_definition(model: transformers.PreTrainedModel, ids: list[int]) -> float:
    """The score head at the last token of a text that is read whole, alone."""
    with torch.inference_mode():
        hidden = model.base_model(input_ids=torch.tensor([ids]), use_cache=False).last_hidden_state
        return float(model.score(hidden[0, -1]))


texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@given(
    st.sampled_from(sorted(MODELS)),
    st.integers(0, 3),
    st.lists(st.tuples(texts, edited_texts()), min_size=1, max_size=3),
    st.sampled_from([0, 40 * BYTES_PER_TOKEN, 90 * BYTES_PER_TOKEN, 2**31]),
)
@settings(max_examples=examples(40))
def test_sessions_score_whole_texts(name: str, seed: int, rows: list[tuple[str, list[str]]], cache_bytes: int) -> None:
    # In float64: in float32 both ways round, by more than 1e-5 for some of these networks.
    model = reward(MODELS[name](seed).double(), cache_bytes=cache_bytes)
    session = model.session(len(rows))
    read = [0] * len(rows)
    for step in range(max(len(answers) for _, answers in rows)):
        there = [row for row, (_, answers) in enumerate(rows) if step < len(answers)]
        prompts, answers = [rows[row][0] for row in there], [rows[row][1][step] for row in there]
        expected = [by_definition(model.model, model.ids(*pair)) for pair in zip(prompts, answers, strict=True)]
        assert session.score(there, prompts, answers) == pytest.approx(expected, abs=1e-6)
        assert session.bytes_held <= cache_bytes
        for row, prompt, answer in zip(there, prompts, answers, strict=True):
            read[row] += len(model.ids(prompt, answer))
    assert [sum(pair) for pair in zip(session.tokens, session.tokens_saved, strict=True)] == read


@pytest.mark.parametrize("name", MODELS)
def test_only_what_follows_the_first_change_is_read(name: str) -> None:
    model = reward(MODELS[name]())
    session = model.session(2)
    sizes: list[int] = []
    model.model.base_model.register_forward_pre_hook(
        lambda module, args, kwargs: sizes.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    # As ids: [CLS] the cat [SEP] ... [EOS]
    for answer in ("it sat on a mat", "it sat under a mat", "it sat under a mat", "it sat", "then it sat", ""):
        session.score([1], ["the cat"], [answer])
    assert sizes == [10, 4, 1, 1, 4, 1]
    assert (session.tokens, session.tokens_saved) == ([0, 21], [0, 6 + 9 + 6 + 4 + 4])


def test_the_memory_is_what_is_stated_and_least_recently_used_rows_go_first() -> None:
    model = reward(llama(), cache_bytes=20 * BYTES_PER_TOKEN)
    assert model.bytes_per_token == BYTES_PER_TOKEN
    session = model.session(3)
    for row in (0, 1, 0, 2):  # 8 tokens each: two rows fit
        session.score([row], ["the cat"], ["it sat ."])
    assert (session.tokens, session.tokens_saved) == ([9, 8, 8], [7, 0, 0])
    session.score([0], ["the cat"], ["it sat ."])
    session.score([1], ["the cat"], ["it sat ."])  # was dropped for row 2
    assert session.tokens == [10, 16, 8] and session.bytes_held == 16 * BYTES_PER_TOKEN
    layers = [layer for _, cache in session._cache.values() for layer in cache.layers]
    sizes = [tensor.untyped_storage().nbytes() for layer in layers for tensor in (layer.keys, layer.values)]
    assert sum(sizes) == session.bytes_held
    session.score([1], ["the " * 30], ["it sat ."])  # does not fit alone: scored, not kept
    assert session.bytes_held == 8 * BYTES_PER_TOKEN  # row 0
    session = reward(llama(), cache_bytes=16 * BYTES_PER_TOKEN).session(4)
    for _ in range(5):  # what does not fit as a batch still saves what it can
        session.score(range(4), ["the cat"] * 4, ["it sat ."] * 4)
    assert sum(session.tokens_saved) == 4 * 2 * 7  # in each call but the first, the two rows that are held


@pytest.mark.parametrize(
    ("name", "side"),
    [("llama", "left"), ("mistral", "right"), ("gpt2", "left"), ("no padding", "right"), ("padding ends text", "left")],
)
def test_batches_score_at_the_last_token_whatever_pads_or_ends_a_text(name: str, side: str) -> None:
    codec, model = word_tokenizer(), MODELS.get(name, llama)()
    codec.padding_side = side
    if name == "no padding":
        codec.pad_token = model.config.pad_token_id = None
    elif name == "padding ends text":
        codec.pad_token, model.config.pad_token_id = codec.eos_token, EOS
    prompts, answers = ["the cat", "a", "a small red bird flew"], ["sat on the mat .", "", "then it was blue"]
    reward_model = reward(model, codec)
    expected = [by_definition(model, ids) for ids in codec(prompts, answers)["input_ids"]]
    assert reward_model.score(prompts, answers) == pytest.approx(expected, abs=1e-5) and len(set(expected)) == 3
    for session in (reward_model.session(3), reward_model.session(3, cache=False)):
        assert session.score(range(3), prompts, answers) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "model",
    [qwen_next(), llama(rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0})],
    ids=["linear attention", "dynamic rope"],
)
def test_what_cannot_be_cut_back_is_read_anew(model: transformers.PreTrainedModel) -> None:
    reward_model = reward(model)
    session = reward_model.session(1)
    for answer in ("it sat .", "it ran ."):
        (score,) = session.score([0], ["the cat"], [answer])
        assert score == pytest.approx(by_definition(model, reward_model.ids("the cat", answer)), abs=1e-5)
    assert not reward_model.keeps_cache and (session.tokens, session.tokens_saved, session.bytes_held) == ([16], [0], 0)


@given(
    st.sampled_from([llama, gpt2]),
    st.sampled_from([bert_predictor, llada_predictor]),
    st.integers(0, 50),
    st.lists(texts, min_size=1, max_size=3),
    st.sampled_from([0.5, 2.0, 8.0, 32.0]),
    st.sampled_from([1, 2]),
)
@settings(max_examples=examples(15))
def test_a_decode_is_the_same_with_and_without_the_cache(
    build: Any, predictor_of: Any, seed: int, prompts: list[str], scale: float, per_step: int
) -> None:
    model, predictor = reward(build(seed).double(), cache_bytes=2**20), predictor_of(seed)
    plain = CallableReward(lambda prompt, answer: model.score([prompt], [answer])[0], name=model.name)
    shape = {"length": 8, "steps": 8 // per_step, "block": 8}
    runs = [
        decode(predictor, prompts, RWS(scale), reward=scorer, savings=Savings(cache=cache), **grouped(**shape))
        for scorer, cache in ((model, True), (model, False), (plain, True))
    ]
    for cached, whole, called in zip(*runs, strict=True):
        for other in (whole, called):
            assert cached.tokens.tolist() == other.tokens.tolist()
            assert cached.commit_step.tolist() == other.commit_step.tolist()
            assert cached.reward_raw == pytest.approx(other.reward_raw, abs=1e-5)
            assert cached.reward_calls == other.reward_calls
        assert cached.reward_tokens + cached.reward_tokens_saved == whole.reward_tokens
        assert cached.reward_tokens_saved >= cached.reward_calls - 1 and whole.reward_tokens_saved == 0


CHAT = (
    "{{ bos_token }}{% for m in messages %}[SEP] {{ m['role'] == 'user' and 'the' or 'a' }} {{ m['content'] }} "
    "{% endfor %}{{ date_string if date_string is defined else 'it' }} [EOS]"
)


@pytest.mark.parametrize("chat", [CHAT, CHAT.replace("{{ bos_token }}", "")], ids=["template's bos", "tokenizer's bos"])
def test_the_chat_template_has_one_beginning_of_text(tmp_path: Path, chat: str) -> None:
    codec = word_tokenizer()
    codec.bos_token, codec.chat_template = "[CLS]", chat
    for part in (llama(), codec):
        part.save_pretrained(tmp_path / "chat")
    write_json(tmp_path / "chat" / "reward.json", {"mean": 0.0, "std": 1.0, "template": "chat"})
    reward_model = load_reward(str(tmp_path / "chat"))
    assert isinstance(reward_model, CausalReward)
    ids = reward_model.ids("cat", "sat .")
    assert ids.count(CLS) == 1 and ids[0] == CLS and ids[-1] == EOS
    words = word_tokenizer().convert_tokens_to_ids(["the", "cat", "[SEP]", "a", "sat", "."])
    assert ids[1:8] == [SEP, *words[:2], SEP, *words[3:]]
    assert reward_model.score(["cat"], ["sat ."]) == pytest.approx([by_definition(llama(), ids)], abs=1e-5)
