"""Networks of ours and their tokenizers, from files alone: what the shipped models need, without transformers."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

from rws_decode.checkpoints.files import Checkpoint
from rws_decode.checkpoints.weights import Stored, refuse_other_layout, stored_tensors
from rws_decode.networks.modernbert import (
    ModernBertForMaskedLM,
    ModernBertForSequenceClassification,
    ModernBertNetwork,
)
from rws_decode.text.file_tokenizer import FileTokenizer, file_tokenizer

MODERNBERT = "modernbert"
"""The model_type in config.json of all networks of ours."""

_KINDS = {kind.__name__: kind for kind in (ModernBertForMaskedLM, ModernBertForSequenceClassification)}
# All that a config.json says, as transformers writes it: with these values, or as `_is_known` reads it.
_FIXED: dict[str, Any] = {
    "model_type": MODERNBERT,
    "attention_bias": False,
    "attention_dropout": 0.0,
    "classifier_activation": "gelu",
    "classifier_bias": False,
    "classifier_dropout": 0.0,
    "decoder_bias": True,
    "deterministic_flash_attn": False,
    "embedding_dropout": 0.0,
    "hidden_activation": "gelu",
    "initializer_cutoff_factor": 2.0,
    "initializer_range": 0.02,
    "local_attention": 128,
    "mlp_bias": False,
    "mlp_dropout": 0.0,
    "norm_bias": False,
    "sparse_pred_ignore_index": -100,
    "sparse_prediction": False,
    "tie_word_embeddings": True,
}
_SIZES = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    "max_position_embeddings",
)
_IDS = tuple(f"{name}_token_id" for name in ("pad", "bos", "eos", "cls", "sep", "mask"))
_READ = ("architectures", "layer_types", "rope_parameters", "norm_eps", "classifier_pooling")
_UNREAD = ("dtype", "transformers_version", "id2label", "label2id")


class Standalone(NamedTuple):
    """A network with its weights, in evaluation mode, and its tokenizer."""

    network: ModernBertNetwork
    tokenizer: FileTokenizer


def standalone(
    checkpoint: Checkpoint, raw: Mapping[str, Any], stored: Mapping[str, Stored], kind: str, dtype: torch.dtype
) -> Standalone | None:
    """Return a checkpoint's network of the kind "MaskedLM" or "SequenceClassification", and its tokenizer.

    raw: its config.json; stored: its tensors (`weights.read_headers`); dtype: of the weights. Guarantee: ids
    are those of transformers, and so are logits, bit by bit on a CPU. None for anything but a network of ours with
    exactly its weights by name, and a tokenizer that `file_tokenizer` reads: whatever is unusual or amiss is for
    transformers to load or refuse. ValueError for weights of another shape, or that are no floating-point numbers.
    """
    network = network_of(raw)
    if network is None or type(network).__name__ != f"ModernBertFor{kind}":
        return None
    masked = isinstance(network, ModernBertForMaskedLM)
    expected = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    if masked:
        del expected["decoder.weight"]  # the embedding's
    tokenizer = file_tokenizer(checkpoint)
    if tokenizer is None or stored.keys() != expected.keys():
        return None
    refuse_other_layout("model" if masked else "reward", checkpoint, stored, expected)
    with torch.inference_mode(False):  # weights are not the caller's to make inference tensors of
        weights = {name: tensor.to(dtype) for name, tensor in stored_tensors(checkpoint, stored)}
        network.load_state_dict(weights, strict=False, assign=True)
        if masked:
            network.decoder.weight = network.get_input_embeddings().weight
    return Standalone(network.eval(), tokenizer)


def network_of(raw: Mapping[str, Any]) -> ModernBertNetwork | None:
    """Return the network of a config.json, without memory for its weights; None unless it is exactly one of ours.

    >>> network_of({"model_type": MODERNBERT}) is None
    True
    """
    if set(raw) - {*_UNREAD} != {*_FIXED, *_SIZES, *_IDS, *_READ} or not _is_known(raw):
        return None
    with torch.inference_mode(False), torch.device("meta"):
        return _KINDS[raw["architectures"][0]](SimpleNamespace(**raw, num_labels=1))


def _is_known(raw: Mapping[str, Any]) -> bool:
    sizes, named, rope = [raw[key] for key in _SIZES], raw["architectures"], raw["rope_parameters"]
    if any(type(raw[key]) is not type(value) or raw[key] != value for key, value in _FIXED.items()):
        return False
    if any(type(size) is not int or size < 1 for size in sizes):
        return False
    if any(token is not None and (type(token) is not int or not 0 <= token < sizes[0]) for token in map(raw.get, _IDS)):
        return False
    full = rope.get("full_attention") if isinstance(rope, dict) else None
    return (
        named in [[name] for name in _KINDS]
        and raw["hidden_size"] % (2 * raw["num_attention_heads"]) == 0
        and raw["layer_types"] == ["full_attention"] * raw["num_hidden_layers"]
        and isinstance(full, dict)
        and set(full) == {"rope_theta", "rope_type"}
        and full["rope_type"] == "default"
        and all(type(number) is float and 0 < number < 1e12 for number in (full["rope_theta"], raw["norm_eps"]))
        and raw["classifier_pooling"] in ("cls", "mean")
    )
