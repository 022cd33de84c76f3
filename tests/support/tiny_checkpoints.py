"""Small checkpoints of exactly the layout that LLaDA and Dream publish: tensors, config keys, shards, tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from rws_decode.common.files import write_json

BYTES = 256
MERGES = [("Ċ", "Ċ"), ("h", "e"), ("Ġ", "c"), ("Ġc", "a"), ("Ġca", "t"), ("<", "|")]
LLADA_SPECIAL = (
    *("<|startoftext|>", "<|endoftext|>", "[CLS]", "[gMASK]", "<|reserved_token_0|>", "<|mdm_mask|>"),
    *("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
)
DREAM_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|beginoftext|>", "<|mask|>")
FIRST_SPECIAL = BYTES + len(MERGES)
LLADA_IDS = {token: FIRST_SPECIAL + number for number, token in enumerate(LLADA_SPECIAL)}
DREAM_IDS = {token: FIRST_SPECIAL + number for number, token in enumerate(DREAM_SPECIAL)}
SPLIT = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
LLADA_TEMPLATE = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim "
    "+ '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}"
    "{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
DREAM_TEMPLATE = (
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}"
    "{% endif %}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# The keys of the published config.json; the sizes are small, and two groups of heads share keys and values.
LLADA_CONFIG: dict[str, Any] = {
    "activation_type": "silu",
    "alibi": False,
    "alibi_bias_max": 8.0,
    "architectures": ["LLaDAModelLM"],
    "attention_dropout": 0.0,
    "attention_layer_norm": False,
    "attention_layer_norm_with_affine": True,
    "auto_map": {
        "AutoConfig": "configuration_llada.LLaDAConfig",
        "AutoModel": "modeling_llada.LLaDAModelLM",
        "AutoModelForCausalLM": "modeling_llada.LLaDAModelLM",
    },
    "bias_for_layer_norm": False,
    "block_group_size": 1,
    "block_type": "llama",
    "d_model": 32,
    "embedding_dropout": 0.0,
    "embedding_size": FIRST_SPECIAL + 16,
    "eos_token_id": LLADA_IDS["<|endoftext|>"],
    "flash_attention": False,
    "include_bias": False,
    "include_qkv_bias": False,
    "init_cutoff_factor": None,
    "init_device": "meta",
    "init_fn": "mitchell",
    "init_std": 0.02,
    "input_emb_norm": False,
    "layer_norm_type": "rms",
    "layer_norm_with_affine": True,
    "mask_token_id": LLADA_IDS["<|mdm_mask|>"],
    "max_sequence_length": 128,
    "mlp_hidden_size": 48,
    "mlp_ratio": 4,
    "model_type": "llada",
    "multi_query_attention": None,
    "n_heads": 4,
    "n_kv_heads": 2,
    "n_layers": 2,
    "pad_token_id": LLADA_IDS["<|endoftext|>"],
    "precision": "amp_bf16",
    "residual_dropout": 0.0,
    "rms_norm_eps": 1e-05,
    "rope": True,
    "rope_full_precision": True,
    "rope_theta": 500000.0,
    "scale_logits": False,
    "transformers_version": "4.46.3",
    "use_cache": False,
    "vocab_size": FIRST_SPECIAL + 12,
    "weight_tying": False,
}
DREAM_CONFIG: dict[str, Any] = {
    "architectures": ["DreamModel"],
    "attention_dropout": 0.0,
    "auto_map": {"AutoConfig": "configuration_dream.DreamConfig", "AutoModel": "modeling_dream.DreamModel"},
    "bos_token_id": DREAM_IDS["<|endoftext|>"],
    "eos_token_id": DREAM_IDS["<|endoftext|>"],
    "hidden_act": "silu",
    "hidden_size": 32,
    "initializer_range": 0.02,
    "intermediate_size": 48,
    "mask_token_id": DREAM_IDS["<|mask|>"],
    "max_position_embeddings": 128,
    "max_window_layers": 28,
    "model_type": "Dream",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "pad_token_id": DREAM_IDS["<|endoftext|>"],
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000.0,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.46.2",
    "use_cache": True,
    "use_mrope": False,
    "use_sliding_window": False,
    "vocab_size": FIRST_SPECIAL + 16,
}


def llada_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the published tensor names of LLaDA with the shapes that a config gives them."""
    width, heads, shared, hidden = (config[key] for key in ("d_model", "n_heads", "n_kv_heads", "mlp_hidden_size"))
    small = width // heads * shared
    block = {
        "attn_norm": (width,),
        "ff_norm": (width,),
        "q_proj": (width, width),
        "k_proj": (small, width),
        "v_proj": (small, width),
        "attn_out": (width, width),
        "ff_proj": (hidden, width),
        "up_proj": (hidden, width),
        "ff_out": (width, hidden),
    }
    shapes = {"model.transformer.wte.weight": (config["embedding_size"], width)}
    for layer in range(config["n_layers"]):
        shapes |= {f"model.transformer.blocks.{layer}.{name}.weight": shape for name, shape in block.items()}
    shapes["model.transformer.ln_f.weight"] = (width,)
    if not config["weight_tying"]:
        shapes["model.transformer.ff_out.weight"] = (config["embedding_size"], width)
    return shapes


def dream_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the published tensor names of Dream with the shapes that a config gives them."""
    width, hidden = config["hidden_size"], config["intermediate_size"]
    small = width // config["num_attention_heads"] * config["num_key_value_heads"]
    block = {
        "input_layernorm.weight": (width,),
        "post_attention_layernorm.weight": (width,),
        "self_attn.q_proj.weight": (width, width),
        "self_attn.q_proj.bias": (width,),
        "self_attn.k_proj.weight": (small, width),
        "self_attn.k_proj.bias": (small,),
        "self_attn.v_proj.weight": (small, width),
        "self_attn.v_proj.bias": (small,),
        "self_attn.o_proj.weight": (width, width),
        "mlp.gate_proj.weight": (hidden, width),
        "mlp.up_proj.weight": (hidden, width),
        "mlp.down_proj.weight": (width, hidden),
    }
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], width)}
    for layer in range(config["num_hidden_layers"]):
        shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in block.items()}
    return shapes | {"model.norm.weight": (width,), "lm_head.weight": (config["vocab_size"], width)}


def random_weights(
    shapes: dict[str, tuple[int, ...]], seed: int = 0, dtype: torch.dtype = torch.bfloat16
) -> dict[str, Tensor]:
    """Draw weights, spread enough that predictions depend on the context; gains and biases are not trivial either."""
    generator = torch.Generator().manual_seed(seed)
    drawn = {}
    for name, shape in shapes.items():
        gain = 1.0 if len(shape) == 1 and not name.endswith("bias") else 0.0
        drawn[name] = (gain + 0.25 * torch.randn(shape, generator=generator)).to(dtype)
    return drawn


def write_weights(folder: Path, weights: dict[str, Tensor], shards: int = 3) -> None:
    """Write weights as `shards` safetensors files with their index, or as one file without."""
    folder.mkdir(parents=True, exist_ok=True)
    if shards == 1:
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names, table = list(weights), {}
    for shard in range(shards):
        file = f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: weights[name] for name in names[shard::shards]}
        save_file(part, folder / file, metadata={"format": "pt"})
        table |= dict.fromkeys(part, file)
    total = sum(tensor.numel() * tensor.element_size() for tensor in weights.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(table.items()))}
    write_json(folder / "model.safetensors.index.json", index)


def _byte_vocabulary() -> dict[str, int]:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    return {piece: number for number, piece in enumerate([*letters, *("".join(pair) for pair in MERGES)])}


def llada_tokenizer(template: str | None = LLADA_TEMPLATE) -> PreTrainedTokenizerFast:
    """Build LLaDA's kind of tokenizer: byte-level BPE, special tokens that only a few fields name, no BOS by itself."""
    core = Tokenizer(models.BPE(_byte_vocabulary(), MERGES))
    core.pre_tokenizer = pre_tokenizers.Sequence(  # type: ignore[assignment]
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    core.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in LLADA_SPECIAL])
    names = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    built = PreTrainedTokenizerFast(
        tokenizer_object=core, cls_token="[CLS]", clean_up_tokenization_spaces=False, **names
    )
    built.chat_template = template
    return built


def write_llada(
    folder: Path,
    config: dict[str, Any] | None = None,
    *,
    template: str | None = LLADA_TEMPLATE,
    with_tokenizer: bool = True,
    shards: int = 3,
    seed: int = 0,
) -> dict[str, Tensor]:
    """Write a small LLaDA checkpoint as published, and return its weights."""
    config = LLADA_CONFIG if config is None else config
    weights = random_weights(llada_shapes(config), seed)
    write_weights(folder, weights, shards)
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", {"_from_model_config": True, "eos_token_id": config["eos_token_id"]})
    (folder / "modeling_llada.py").write_text("raise SystemExit('remote code ran')\n")
    (folder / "configuration_llada.py").write_text("raise SystemExit('remote code ran')\n")
    if with_tokenizer:
        llada_tokenizer(template).save_pretrained(folder)
    return weights


def write_dream(
    folder: Path, config: dict[str, Any] | None = None, *, with_tokenizer: bool = True, seed: int = 0
) -> dict[str, Tensor]:
    """Write a small Dream checkpoint as published, its tokenizer as a vocabulary, merges and remote class's name."""
    config = DREAM_CONFIG if config is None else config
    weights = random_weights(dream_shapes(config), seed)
    write_weights(folder, weights)
    write_json(folder / "config.json", config)
    special = ("bos_token_id", "eos_token_id", "pad_token_id", "mask_token_id")
    write_json(folder / "generation_config.json", {key: config[key] for key in special if key in config})
    (folder / "modeling_dream.py").write_text("raise SystemExit('remote code ran')\n")
    (folder / "tokenization_dream.py").write_text("raise SystemExit('remote code ran')\n")
    if with_tokenizer:
        write_json(folder / "vocab.json", _byte_vocabulary())
        (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in MERGES), "utf-8")
        write_json(folder / "added_tokens.json", DREAM_IDS)
        flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
        described = {
            "add_bos_token": False,
            "add_prefix_space": False,
            "added_tokens_decoder": {str(number): {"content": token} | flags for token, number in DREAM_IDS.items()},
            "additional_special_tokens": ["<|beginoftext|>", "<|mask|>"],
            "auto_map": {"AutoTokenizer": ["tokenization_dream.DreamTokenizer", None]},
            "bos_token": "<|beginoftext|>",
            "chat_template": DREAM_TEMPLATE,
            "clean_up_tokenization_spaces": False,
            "eos_token": "<|endoftext|>",
            "errors": "replace",
            "mask_token": "<|mask|>",
            "model_max_length": 128,
            "pad_token": "<|endoftext|>",
            "split_special_tokens": False,
            "tokenizer_class": "DreamTokenizer",
            "unk_token": None,
        }
        write_json(folder / "tokenizer_config.json", described)
    return weights


def edit_json(path: Path, **changes: Any) -> None:
    """Change keys of a JSON object in a file."""
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | changes)
