"""The networks and tokenizers of reward models, whatever their weights are called, as transformers' own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from rws_decode.checkpoints.config import number, whole
from rws_decode.checkpoints.files import Checkpoint
from rws_decode.checkpoints.weights import (
    Stored,
    model_of,
    read_tensor,
    refuse_incomplete,
    refuse_other_layout,
    refuse_unasked,
    shapes_of,
)
from rws_decode.rewards.internlm2 import load_internlm2, sentencepiece_tokenizer
from rws_decode.rewards.quantile import QuantileHead
from rws_decode.rewards.registry import Layout

_SENTENCEPIECE = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}


def load_network(
    checkpoint: Checkpoint, layout: Layout, config: Mapping[str, Any], stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, QuantileHead | None]:
    """Return a reward model's network and, for QRM alone, the head that transformers does not have.

    stored: its tensors (`weights.read_headers`); options: of `from_pretrained`. ValueError for a config.json or tensors
    of another layout, and for weights that are missing or left over.
    """
    head = None
    if layout == "internlm2":
        model, report = load_internlm2(checkpoint, config, stored, **options)
    elif layout == "eurus":
        model, report = _load_eurus(checkpoint, config, stored, **options)
    elif layout == "quantile":
        model, report, head = _load_quantile(checkpoint, config, stored, **options)
    else:
        model, report = _load_plain(checkpoint, config, stored, **options)
    refuse_incomplete("reward", checkpoint, report)
    refuse_unasked("reward", checkpoint, map(str, report.get("unexpected_keys", ())))
    return model, head


def _load_plain(
    checkpoint: Checkpoint, config: Mapping[str, Any], stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Return a sequence classifier of one output, of a class that transformers has, and the report of its loading."""
    from transformers import AutoModelForSequenceClassification, LlamaConfig, LlamaForSequenceClassification

    # Other classes may be stored under names that transformers changes on loading; its report tells what is amiss.
    if config.get("architectures") == ["LlamaForSequenceClassification"]:
        network = LlamaConfig.from_dict(_sizes(config), num_labels=1)
        refuse_other_layout("reward", checkpoint, stored, shapes_of(LlamaForSequenceClassification, network))
    return AutoModelForSequenceClassification.from_pretrained(
        checkpoint.source,
        num_labels=1,
        use_safetensors=True,
        output_loading_info=True,
        **options,
        **checkpoint.options,
    )


def _load_eurus(
    checkpoint: Checkpoint, config: Mapping[str, Any], stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Return Eurus-RM as a MistralForSequenceClassification: its bias-free regression_head is the score."""
    from transformers import MistralConfig, MistralForSequenceClassification

    network = MistralConfig.from_dict(_sizes(config), num_labels=1)
    shapes = shapes_of(MistralForSequenceClassification, network)
    published = {name: name.replace("score.", "regression_head.") for name in shapes}
    refuse_other_layout("reward", checkpoint, stored, {published[name]: shape for name, shape in shapes.items()})
    weights = {name: read_tensor(checkpoint, stored, published[name]) for name in shapes}
    return model_of(MistralForSequenceClassification, network, weights, **options)


def _load_quantile(
    checkpoint: Checkpoint, config: Mapping[str, Any], stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any], QuantileHead]:
    """Return QRM's Llama network without a head, transformers' report of its loading, and the head, in float32.

    ValueError for a config.json or tensors of another layout; one without quantiles is ArmoRM's.
    """
    from transformers import LlamaConfig, LlamaModel

    model = f"reward {checkpoint.name}"
    raw = {"num_objectives": 19, "gating_hidden_dim": 1024, "gating_n_hidden": 3, "gating_temperature": 10.0, **config}
    fields = "hidden_size", "num_objectives", "num_quantiles", "gating_hidden_dim", "gating_n_hidden"
    sizes = {key: whole(raw, key, model) for key in fields}
    make_head = partial(QuantileHead, **sizes, gating_temperature=number(raw, "gating_temperature", model))
    network = LlamaConfig.from_dict(_sizes(config))
    shapes = {f"model.{name}": shape for name, shape in shapes_of(LlamaModel, network).items()}
    with torch.device("meta"):  # no memory for what the file may not hold
        tensors = make_head().state_dict()
    # How often batch normalisation was updated in training: a whole number, which no score depends on.
    counts = {name for name in tensors if name.endswith("num_batches_tracked")}
    of_head = {name: tuple(tensor.shape) for name, tensor in tensors.items() if name not in counts}
    read = {name: tensor for name, tensor in stored.items() if name not in counts}
    refuse_other_layout("reward", checkpoint, read, shapes | of_head)
    head = make_head()
    head.load_state_dict({name: read_tensor(checkpoint, stored, name) for name in of_head}, strict=False)
    weights = {name.removeprefix("model."): read_tensor(checkpoint, stored, name) for name in shapes}
    return *model_of(LlamaModel, network, weights, **options), head.eval()


def load_tokenizer(checkpoint: Checkpoint, layout: Layout) -> Any:
    """Return a reward model's tokenizer: transformers' own choice or, if its class is remote code, its files'.

    Its tokenizer.json is read first. A SentencePiece tokenizer.model needs the packages sentencepiece and protobuf:
    Eurus's is read as Llama's, InternLM2's as `internlm2.sentencepiece_tokenizer`. ValueError without the packages, or
    without either file.
    """
    from transformers import AutoTokenizer, LlamaTokenizer, PreTrainedTokenizerFast

    if layout == "plain":
        return AutoTokenizer.from_pretrained(checkpoint.source, **checkpoint.options)
    folder = Path(checkpoint.source)
    if (folder / "tokenizer.json").is_file():
        return PreTrainedTokenizerFast.from_pretrained(folder, **checkpoint.options)
    if not (folder / "tokenizer.model").is_file():
        raise ValueError(f"reward {checkpoint.name} lacks a tokenizer: neither tokenizer.json nor tokenizer.model")
    absent = [name for name, module in _SENTENCEPIECE.items() if not _installed(module)]
    if absent:
        raise ValueError(
            f"reward {checkpoint.name} has its tokenizer as tokenizer.model only, which needs "
            f"{' and '.join(absent)}: install them, or put a tokenizer.json beside it"
        )
    if layout == "internlm2":
        return sentencepiece_tokenizer(checkpoint)
    return LlamaTokenizer.from_pretrained(folder, **checkpoint.options)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    # Without what names classes: only the network's own description.
    return {key: value for key, value in config.items() if key not in ("architectures", "auto_map", "_name_or_path")}
