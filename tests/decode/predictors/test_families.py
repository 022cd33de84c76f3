"""LLaDA, LLaDA-MoE, Dream, A2D and ModernBERT's chats as published: networks against plain ones, tokens, prompts."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from block_layouts import BLOCK_LAYOUTS
from checkpoint_files import change_weights, edit_json, stored_weights
from grouped import grouped
from json_files import write_json
from misuse import refused
from reference_layers import decoder_states, rotate
from torch import Tensor
from torch.nn import functional as F

from rws_decode import Confidence, HFMaskPredictor, decode, load_predictor
from rws_decode.extra.testing import diffusion, tiny_checkpoint
from rws_decode.extra.testing.diffusion import A2D_IDS, BERT_IDS, MOE_IDS

# The ids of each layout's special tokens: the mask, then those that end a text.
NAMED: dict[str, tuple[dict[str, int], str]] = {
    "llada": (diffusion.LLADA_IDS, "<|mdm_mask|> <|endoftext|> <|eot_id|>"),
    "dream": (diffusion.DREAM_IDS, "<|mask|> <|endoftext|> <|im_end|>"),
    "a2d-qwen3": (A2D_IDS, "<|mask|> <|im_end|> <|endoftext|>"),
    "llada-moe": (MOE_IDS, "<|mask|> <|endoftext|> <|role_end|>"),
    "llada2": (MOE_IDS, "<|mask|> <|endoftext|> <|role_end|>"),
    "sdar": (A2D_IDS, "<|mask|> <|endoftext|> <|im_end|>"),
    "fast-dllm-v2": (A2D_IDS, "<|mask|> <|im_end|> <|endoftext|>"),
    "dream-reasoner": (diffusion.DREAM_IDS, "<|mask|> <|endoftext|> <|im_end|>"),
    "modernbert-chat": (BERT_IDS, "[MASK] [PAD]"),
}
IDS = {layout: tuple(ids[name] for name in names.split()) for layout, (ids, names) in NAMED.items()}
MASKS, ENDS = ({layout: part(ids) for layout, ids in IDS.items()} for part in (lambda ids: ids[0], lambda ids: ids[1:]))
LAYOUTS = list(MASKS)
UNNAMED = {"mask_token_id": None, "eos_token_id": None, "pad_token_id": None}


def canvas_of(layout: str) -> Tensor:
    mask = MASKS[layout]
    return torch.tensor([[83, 257, mask, 12, mask, mask, 9, 70, 71], [mask, 41, 42, mask, 200, mask, 3, 4, mask]])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("published")
    return {layout: tiny_checkpoint(layout, root / layout) for layout in LAYOUTS}


@pytest.fixture(scope="module")
def models(folders: dict[str, Path]) -> dict[str, HFMaskPredictor]:
    return {layout: load_predictor(str(folder), progress=False) for layout, folder in folders.items()}


LLADA_NAMES = {"wte": "model.embed_tokens", "ln_f": "model.norm", "ff_out": "lm_head"}
LLADA_NAMES |= {"attn_norm": "input_layernorm", "ff_norm": "post_attention_layernorm"}
LLADA_NAMES |= {f"{letter}_proj": f"self_attn.{letter}_proj" for letter in "qkv"}
LLADA_NAMES |= {"attn_out": "self_attn.o_proj", "ff_proj": "mlp.gate_proj", "up_proj": "mlp.up_proj"}


def llada_logits(weights: dict[str, Tensor], config: dict[str, Any], ids: Tensor) -> Tensor:
    renamed = {}
    for name, tensor in weights.items():
        *block, leaf, _ = name.removeprefix("model.transformer.").split(".")
        prefix = f"model.layers.{block[1]}." if block else ""
        renamed[f"{prefix}{'mlp.down_proj' if block and leaf == 'ff_out' else LLADA_NAMES[leaf]}.weight"] = tensor
    sizes = {"num_attention_heads": config["n_heads"], "num_key_value_heads": config["n_kv_heads"] or 1}
    sizes |= {"hidden_size": config["d_model"], "num_hidden_layers": config["n_layers"]}
    sizes |= {"tie_word_embeddings": config["weight_tying"]}
    return decoder_logits(renamed, config | sizes, ids)


def decoder_logits(weights: dict[str, Tensor], config: dict[str, Any], ids: Tensor) -> Tensor:
    head = weights["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"]
    return decoder_states(weights, config, ids, block=config.get("block_size", config.get("bd_size"))) @ head.T


def dream_logits(weights: dict[str, Tensor], config: dict[str, Any], ids: Tensor) -> Tensor:
    logits = decoder_logits(weights, config, ids)
    return torch.cat([logits[:1], logits[:-1]])  # what stands at i - 1 predicts token i


def llada2_logits(weights: dict[str, Tensor], config: dict[str, Any], ids: Tensor) -> Tensor:
    names = {"attention.dense": "self_attn.o_proj", "word_embeddings": "embed_tokens"}
    names |= {f"attention.{long}_layernorm": f"self_attn.{long[0]}_norm" for long in ("query", "key")}
    renamed, size = {}, config["head_dim"]
    rows = [size * config[f"num_{kind}_heads"] for kind in ("attention", "key_value", "key_value")]
    for name, tensor in weights.items():
        if "query_key_value" in name:
            for letter, part in zip("qkv", tensor.split(rows), strict=True):
                renamed[name.replace("attention.query_key_value", f"self_attn.{letter}_proj")] = part
            continue
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)
        renamed[name] = tensor
    return decoder_logits(renamed, config, ids)


def bert_logits(weights: dict[str, Tensor], config: dict[str, Any], ids: Tensor) -> Tensor:
    """Return ModernBERT's: every third layer sees all, the others a window; the decoder is the embedding and a bias."""

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], eps=config["norm_eps"])

    heads, length, width = config["num_attention_heads"], len(ids), config["hidden_size"]
    apart = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    x = norm(weights["model.embeddings.tok_embeddings.weight"][ids], "model.embeddings.norm")
    for layer in range(config["num_hidden_layers"]):
        prefix, wide = f"model.layers.{layer}", layer % config["global_attn_every_n_layers"] == 0
        normed = norm(x, f"{prefix}.attn_norm") if layer else x
        three = (normed @ weights[f"{prefix}.attn.Wqkv.weight"].T).view(length, 3, heads, width // heads)
        query, key, value = (three[:, part].transpose(0, 1) for part in range(3))
        theta = config["global_rope_theta" if wide else "local_rope_theta"]
        scores = rotate(query, theta) @ rotate(key, theta).transpose(1, 2) / (width // heads) ** 0.5
        if not wide:
            scores = scores.masked_fill(apart > config["local_attention"] // 2, -torch.inf)
        mixed = (scores.softmax(-1) @ value).transpose(0, 1).reshape(length, width)
        x = x + mixed @ weights[f"{prefix}.attn.Wo.weight"].T
        first, gate = (norm(x, f"{prefix}.mlp_norm") @ weights[f"{prefix}.mlp.Wi.weight"].T).chunk(2, dim=-1)
        x = x + (F.gelu(first) * gate) @ weights[f"{prefix}.mlp.Wo.weight"].T
    x = norm(F.gelu(norm(x, "model.final_norm") @ weights["head.dense.weight"].T), "head.norm")
    return x @ weights["model.embeddings.tok_embeddings.weight"].T + weights["decoder.bias"]


REFERENCES = {"llada": llada_logits, "dream": dream_logits, "modernbert-chat": bert_logits}
REFERENCES |= {"fast-dllm-v2": dream_logits, "llada2": llada2_logits}


@pytest.mark.parametrize(
    ("layout", "changes"),
    [
        *((layout, {}) for layout in LAYOUTS if (layout, {}) not in BLOCK_LAYOUTS),
        *BLOCK_LAYOUTS,
        ("dream", {"architectures": ["DreamModel"], "max_position_embeddings": 131072}),  # DiffuCoder, Dream-Coder
        ("llada", {"n_kv_heads": None, "multi_query_attention": True}),
        ("llada", {"weight_tying": True, "embedding_size": None}),
        ("llada", {"n_layers": 1, "rope_theta": 10000.0, "rms_norm_eps": 1e-3}),
        ("dream", {"num_key_value_heads": 4, "num_hidden_layers": 1, "rms_norm_eps": 1e-3}),
        ("a2d-qwen3", {"tie_word_embeddings": False, "num_key_value_heads": 4, "head_dim": 6}),
        ("llada-moe", {"num_experts": 3, "num_experts_per_tok": 3, "num_key_value_heads": 2}),
        ("modernbert-chat", {"global_attn_every_n_layers": 2, "local_attention": 4}),
    ],
)
@torch.inference_mode()
def test_logits_are_those_of_the_described_network(tmp_path: Path, layout: str, changes: dict[str, Any]) -> None:
    stored = stored_weights(tiny_checkpoint(layout, tmp_path / "model", config=changes))
    weights, config = {name: x.float() for name, x in stored.items()}, diffusion.MODELS[layout].described(**changes)
    loaded, canvas = load_predictor(str(tmp_path / "model"), progress=False), canvas_of(layout)
    expected = torch.stack([REFERENCES.get(layout, decoder_logits)(weights, config, row) for row in canvas])
    torch.testing.assert_close(loaded.logits(canvas, None), expected, rtol=1e-4, atol=2e-5)
    row, column = torch.arange(2).repeat_interleave(9), torch.arange(9).repeat(2)
    some = loaded.logits_at(canvas, None, row, column)
    torch.testing.assert_close(some, expected.flatten(0, 1), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("layout", "side"), [*((layout, "left") for layout in LAYOUTS), ("llada", "right")])
@torch.inference_mode()
def test_padding_changes_nothing(models: dict[str, HFMaskPredictor], layout: str, side: str) -> None:
    loaded, canvas = models[layout], canvas_of(layout)
    short, pad = canvas[1:, :5], torch.full((1, 4), 77)  # its first token is masked
    kept, blank = torch.ones(1, 5, dtype=torch.bool), torch.zeros(1, 4, dtype=torch.bool)
    pairs = ((short, pad), (kept, blank)) if side == "right" else ((pad, short), (blank, kept))
    row, mask = (torch.cat(pair, dim=1) for pair in pairs)
    rows, masks = torch.cat([row, canvas[:1]]), torch.cat([mask, torch.ones(1, 9, dtype=torch.bool)])
    together = loaded.logits(rows, masks)
    torch.testing.assert_close(together[0][mask[0]], loaded.logits(short, None)[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(together[1:], loaded.logits(canvas[:1], None), rtol=1e-4, atol=1e-5)
    places = masks.nonzero(as_tuple=True)
    torch.testing.assert_close(loaded.logits_at(rows, masks, *places), together[places], rtol=1e-4, atol=1e-5)


@torch.inference_mode()
def test_in_bfloat16_positions_are_turned_in_float32(folders: dict[str, Path]) -> None:
    loaded, canvas = load_predictor(str(folders["llada"]), dtype="bfloat16", progress=False), canvas_of("llada")
    assert loaded.logits(canvas, None).dtype == torch.bfloat16
    calls: list[dict[str, Any]] = []
    attention = loaded.model.model.layers[0].self_attn
    attention.register_forward_pre_hook(lambda module, args, kwargs: calls.append(kwargs), with_kwargs=True)
    kernel, given = F.scaled_dot_product_attention, []

    def record(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        given.append((query, key))
        return kernel(query, key, value, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(F, "scaled_dot_product_attention", record)
        loaded.logits(canvas, None)
    hidden = calls[0]["hidden_states"]
    for rotated, layer, heads in zip(given[0], (attention.q_proj, attention.k_proj), (4, 2), strict=True):
        flat = layer(hidden).view(2, 9, heads, 8).transpose(1, 2)
        expected = torch.stack([rotate(row, diffusion.MODELS["llada"].described()["rope_theta"]) for row in flat])
        assert rotated.dtype == torch.bfloat16 and torch.equal(rotated, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tokens_are_read_and_a_chat_is_decoded_end_to_end(models: dict[str, HFMaskPredictor], layout: str) -> None:
    loaded, message = models[layout], [{"role": "user", "content": "the cat"}]
    assert (loaded.mask_id, loaded.end_ids, loaded.end_id) == (MASKS[layout], ENDS[layout], ENDS[layout][0])
    options = {"enable_thinking": False} if layout == "a2d-qwen3" else {}
    expected = loaded.tokenizer.apply_chat_template(message, add_generation_prompt=True, **options)["input_ids"]
    assert loaded.chat and loaded.encode_prompt("the cat") == expected
    assert loaded.decode_prompt(expected) == "the cat"
    shape: dict[str, Any] = {"length": 8, "steps": 4, "block": 4}
    both = decode(loaded, ["the cat", "a much longer prompt"], Confidence(), **grouped(**shape))
    (alone,) = decode(loaded, ["the cat"], Confidence(), **grouped(**shape))
    assert both[0].tokens.tolist() == alone.tokens.tolist()
    for trace in both:
        assert isinstance(trace.text, str)
        assert not set(trace.tokens.tolist()) & {MASKS[layout], *loaded.forbidden_ids}


@pytest.mark.parametrize(
    ("layout", "published", "mask", "ends"),
    [
        ("llada", {"embedding_size": 126464, "vocab_size": 126464, "n_heads": 2}, 126336, (126081, 126348)),
        ("dream", {"vocab_size": 152064, "num_attention_heads": 2}, 151666, (151643, 151645)),
        ("a2d-qwen3", {"vocab_size": 151936, "layer_types": None}, 151669, (262, 151643, 151645)),
        ("llada-moe", {"vocab_size": 157184, "moe_layer_freq": [1]}, 156895, (156892, 156900)),
    ],
)
def test_unnamed_ids(tmp_path: Path, layout: str, published: dict[str, Any], mask: int, ends: tuple[int, ...]) -> None:
    tiny_checkpoint(layout, tmp_path / "small", config=UNNAMED, tokenizer=False)
    refused(lambda: load_predictor(str(tmp_path / "small"), progress=False), "mask_id is None: small needs one below")
    assert load_predictor(str(tmp_path / "small"), mask_id=5, progress=False).mask_id == 5
    width, depth = ("d_model", "n_layers") if layout == "llada" else ("hidden_size", "num_hidden_layers")
    sizes = {width: 8, depth: 1}
    tiny_checkpoint(layout, tmp_path / "large", config=UNNAMED | published | sizes, tokenizer=False)
    loaded = load_predictor(str(tmp_path / "large"), dtype="bfloat16", progress=False)
    assert (loaded.mask_id, loaded.end_ids) == (mask, ends)


def special(ids: list[int]) -> list[int]:
    return [token for token in ids if token >= diffusion.FIRST_SPECIAL]


@pytest.mark.parametrize(
    ("layout", "chat", "names"),
    [
        ("llada", True, diffusion.LLADA_SPECIAL),
        ("dream", False, diffusion.DREAM_SPECIAL),
        ("a2d-qwen3", True, ("<think>", "<|mask|>")),
    ],
)
def test_special_tokens_are_text(folders: dict[str, Path], layout: str, chat: bool, names: tuple[str, ...]) -> None:
    loaded = load_predictor(str(folders[layout]), chat=chat, progress=False)
    plain = special(loaded.encode_prompt("the cat"))
    for name in names:
        ids = loaded.encode_prompt(f"the {name}cat{name}")
        assert special(ids) == plain and loaded.decode_prompt(ids) == f"the {name}cat{name}"


def test_a_chat_is_the_default_where_there_is_a_template_and_the_name_is_not_base(tmp_path: Path) -> None:
    for name, expected in (("LLaDA-1.5", True), ("LLaDA-8B-Base", False), ("bare", False)):
        folder = tiny_checkpoint("llada", tmp_path / name)
        if name == "bare":
            (folder / "chat_template.jinja").unlink()
        loaded = load_predictor(str(folder), progress=False)
        assert loaded.chat is expected
        if not expected:
            assert loaded.encode_prompt("the cat") == diffusion.llada_tokenizer()("the cat")["input_ids"]
    assert load_predictor(str(tmp_path / "LLaDA-8B-Base"), chat=True, progress=False).chat
    refused(lambda: load_predictor(str(tmp_path / "bare"), chat=True, progress=False), "chat is True: bare has no chat")


@pytest.mark.parametrize("named", ["[PAD]", None])
def test_a_modernbert_ends_its_answers_in_words_and_in_padding(tmp_path: Path, named: str | None) -> None:
    folder = tiny_checkpoint("modernbert-chat", tmp_path / "ModernBERT-base-chat-v0.1")
    edit_json(folder / "tokenizer_config.json", eos_token=named, bos_token=named)
    loaded = load_predictor(str(folder), progress=False)
    assert loaded.chat and loaded.end_id == loaded.pad_id == BERT_IDS["[PAD]"]
    ids = loaded.tokenizer("it sat\n[/Answer]\n\n[Question]", add_special_tokens=False)["input_ids"]
    assert loaded.decode_answer([*ids, BERT_IDS["[PAD]"], 70]) == "it sat"
    assert load_predictor(str(folder), chat=False, progress=False).decode_answer(ids).endswith("[Question]")


def test_nan_is_found_before_quantisation_hides_it(tmp_path: Path) -> None:
    name = "model.transformer.ln_f.weight"
    folder = change_weights(tiny_checkpoint("llada", tmp_path / "model"), lambda stored: stored[name].fill_(torch.nan))
    with pytest.raises(ValueError, match=rf"weight {name} holds NaN or infinite numbers"):
        load_predictor(str(folder), quantization=object(), progress=False)


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


@pytest.mark.parametrize(
    ("layout", "changes", "message"),
    [
        ("sdar", {"block_size": 0}, "block_size in its config.json is 0, not a positive number"),
        ("sdar", {"use_sliding_window": True}, "use_sliding_window in its config.json is on"),
        ("sdar", {"model_type": "nemotron_labs_diffusion", "dlm_paradigm": "autoregressive"}, "sees nothing to"),
        ("dream-reasoner", {"block_size": None}, "block_size in its config.json is None"),
        ("a2d-qwen3", {"rope_scaling": {"rope_type": "spiral"}}, "rope_scaling in .* of type 'spiral', none of"),
        ("a2d-qwen3", {"model_type": "a2d-llama"}, "has weights that its config does not ask for: .*k_norm"),
        ("llada-moe", {"moe_layer_freq": [1]}, r"moe_layer_freq in its config.json is \[1\], not 0 or 1 for each"),
    ],
)
def test_models_that_are_not_read(tmp_path: Path, layout: str, changes: dict[str, Any], message: str) -> None:
    folder = tiny_checkpoint(layout, tmp_path / "m")
    write_json(folder / "config.json", diffusion.MODELS[layout].described(**changes))
    with pytest.raises(ValueError, match=message) as caught:
        load_predictor(str(folder), progress=False)
    assert "\n" not in str(caught.value)
