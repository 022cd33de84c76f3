"""The networks and tokenizers of reward models, whatever their weights are called, as transformers' own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rws_decode.checkpoints.config import Config
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
from rws_decode.extra.quantile import QuantileHead
from rws_decode.rewards.registry import Layout

# Llama's names -> InternLM2's; its fused query, key and value weights are split in `_split`.
_NAMES = {
    "model.embed_tokens.": "model.tok_embeddings.",
    ".input_layernorm.": ".attention_norm.",
    ".post_attention_layernorm.": ".ffn_norm.",
    ".self_attn.q_proj.": ".attention.wqkv.",
    ".self_attn.o_proj.": ".attention.wo.",
    ".mlp.gate_proj.": ".feed_forward.w1.",
    ".mlp.up_proj.": ".feed_forward.w3.",
    ".mlp.down_proj.": ".feed_forward.w2.",
    "score.": "v_head.",
}
_QUERY, _KEY, _VALUE = (f".self_attn.{letter}_proj." for letter in "qkv")
_SIZES = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "max_position_embeddings"),
)
_SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id")
_SENTENCEPIECE = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}


def load_network(
    layout: Layout, config: Config, stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, QuantileHead | None]:
    """Return a reward model's network and, for QRM alone, the head that transformers does not have.

    stored: its tensors (`weights.read_headers`); options: of `from_pretrained`. ValueError for a config.json or tensors
    of another layout, and for weights that are missing or left over.
    """
    head = None
    if layout == "internlm2":
        model, report = load_internlm2(config, stored, **options)
    elif layout == "quantile":
        model, report, head = _load_quantile(config, stored, **options)
    else:
        model, report = _load_plain(layout, config, stored, **options)
    refuse_incomplete(config.checkpoint, report)
    refuse_unasked(config.checkpoint, map(str, report.get("unexpected_keys", ())))
    return model, head


def _load_plain(
    layout: Layout, config: Config, stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Return a sequence classifier of one output, of a class that transformers has, and the report of its loading.

    Eurus-RM is a MistralForSequenceClassification: its bias-free regression_head is the score.
    """
    import transformers

    named: dict[str, Any] = {"num_labels": 1}
    loader: Any = transformers.AutoModelForSequenceClassification
    # Other classes may be stored under names that transformers changes on loading; its report tells what is amiss.
    if layout == "eurus" or config.get("architectures") == ["LlamaForSequenceClassification"]:
        kind, head = ("Mistral", "regression_head.") if layout == "eurus" else ("Llama", "score.")
        loader = getattr(transformers, f"{kind}ForSequenceClassification")
        network = getattr(transformers, f"{kind}Config").from_dict(_sizes(config), num_labels=1)
        shapes = {name.replace("score.", head): shape for name, shape in shapes_of(loader, network).items()}
        refuse_other_layout(config.checkpoint, stored, shapes)
        if layout == "eurus":
            named = {"config": network, "key_mapping": {"^regression_head": "score"}}
    named |= options | config.checkpoint.options
    return loader.from_pretrained(config.checkpoint.source, use_safetensors=True, output_loading_info=True, **named)


def _load_quantile(
    config: Config, stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any], QuantileHead]:
    """Return QRM's Llama network without a head, transformers' report of its loading, and the head, in float32.

    ValueError for a config.json or tensors of another layout; one without quantiles is ArmoRM's.
    """
    from transformers import LlamaConfig, LlamaModel

    raw = {"num_objectives": 19, "gating_hidden_dim": 1024, "gating_n_hidden": 3, "gating_temperature": 10.0, **config}
    checkpoint, filled = config.checkpoint, Config(raw, config.checkpoint)
    fields = "hidden_size", "num_objectives", "num_quantiles", "gating_hidden_dim", "gating_n_hidden"
    sizes = {key: filled.whole(key) for key in fields}
    make_head = partial(QuantileHead, **sizes, gating_temperature=filled.number("gating_temperature"))
    network = LlamaConfig.from_dict(_sizes(config))
    shapes = {f"model.{name}": shape for name, shape in shapes_of(LlamaModel, network).items()}
    with torch.device("meta"):  # no memory for what the file may not hold
        tensors = make_head().state_dict()
    # How often batch normalisation was updated in training: a whole number, which no score depends on.
    counts = {name for name in tensors if name.endswith("num_batches_tracked")}
    of_head = {name: tuple(tensor.shape) for name, tensor in tensors.items() if name not in counts}
    read = {name: tensor for name, tensor in stored.items() if name not in counts}
    refuse_other_layout(checkpoint, read, shapes | of_head)
    head = make_head()
    head.load_state_dict({name: read_tensor(checkpoint, stored, name) for name in of_head}, strict=False)
    weights = {name.removeprefix("model."): read_tensor(checkpoint, stored, name) for name in shapes}
    return *model_of(LlamaModel, network, weights, **options), head.eval()


def load_tokenizer(checkpoint: Checkpoint, layout: Layout) -> Any:
    """Return a reward model's tokenizer: transformers' own choice or, if its class is remote code, its files'.

    Its tokenizer.json is read first. A SentencePiece tokenizer.model needs the packages sentencepiece and protobuf:
    Eurus's is read as Llama's, InternLM2's with a space before a text only if it says so. ValueError without the
    packages, or without either file.
    """
    from tokenizers import normalizers
    from transformers import AutoTokenizer, LlamaTokenizer, PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import SentencePieceExtractor

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
    if layout != "internlm2":
        return LlamaTokenizer.from_pretrained(folder, **checkpoint.options)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, **checkpoint.options)
    proto: Any = SentencePieceExtractor(str(folder / "tokenizer.model")).proto
    if proto.normalizer_spec.add_dummy_prefix:
        spaced = [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(spaced)
    return tokenizer


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    # Without what names classes: only the network's own description.
    return {key: value for key, value in config.items() if key not in ("architectures", "auto_map", "_name_or_path")}


def load_internlm2(config: Config, stored: Mapping[str, Stored], **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return InternLM2's reward model as a LlamaForSequenceClassification, and transformers' report of its loading.

    Query, key and value weights are fused per key-value head as [q_1 ... q_g, k, v], g = heads / kv heads. The score is
    v_head at the `reward_token`, which ends every text. Rotary scaling "dynamic" is left out: it changes nothing up to
    max_position_embeddings, and longer texts are refused. ValueError for a config.json or tensors of another layout.
    """
    from transformers import LlamaConfig, LlamaForSequenceClassification

    sizes = {key: config.whole(key) for key in _SIZES}
    width, heads, groups = sizes["hidden_size"], sizes["num_attention_heads"], sizes["num_key_value_heads"]
    if heads % groups or width % heads:
        raise config.refused(
            f"its config.json has {heads} attention heads of {groups} groups for a "
            f"hidden size of {width}: each must divide the one before, counted from the last"
        )
    settings: dict[str, Any] = {
        **sizes,
        **{key: config[key] for key in _SPECIAL if key in config},
        "hidden_act": config.get("hidden_act", "silu"),
        "rms_norm_eps": config.number("rms_norm_eps"),
        "rope_parameters": _rotary(config),
        "attention_bias": bool(config.get("bias", False)),
        "tie_word_embeddings": False,
        "num_labels": 1,
    }
    network = LlamaConfig(**settings)
    shapes = {
        name: shape
        for name, shape in shapes_of(LlamaForSequenceClassification, network).items()
        if _KEY not in name and _VALUE not in name
    }
    size = width // heads
    fused = {name: ((heads + 2 * groups) * size, *shape[1:]) for name, shape in shapes.items() if _QUERY in name}
    expected = {_published(name): shape for name, shape in (shapes | fused).items()}
    refuse_other_layout(config.checkpoint, stored, expected)
    weights: dict[str, Tensor] = {}
    for name in shapes:
        tensor = read_tensor(config.checkpoint, stored, _published(name))
        parts = _split(tensor, heads // groups, size) if name in fused else [tensor]
        weights |= {name.replace(_QUERY, kind): part for kind, part in zip((_QUERY, _KEY, _VALUE), parts, strict=False)}
    return model_of(LlamaForSequenceClassification, network, weights, **options)


def reward_token(config: Config) -> int:
    """Return the id of the token that ends every text; ValueError for none of its vocabulary.

    >>> reward_token(Config({"vocab_size": 92544, "reward_token_id": 92527}, Checkpoint("intern", None, "reward")))
    92527
    """
    rows, token = config.whole("vocab_size"), config.whole("reward_token_id")
    if token >= rows:
        raise config.wrong("reward_token_id", f"below {rows} is needed")
    return token


def _published(name: str) -> str:
    """Return InternLM2's name of one of Llama's tensors."""
    for llama, published in _NAMES.items():
        # A name without a leading dot stands at the start.
        if llama in name and (llama.startswith(".") or name.startswith(llama)):
            return name.replace(llama, published)
    return name


def _split(fused: Tensor, queries: int, size: int) -> list[Tensor]:
    groups = fused.unflatten(0, (-1, queries + 2, size))  # [kv heads, g queries, key, value; size; hidden]
    parts = groups[:, :queries], groups[:, queries : queries + 1], groups[:, queries + 1 :]
    return [part.flatten(0, 2).contiguous() for part in parts]


def _rotary(config: Config) -> dict[str, Any]:
    theta = config.number("rope_theta")
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("type", scaling.get("rope_type", "default")) if isinstance(scaling, dict) else scaling
    if kind == "linear":
        factor = Config(scaling, config.checkpoint).number("factor")
        return {"rope_type": "linear", "rope_theta": theta, "factor": factor}
    if kind not in ("default", "dynamic"):
        raise config.refused(f"rope_scaling in its config.json is {kind!r}, linear, dynamic or null is read")
    return {"rope_type": "default", "rope_theta": theta}
