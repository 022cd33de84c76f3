"""Tiny networks of transformers with random weights, and the tokenizer of a few words that they read.

Weights are spread enough that outputs depend on the context. Each network takes a seed, and entries of its config by
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rws_decode.common.files import write_json

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]")
WORDS = (
    *("the", "a", "cat", "dog", "bird", "sat", "ran", "flew", "on", "under", "over", "mat", "tree"),
    *("hill", "and", "then", "it", "was", "red", "blue", "small", "."),
)
PAD, UNK, CLS, SEP, MASK, EOS = range(6)
VOCABULARY = len(SPECIAL) + len(WORDS)
_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "initializer_range": 0.6,
}
_LLAMA: dict[str, Any] = {"num_key_value_heads": 2, "tie_word_embeddings": False}


def bert(seed: int = 0, **config: Any) -> Any:
    """Build a BERT for masked language modelling.

    >>> bert().config.vocab_size
    28
    """
    ids = {"pad_token_id": PAD, "mask_token_id": MASK, "eos_token_id": EOS}
    return _built("Bert", "MaskedLM", seed, _SIZES | ids | config)


def modernbert(seed: int = 0, **config: Any) -> Any:
    """Build a ModernBERT for masked language modelling: rotary, and with local attention in every other layer."""
    ids = {"bos_token_id": CLS, "cls_token_id": CLS, "sep_token_id": SEP, "eos_token_id": EOS, "mask_token_id": MASK}
    layers = {"global_attn_every_n_layers": 2, "local_attention": 8, "initializer_cutoff_factor": 2.0}
    return _built("ModernBert", "MaskedLM", seed, _SIZES | ids | layers | {"pad_token_id": PAD} | config)


def llama(seed: int = 0, **config: Any) -> Any:
    """Build a Llama, a causal language model."""
    return _built("Llama", "CausalLM", seed, _SIZES | _LLAMA | config)


def bert_classifier(seed: int = 0, **config: Any) -> Any:
    """Build a BERT of one layer that scores texts: a sequence classifier of one output."""
    own = {"num_hidden_layers": 1, "max_position_embeddings": 128, "pad_token_id": PAD, "num_labels": 1}
    return _built("Bert", "SequenceClassification", seed, _SIZES | own | config)


def llama_classifier(seed: int = 0, **config: Any) -> Any:
    """Build a Llama that scores texts at their last token: a sequence classifier of one output."""
    own = {"max_position_embeddings": 128, "pad_token_id": PAD, "num_labels": 1}
    return _built("Llama", "SequenceClassification", seed, _SIZES | _LLAMA | own | config)


def diffusion_gemma(seed: int = 0, **config: Any) -> Any:
    """Build a DiffusionGemma of uniform noise: experts, a sliding and a full layer, a vision tower, a canvas of 12."""
    text: dict[str, Any] = _SIZES | {
        "num_key_value_heads": 1,
        "head_dim": 8,
        "global_head_dim": 16,
        "sliding_window": 8,
        "num_experts": 4,
        "top_k_experts": 2,
        "moe_intermediate_size": 8,
        "layer_types": ["sliding_attention", "full_attention"],
        "pad_token_id": PAD,
        "bos_token_id": CLS,
        "eos_token_id": EOS,
    }
    tower = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    tower |= {"num_key_value_heads": 1, "head_dim": 8, "patch_size": 4, "position_embedding_size": 4}
    ids = {"boi_token_id": VOCABULARY - 3, "eoi_token_id": VOCABULARY - 2, "image_token_id": VOCABULARY - 1}
    parts = {"text_config": text, "vision_config": tower, "canvas_length": 12, "initializer_range": 0.6}
    return _built("DiffusionGemma", "BlockDiffusion", seed, parts | ids | config)


def _built(family: str, task: str, seed: int, config: dict[str, Any]) -> Any:
    import transformers

    described = getattr(transformers, f"{family}Config")(**config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return getattr(transformers, f"{family}For{task}")(described).eval()


def word_tokenizer(words: tuple[str, ...] = WORDS) -> Any:
    """Build a tokenizer of transformers: `[CLS] prompt [SEP]`, and `[CLS] prompt [SEP] answer [EOS]` for a pair.

    >>> codec = word_tokenizer()
    >>> codec("the cat")["input_ids"], codec.decode([CLS, 8, SEP])
    ([2, 6, 8, 3], '[CLS] cat [SEP]')
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: token for token, word in enumerate((*SPECIAL, *words))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [EOS]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]", "[EOS]")],
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token", "eos_token")
    return PreTrainedTokenizerFast(tokenizer_object=core, **dict(zip(names, SPECIAL, strict=True)))


def tensor_shapes(lines: str, sizes: Mapping[str, int], layers: int) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of tensors from lines "name size size"; those with {} stand for every layer.

    >>> tensor_shapes("a.weight rows wide\\nb.{}.weight wide\\nb.{}.bias wide", {"rows": 3, "wide": 2}, 1)
    {'a.weight': (3, 2), 'b.0.weight': (2,), 'b.0.bias': (2,)}
    """
    shapes: dict[str, tuple[int, ...]] = {}
    rows = [line.split() for line in lines.strip().splitlines()]
    for repeated, part in groupby(rows, lambda row: "{}" in row[0]):
        block = list(part)
        for layer in range(layers) if repeated else (0,):
            shapes |= {name.format(layer): tuple(sizes[size] for size in names) for name, *names in block}
    return shapes


def decoder_shapes(
    config: Mapping[str, Any], *, biases: bool = False, head_norms: bool = False, experts: int | None = None
) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the decoder that Llama, Qwen and their like share, without a head.

    biases: of queries, keys and values; head_norms: of queries and keys; experts: so many in place of one MLP a layer.

    >>> sizes = {"vocab_size": 9, "hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 1}
    >>> shapes = decoder_shapes(sizes | {"num_attention_heads": 2, "num_key_value_heads": 1})
    >>> len(shapes), shapes["model.layers.0.self_attn.k_proj.weight"]
    (11, (2, 4))
    """
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    head = config.get("head_dim") or hidden // config["num_attention_heads"]
    own, shared = (head * config[f"num_{kind}_heads"] for kind in ("attention", "key_value"))
    layer: dict[str, tuple[int, ...]] = {f"{name}_layernorm.weight": (hidden,) for name in ("input", "post_attention")}
    for name, rows in (("q", own), ("k", shared), ("v", shared)):
        layer[f"self_attn.{name}_proj.weight"] = (rows, hidden)
        layer |= {f"self_attn.{name}_proj.bias": (rows,)} if biases else {}
    layer["self_attn.o_proj.weight"] = (hidden, own)
    layer |= {f"self_attn.{name}_norm.weight": (head,) for name in "qk"} if head_norms else {}
    for mlp in ("mlp",) if experts is None else [f"mlp.experts.{expert}" for expert in range(experts)]:
        layer |= {f"{mlp}.{name}_proj.weight": (inner, hidden) for name in ("gate", "up")}
        layer[f"{mlp}.down_proj.weight"] = (hidden, inner)
    layer |= {} if experts is None else {"mlp.gate.weight": (experts, hidden)}
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for number in range(config["num_hidden_layers"]):
        shapes |= {f"model.layers.{number}.{name}": shape for name, shape in layer.items()}
    return shapes | {"model.norm.weight": (hidden,)}


def random_weights(
    shapes: Mapping[str, tuple[int, ...]], seed: int = 0, dtype: torch.dtype = torch.bfloat16, spread: float = 0.25
) -> dict[str, Tensor]:
    """Sample weights, spread enough that predictions depend on the context; gains and biases are not trivial either."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in shapes.items():
        gain = 1.0 if len(shape) == 1 and not name.endswith("bias") else 0.0
        width = spread if len(shape) > 1 else 0.25
        weights[name] = (gain + width * torch.randn(shape, generator=generator)).to(dtype)
    return weights


def write_weights(directory: Path, weights: Mapping[str, Tensor], shards: int = 3) -> None:
    """Write weights as so many safetensors files with their index, or as one file without."""
    from safetensors.torch import save_file

    directory.mkdir(parents=True, exist_ok=True)
    if shards == 1:
        save_file(dict(weights), directory / "model.safetensors", metadata={"format": "pt"})
        return
    names, table = list(weights), {}
    for shard in range(shards):
        file = f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: weights[name].contiguous() for name in names[shard::shards]}
        save_file(part, directory / file, metadata={"format": "pt"})
        table |= dict.fromkeys(part, file)
    total = sum(tensor.nbytes for tensor in weights.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(table.items()))}
    write_json(directory / "model.safetensors.index.json", index)
