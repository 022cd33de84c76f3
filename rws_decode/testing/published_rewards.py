"""Checkpoints of the layouts in which the paper's reward models are published, with vocabularies of a few words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rws_decode.common.files import write_json
from rws_decode.testing.networks import WORDS, decoder_shapes, random_weights, tensor_shapes, write_weights

_CONFIGS = Path(__file__).parent / "configs"
_LLAMA3 = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "[PAD]")
_INTERN = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|reward|>")
_MISTRAL = ("<unk>", "<s>", "</s>")
_ROLES = ("system", "user", "assistant", "\n\n", "\n", "Today", "Date", ":", "26", "Jul", "2024", "[INST]", "[/INST]")
_TURNS = (
    "{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' "
    "+ message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
)
_DATED = (
    "{{ '<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: ' + (date_string or strftime_now('%d %b %Y')) "
    "+ '<|eot_id|>' }}"
)
_TEMPLATES = {
    "skywork": _TURNS,
    "grm": "{{ bos_token }}" + _DATED + _TURNS,
    "intern": (
        "{{ bos_token }}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
        "+ '<|im_end|>' + '\\n' }}{% endfor %}"
    ),
    "eurus": None,
}
_QRM: dict[str, Any] = {
    "architectures": ["LlamaForRewardModelWithGating"],
    "auto_map": {"AutoModelForSequenceClassification": "modeling_custom.LlamaForRewardModelWithGating"},
    "gating_hidden_dim": 8,
    "gating_n_hidden": 3,
    "gating_newtork": True,
    "gating_temperature": 5.0,
    "loss": "quantile_regression",
    "num_objectives": 3,
    "num_quantiles": 4,
}
# What others have otherwise than Skywork, a Llama.
_CHANGES: dict[str, dict[str, Any]] = {
    "llamaob": {"rope_scaling": None},
    "grm": {"tie_word_embeddings": True},
    "qrm": _QRM,
}
_INTERN_TENSORS = """
model.tok_embeddings.weight vocab_size hidden_size
model.layers.{}.attention.wqkv.weight qkv hidden_size
model.layers.{}.attention.wo.weight hidden_size hidden_size
model.layers.{}.attention_norm.weight hidden_size
model.layers.{}.feed_forward.w1.weight intermediate_size hidden_size
model.layers.{}.feed_forward.w2.weight hidden_size intermediate_size
model.layers.{}.feed_forward.w3.weight intermediate_size hidden_size
model.layers.{}.ffn_norm.weight hidden_size
model.norm.weight hidden_size
v_head.weight one hidden_size
"""
# The gate of QRM: layers of linear, ReLU and batch normalisation, and a linear one.
_NORMS = [f"gating.layers.{layer}.{part}" for layer in (2, 5, 8) for part in ("weight", "running_mean", "running_var")]
_QRM_TENSORS = """
regression_layer.weight outputs hidden_size
reward_transform_matrix num_objectives num_objectives
gating.logit_scale one
gating.layers.0.weight gating_hidden_dim hidden_size
gating.layers.3.weight gating_hidden_dim gating_hidden_dim
gating.layers.6.weight gating_hidden_dim gating_hidden_dim
gating.layers.2.bias gating_hidden_dim
gating.layers.5.bias gating_hidden_dim
gating.layers.8.bias gating_hidden_dim
gating.layers.9.weight num_objectives gating_hidden_dim
gating.layers.9.bias num_objectives
""" + "\n".join(f"{name} gating_hidden_dim" for name in _NORMS)


def published_vocabulary(name: str) -> tuple[str, ...]:
    """Return the tokens of a published reward model in the order of their ids.

    >>> published_vocabulary("intern")[:3]
    ('<unk>', '<s>', '</s>')
    """
    special = {"intern": _INTERN, "eurus": _MISTRAL}.get(name, (*_LLAMA3, "[UNK]"))
    return (*special, *_ROLES, *WORDS)


def published_config(name: str, **changes: Any) -> dict[str, Any]:
    """Return the config.json of a published reward model with small sizes, and with changed entries.

    >>> published_config("eurus")["architectures"]
    ['EurusRewardModel']
    """
    own = name if name in ("intern", "eurus") else "skywork"
    stored = json.loads((_CONFIGS / f"{own}.json").read_text(encoding="utf-8"))
    return stored | _CHANGES.get(name, {}) | changes


def write_published(name: str, directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    """Write a reward model as published; changes: of its config."""
    config = published_config(name, **changes)
    write_weights(directory, _weights(name, config, seed), shards=2)
    write_json(directory / "config.json", config)
    if not tokenizer:
        return
    published_tokenizer(name).save_pretrained(directory)
    if name in ("intern", "eurus"):  # a class that only their own code has, and one that rebuilds the vocabulary
        settings = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
        settings["tokenizer_class"] = "InternLM2Tokenizer" if name == "intern" else "LlamaTokenizer"
        if name == "intern":
            settings["auto_map"] = {"AutoTokenizer": ["tokenization_internlm2.InternLM2Tokenizer", None]}
        write_json(directory / "tokenizer_config.json", settings)


def _weights(name: str, config: Mapping[str, Any], seed: int) -> dict[str, Tensor]:
    sizes = {key: value for key, value in config.items() if isinstance(value, int)} | {"one": 1}
    if name == "intern":
        heads = config["num_attention_heads"]
        sizes["qkv"] = config["hidden_size"] // heads * (heads + 2 * config["num_key_value_heads"])
        shapes = tensor_shapes(_INTERN_TENSORS, sizes, config["num_hidden_layers"])
    elif name == "qrm":
        sizes["outputs"] = config["num_objectives"] * config["num_quantiles"]
        shapes = decoder_shapes(config) | tensor_shapes(_QRM_TENSORS, sizes, 0)
    else:
        head = "regression_head" if name == "eurus" else "score"
        shapes = decoder_shapes(config) | {f"{head}.weight": (1, config["hidden_size"])}
    weights = random_weights(shapes, seed, torch.float32, spread=0.5)
    if name == "qrm":
        weights["reward_transform_matrix"] = (
            torch.eye(config["num_objectives"]) + 0.1 * weights["reward_transform_matrix"]
        )
        for key in (key for key in list(weights) if key.endswith("running_var")):
            weights[key] = weights[key].abs() + 0.5
            weights[key.replace("running_var", "num_batches_tracked")] = torch.tensor(7)
    return weights


def published_tokenizer(name: str) -> Any:
    """Build a published reward model's tokenizer: one beginning-of-text token, words, and line ends as tokens."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: index for index, token in enumerate(published_vocabulary(name))}
    start, end, padding, unknown = {
        "intern": ("<s>", "</s>", "</s>", "<unk>"),
        "eurus": ("<s>", "</s>", None, "<unk>"),
        # Padding is the token that ends a turn, and so the last of a text.
        "llamaob": ("<|begin_of_text|>", "<|eot_id|>", "<|eot_id|>", "[UNK]"),
    }.get(name, ("<|begin_of_text|>", "<|eot_id|>", "[PAD]", "[UNK]"))
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(" +"), "removed"),
            pre_tokenizers.Split(Regex(r"\n\n|\n|\[/?INST\]|\w+|[^\w\s]"), "isolated"),
        ]
    )
    core.post_processor = processors.TemplateProcessing(
        single=f"{start} $A", pair=f"{start} $A $B:1", special_tokens=[(start, vocabulary[start])]
    )
    special = {"intern": _INTERN, "eurus": _MISTRAL}.get(name, _LLAMA3)
    codec = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=start,
        eos_token=end,
        unk_token=unknown,
        pad_token=padding,
        additional_special_tokens=[token for token in special if token not in (start, end, unknown, padding)],
    )
    codec.chat_template = _TEMPLATES.get(name, "{{ bos_token }}" + _TURNS)
    return codec
