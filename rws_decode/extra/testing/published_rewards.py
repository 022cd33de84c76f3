"""Checkpoints of the layouts in which the paper's reward models are published, with vocabularies of a few words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rws_decode.common.files import write_json
from rws_decode.extra.testing.diffusion import CONFIGS, SKYWORK_V2, Published, Shapes
from rws_decode.extra.testing.networks import WORDS, decoder_shapes, tensor_shapes
from rws_decode.rewards.registry import PUBLISHED

_LLAMA3 = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "[PAD]")
_INTERN = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|reward|>")
_MISTRAL = ("<unk>", "<s>", "</s>")
_ROLES = ("system", "user", "assistant", "\n\n", "\n", "Today", "Date", ":", "26", "Jul", "2024", "[INST]", "[/INST]")
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


def _write_tokenizer(name: str, directory: Path) -> None:
    published_tokenizer(name).save_pretrained(directory)
    if name in ("intern", "eurus"):  # a class that only their own code has, and one that rebuilds the vocabulary
        settings = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
        settings["tokenizer_class"] = "InternLM2Tokenizer" if name == "intern" else "LlamaTokenizer"
        if name == "intern":
            settings["auto_map"] = {"AutoTokenizer": ["tokenization_internlm2.InternLM2Tokenizer", None]}
        write_json(directory / "tokenizer_config.json", settings)


def _plain(config: Mapping[str, Any], head: str = "score") -> Shapes:
    return decoder_shapes(config) | {f"{head}.weight": (1, config["hidden_size"])}


def _intern(config: Mapping[str, Any]) -> Shapes:
    sizes, heads = _sizes(config), config["num_attention_heads"]
    sizes["qkv"] = config["hidden_size"] // heads * (heads + 2 * config["num_key_value_heads"])
    return tensor_shapes(_INTERN_TENSORS, sizes, config["num_hidden_layers"])


def _qrm(config: Mapping[str, Any]) -> Shapes:
    sizes = _sizes(config) | {"outputs": config["num_objectives"] * config["num_quantiles"]}
    return decoder_shapes(config) | tensor_shapes(_QRM_TENSORS, sizes, 0)


def _sizes(config: Mapping[str, Any]) -> dict[str, int]:
    return {key: value for key, value in config.items() if isinstance(value, int)} | {"one": 1}


class _Quantiles(Published):
    def weights(self, config: Mapping[str, Any], seed: int) -> dict[str, Tensor]:
        weights, mixing = super().weights(config, seed), "reward_transform_matrix"
        weights[mixing] = torch.eye(config["num_objectives"]) + 0.1 * weights[mixing]
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
    if name != "eurus":
        template = name if name in ("skywork", "grm", "intern") else "turns"
        codec.chat_template = (CONFIGS / f"{template}.jinja").read_text(encoding="utf-8")
    return codec


def _published(name: str) -> Published:
    kind, config, changes, shapes = {
        "intern": (Published, "intern", {}, _intern),
        "eurus": (Published, "eurus", {}, partial(_plain, head="regression_head")),
        "llamaob": (Published, "skywork", {"rope_scaling": None}, _plain),
        "grm": (Published, "skywork", {"tie_word_embeddings": True}, _plain),
        "qrm": (_Quantiles, "skywork", _QRM, _qrm),
    }.get(name, (Published, "skywork", {}, _plain))
    about, tokenizer = PUBLISHED[name].hub_id, partial(_write_tokenizer, name)
    return kind(about, config, shapes, tokenizer, changes=changes, shards=2, dtype=torch.float32, spread=0.5)


# The paper's by their names, after Skywork's later one.
REWARD_MODELS = {"skywork-v2-qwen3": SKYWORK_V2} | {name: _published(name) for name in PUBLISHED}
