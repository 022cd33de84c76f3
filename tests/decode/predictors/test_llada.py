"""LLaDA: published checkpoints against a plain implementation of its network, its tokens, and its prompts."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_files import edit_json, stored_weights
from grouped import grouped
from reference_layers import rms_norm, rotate
from torch import Tensor
from torch.nn import functional as F

from rws_decode.decode import decode
from rws_decode.predictors import HFMaskPredictor, load_predictor
from rws_decode.predictors.bidirectional import BidirectionalPredictor
from rws_decode.settings import Shape
from rws_decode.strategies.factors import Confidence
from rws_decode.testing import tiny_checkpoint
from rws_decode.testing.diffusion import FIRST_SPECIAL, LLADA_IDS, LLADA_SPECIAL, llada_config, llada_tokenizer
from rws_decode.testing.weights import write_weights

MASK, END, TURN, BOS = (LLADA_IDS[name] for name in ("<|mdm_mask|>", "<|endoftext|>", "<|eot_id|>", "<|startoftext|>"))
CANVAS = torch.tensor([[BOS, 83, 257, MASK, 12, MASK, MASK], [BOS, 40, 41, 42, MASK, 200, MASK]])


def reference_logits(weights: dict[str, Tensor], config: dict[str, Any], ids: Tensor) -> Tensor:
    """Return logits [L, V] of one sequence [L]: LLaDA's blocks, every position seeing every other."""
    tensors = {name.removeprefix("model.transformer."): tensor for name, tensor in weights.items()}
    heads, shared = config["n_heads"], config["n_kv_heads"]
    size, eps, theta = config["d_model"] // heads, config["rms_norm_eps"], config["rope_theta"]
    x = tensors["wte.weight"][ids]  # [L, d]
    for layer in range(config["n_layers"]):
        part = {name.split(".")[2]: t for name, t in tensors.items() if name.startswith(f"blocks.{layer}.")}
        normed = rms_norm(x, part["attn_norm"], eps)
        query = (normed @ part["q_proj"].T).view(len(ids), heads, size).transpose(0, 1)
        key = (normed @ part["k_proj"].T).view(len(ids), shared, size).transpose(0, 1)
        value = (normed @ part["v_proj"].T).view(len(ids), shared, size).transpose(0, 1)
        key, value = (t.repeat_interleave(heads // shared, dim=0) for t in (rotate(key, theta), value))
        scores = rotate(query, theta) @ key.transpose(1, 2) / size**0.5  # [heads, L, L]
        mixed = scores.float().softmax(-1).to(x.dtype) @ value
        x = x + mixed.transpose(0, 1).reshape(len(ids), -1) @ part["attn_out"].T
        normed = rms_norm(x, part["ff_norm"], eps)
        x = x + (F.silu(normed @ part["ff_proj"].T) * (normed @ part["up_proj"].T)) @ part["ff_out"].T
    head = tensors["wte.weight" if config["weight_tying"] else "ff_out.weight"]
    return rms_norm(x, tensors["ln_f.weight"], eps) @ head.T


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("published") / "LLaDA-8B-Instruct"
    tiny_checkpoint("llada", path)
    return path


@pytest.fixture(scope="module")
def predictor(folder: Path) -> HFMaskPredictor:
    return load_predictor(str(folder), progress=False)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_kv_heads": 4},
        {"n_kv_heads": None, "multi_query_attention": True},
        {"weight_tying": True},
        {"embedding_size": None},
        {"n_layers": 1, "rope_theta": 10000.0, "rms_norm_eps": 1e-3},
    ],
)
@torch.inference_mode()
def test_logits_are_those_of_the_described_network(tmp_path: Path, changes: dict[str, Any]) -> None:
    config = llada_config(**changes)
    sizes = config | {
        "n_kv_heads": config["n_kv_heads"] or 1,
        "embedding_size": config["embedding_size"] or config["vocab_size"],
    }
    weights = stored_weights(tiny_checkpoint("llada", tmp_path / "model", config=changes))
    loaded = load_predictor(str(tmp_path / "model"), progress=False)
    plain = {name: tensor.float() for name, tensor in weights.items()}
    expected = torch.stack([reference_logits(plain, sizes, row) for row in CANVAS])
    torch.testing.assert_close(loaded.logits(CANVAS, None), expected, rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_in_bfloat16_positions_are_turned_in_float32(folder: Path) -> None:
    loaded = load_predictor(str(folder), dtype="bfloat16", progress=False)
    assert loaded.logits(CANVAS, None).dtype == torch.bfloat16
    seen: list[dict[str, Any]] = []
    attention = loaded.model.model.layers[0].self_attn
    attention.register_forward_pre_hook(lambda module, args, kwargs: seen.append(kwargs), with_kwargs=True)
    kernel, given = F.scaled_dot_product_attention, []

    def record(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        given.append((query, key))
        return kernel(query, key, value, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(F, "scaled_dot_product_attention", record)
        loaded.logits(CANVAS, None)
    hidden = seen[0]["hidden_states"]
    for rotated, layer, heads in zip(given[0], (attention.q_proj, attention.k_proj), (4, 2), strict=True):
        flat = layer(hidden).view(2, 7, heads, 8).transpose(1, 2)
        expected = torch.stack([rotate(row, llada_config()["rope_theta"]) for row in flat])
        assert rotated.dtype == torch.bfloat16 and torch.equal(rotated, expected)


@pytest.mark.parametrize("side", ["right", "left"])
@torch.inference_mode()
def test_padding_changes_nothing(predictor: HFMaskPredictor, side: str) -> None:
    short, pad = CANVAS[:1, :4], torch.full((1, 3), 77)
    kept, blank = torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 3, dtype=torch.bool)
    order = (lambda a, b: torch.cat([a, b], dim=1)) if side == "right" else (lambda a, b: torch.cat([b, a], dim=1))
    canvas = torch.cat([order(short, pad), CANVAS[1:]])
    mask = torch.cat([order(kept, blank), torch.ones(1, 7, dtype=torch.bool)])
    together = predictor.logits(canvas, mask)
    torch.testing.assert_close(together[0][mask[0]], predictor.logits(short, None)[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(together[1:], predictor.logits(CANVAS[1:], None), rtol=1e-5, atol=1e-5)
    row, column = mask.nonzero(as_tuple=True)
    picked = predictor.logits_at(canvas, mask, row, column)
    torch.testing.assert_close(picked, together[row, column], rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_the_fast_kernels_get_no_mask_where_no_row_is_padded(
    predictor: HFMaskPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any]] = []
    kernel = F.scaled_dot_product_attention

    def record(*args: Any, **options: Any) -> Tensor:
        seen.append((options.get("attn_mask"), options.get("is_causal")))
        return kernel(*args, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", record)
    predictor.logits(CANVAS, None)
    predictor.logits(CANVAS, torch.ones(2, 7, dtype=torch.bool))
    assert seen == [(None, False)] * 4
    seen.clear()
    predictor.logits(CANVAS, torch.arange(7) < torch.tensor([[5], [7]]))
    assert [(tuple(mask.shape), mask.dtype, causal) for mask, causal in seen] == [((2, 1, 1, 7), torch.bool, False)] * 2


@torch.inference_mode()
def test_the_head_is_applied_to_the_asked_places_only(predictor: HFMaskPredictor) -> None:
    shapes: list[tuple[int, ...]] = []
    handle = predictor.model.lm_head.register_forward_hook(lambda module, given, output: shapes.append(output.shape))
    row, column = torch.tensor([0, 0, 1]), torch.tensor([6, 3, 4])
    try:
        picked = predictor.logits_at(CANVAS, None, row, column)
    finally:
        handle.remove()
    assert shapes == [(1, 3, predictor.vocab_size)]
    torch.testing.assert_close(picked, predictor.logits(CANVAS, None)[row, column], rtol=1e-5, atol=1e-5)


def test_tokens_are_read_from_the_checkpoint(predictor: HFMaskPredictor) -> None:
    assert (predictor.mask_id, predictor.end_ids, predictor.end_id, predictor.pad_id) == (MASK, (END, TURN), END, END)
    # The embedding's filling, and the ids that the tokenizer does not name.
    assert predictor.forbidden_ids == tuple(range(FIRST_SPECIAL + len(LLADA_SPECIAL), llada_config()["embedding_size"]))
    assert (predictor.vocab_size, predictor.max_length) == (llada_config()["embedding_size"], 128)


def test_without_a_tokenizer_the_filling_of_the_embedding_is_forbidden(tmp_path: Path) -> None:
    tiny_checkpoint("llada", tmp_path / "model", tokenizer=False)
    loaded = load_predictor(str(tmp_path / "model"), progress=False)
    assert loaded.forbidden_ids == tuple(range(llada_config()["vocab_size"], llada_config()["embedding_size"]))
    assert (loaded.mask_id, loaded.end_ids, loaded.pad_id) == (MASK, (END,), END)
    (trace,) = decode(loaded, [[BOS, 83]], Confidence(), Shape(length=4, steps=2, block=4))
    assert trace.text is None and max(trace.tokens.tolist()) < llada_config()["vocab_size"]


def test_ids_that_nothing_names_are_the_published_ones_at_the_published_size_only(tmp_path: Path) -> None:
    unnamed = {"mask_token_id": None, "eos_token_id": None, "pad_token_id": None}
    tiny_checkpoint("llada", tmp_path / "small", config=unnamed, tokenizer=False)
    with pytest.raises(ValueError, match=r"^mask_id is None: small needs one below 274"):
        load_predictor(str(tmp_path / "small"), progress=False)
    assert load_predictor(str(tmp_path / "small"), mask_id=5, progress=False).mask_id == 5
    published = {"embedding_size": 126464, "vocab_size": 126464, "d_model": 8, "n_layers": 1, "n_heads": 2}
    tiny_checkpoint("llada", tmp_path / "large", config=unnamed | published, tokenizer=False)
    loaded = load_predictor(str(tmp_path / "large"), dtype="bfloat16", progress=False)
    assert (loaded.mask_id, loaded.end_ids) == (126336, (126081, 126348))


def test_the_tokenizer_names_what_the_config_leaves_out(tmp_path: Path) -> None:
    tiny_checkpoint("llada", tmp_path / "model", config={"mask_token_id": None, "eos_token_id": None})
    loaded = load_predictor(str(tmp_path / "model"), progress=False)
    assert (loaded.mask_id, loaded.end_ids) == (MASK, (END, TURN))


@pytest.mark.parametrize("text", ["the cat", "  \n the cat\n\n", "", "\n", "naïve 猫 🙂", "a\n\nb"])
def test_prompts_are_chats_as_the_tokenizer_writes_them(predictor: HFMaskPredictor, text: str) -> None:
    message = [{"role": "user", "content": text}]
    expected = predictor.tokenizer.apply_chat_template(message, add_generation_prompt=True)["input_ids"]
    ids = predictor.encode_prompt(text)
    assert ids == expected
    assert ids.count(BOS) == 1 and ids[0] == BOS
    assert predictor.decode_prompt(ids) == text.strip()


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("special", LLADA_SPECIAL)
def test_special_tokens_in_the_users_text_are_text(folder: Path, special: str, chat: bool) -> None:
    loaded = load_predictor(str(folder), chat=chat, progress=False)
    text = f"the {special}cat{special}"
    ids, without = loaded.encode_prompt(text), loaded.encode_prompt("the cat")
    assert [token for token in ids if token >= FIRST_SPECIAL] == [token for token in without if token >= FIRST_SPECIAL]
    assert loaded.decode_prompt(ids) == text
    (trace,) = decode(loaded, [text], Confidence(), Shape(length=2, steps=1, block=2))
    assert trace.prompt.tolist() == ids and trace.prompt_text == text


def test_steering_tokens_that_the_tokenizer_does_not_mark_as_special_are_text_too(tmp_path: Path) -> None:
    tiny_checkpoint("llada", tmp_path / "model")
    described = json.loads((tmp_path / "model" / "tokenizer.json").read_text(encoding="utf-8"))
    for token in described["added_tokens"]:
        token["special"] = token["content"] in ("<|startoftext|>", "<|endoftext|>")
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(described), encoding="utf-8")
    edit_json(tmp_path / "model" / "tokenizer_config.json", added_tokens_decoder={})
    loaded = load_predictor(str(tmp_path / "model"), progress=False)
    plain = [token for token in loaded.encode_prompt("the cat") if token >= FIRST_SPECIAL]
    for special in ("<|mdm_mask|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"):
        ids = loaded.encode_prompt(f"the {special} cat")
        assert [token for token in ids if token >= FIRST_SPECIAL] == plain
    assert loaded.decode_answer([83, TURN, 83]) == "t"


def test_a_chat_is_the_default_where_there_is_a_template_and_the_name_is_not_base(tmp_path: Path) -> None:
    for name, template, expected in [
        ("LLaDA-1.5", "yes", True),
        ("LLaDA-8B-Base", "yes", False),
        ("bare", None, False),
    ]:
        folder = tiny_checkpoint("llada", tmp_path / name)
        if not template:
            (folder / "chat_template.jinja").unlink()
        loaded = load_predictor(str(tmp_path / name), progress=False)
        assert loaded.chat is expected
        if not expected:
            assert loaded.encode_prompt("the cat") == llada_tokenizer()("the cat")["input_ids"]
    assert load_predictor(str(tmp_path / "LLaDA-8B-Base"), chat=True, progress=False).chat
    with pytest.raises(ValueError, match=r"^chat is True: bare has no chat template"):
        load_predictor(str(tmp_path / "bare"), chat=True, progress=False)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("hello", r"the tokenizer's chat template leaves the user's message out"),
        ("{{ messages[0].content | upper }}", r"the tokenizer's chat template leaves the user's message out"),
        ("{{ raise_exception('no user') }}", r"the tokenizer's chat template fails \(no user\)"),
        ("{% if %}", r"the tokenizer's chat template fails"),
        ("{{ messages[0].content }}{{ messages[0].content | length }}", r"chat template changes with the message"),
    ],
)
def test_a_chat_template_that_does_not_quote_the_message_is_refused(
    tmp_path: Path, template: str, message: str
) -> None:
    (tiny_checkpoint("llada", tmp_path / "model") / "chat_template.jinja").write_text(template)
    with pytest.raises(ValueError, match=rf"^chat is True: .*{message}"):
        load_predictor(str(tmp_path / "model"), progress=False).encode_prompt("the cat")


def test_a_tokenizer_that_adds_its_own_bos_does_not_double_it(folder: Path) -> None:
    from tokenizers import processors

    loaded = load_predictor(str(folder), progress=False)
    core = loaded.tokenizer.backend_tokenizer
    core.post_processor = processors.TemplateProcessing(
        single="<|startoftext|> $A", special_tokens=[("<|startoftext|>", BOS)]
    )
    assert loaded.encode_prompt("the cat").count(BOS) == 1
    plain = load_predictor(str(folder), chat=False, progress=False)
    plain.tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<|startoftext|> <|startoftext|> $A", special_tokens=[("<|startoftext|>", BOS)]
    )
    assert plain.encode_prompt("the cat").count(BOS) == 1


def test_answers_end_at_the_first_end_of_text_or_turn(predictor: HFMaskPredictor) -> None:
    words = predictor.tokenizer("the cat", add_special_tokens=False)["input_ids"]
    assert predictor.decode_answer([*words, TURN, END, *words]) == "the cat"
    assert predictor.decode_answer([*words, END, TURN, *words]) == "the cat"
    assert predictor.decode_answer([TURN, *words]) == ""


def test_decoding_gives_text_and_no_filling(predictor: HFMaskPredictor) -> None:
    options: dict[str, Any] = {"length": 8, "steps": 4, "block": 4}
    both = decode(predictor, ["the cat", "a much longer prompt"], Confidence(), **grouped(**options))
    alone = decode(predictor, ["the cat"], Confidence(), **grouped(**options))
    assert both[0].tokens.tolist() == alone[0].tokens.tolist()
    assert all(isinstance(trace.text, str) and MASK not in trace.tokens for trace in both)
    assert max(int(trace.tokens.max()) for trace in both) < FIRST_SPECIAL + len(LLADA_SPECIAL)


def test_the_dtype_is_the_one_asked_for(folder: Path) -> None:
    for asked, dtype in [(None, torch.float32), ("float16", torch.float16), (torch.bfloat16, torch.bfloat16)]:
        loaded = load_predictor(str(folder), dtype=asked, progress=False)
        assert {parameter.dtype for parameter in loaded.model.parameters()} == {dtype}
    with pytest.raises(ValueError, match=r"^dtype is 'int8':"):
        load_predictor(str(folder), dtype="int8")


def test_device_map_and_quantization_reach_transformers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import LlamaForCausalLM

    given: dict[str, Any] = {}
    load = LlamaForCausalLM.from_pretrained

    def record(*args: Any, **options: Any) -> Any:
        given.update({key: options.pop(key) for key in ("device_map", "quantization_config") if key in options})
        return load(*args, **options)

    monkeypatch.setattr(LlamaForCausalLM, "from_pretrained", record)
    config = object()
    load_predictor(str(folder), device_map="auto", quantization=config, progress=False)
    assert given == {"device_map": "auto", "quantization_config": config}
    given.clear()
    load_predictor(str(folder), progress=False)
    assert given == {}


def test_nan_is_found_before_quantisation_hides_it(tmp_path: Path) -> None:
    folder = tiny_checkpoint("llada", tmp_path / "model")
    weights = stored_weights(folder)
    weights["model.transformer.ln_f.weight"][3] = float("nan")
    write_weights(folder, weights)
    with pytest.raises(ValueError, match=r"weight model.transformer.ln_f.weight holds NaN or infinite numbers"):
        load_predictor(str(tmp_path / "model"), quantization=object(), progress=False)


def test_progress_is_shown_unless_disabled(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load_predictor(str(folder))
    assert "100%" in capfd.readouterr().err
    load_predictor(str(folder), progress=False)
    assert capfd.readouterr().err == ""
    load_predictor(str(folder))
    assert "100%" in capfd.readouterr().err


def test_loading_holds_the_weights_once(tmp_path: Path) -> None:
    config = {"d_model": 256, "mlp_hidden_size": 768, "n_layers": 12, "n_kv_heads": 4}
    weights = stored_weights(tiny_checkpoint("llada", tmp_path / "model", config=config))
    size = 4 * sum(tensor.numel() for tensor in weights.values())
    load_predictor(str(tmp_path / "model"), progress=False)

    def held() -> int:
        status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon:"))

    peak, done, before = [0], threading.Event(), held()

    def watch() -> None:
        while not done.is_set():
            peak[0] = max(peak[0], held())
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        loaded = load_predictor(str(tmp_path / "model"), progress=False)
    finally:
        done.set()
        watcher.join()
    assert max(peak[0], held()) - before < 1.3 * size
    assert sum(parameter.numel() for parameter in loaded.model.parameters()) * 4 == size


def test_another_attention_is_refused() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    small = LlamaConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    with pytest.raises(ValueError, match=r"^model attends by sdpa: bidirectional_sdpa is needed"):
        BidirectionalPredictor(LlamaForCausalLM(small), mask_id=1)
