"""What a family of masked diffusion models publishes, and what one of its checkpoints says before it is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tokenizers import AddedToken

from rws_decode.checkpoints.config import Config
from rws_decode.checkpoints.files import (
    Checkpoint,
    checked_tokenizer,
    has_tokenizer,
    refuse_vocabulary,
    without_panics,
)
from rws_decode.checkpoints.weights import Stored, read_headers, refuse_other_layout, shapes_of
from rws_decode.predictors.base import checked_mask

# Kind -> what transformers' classes of its config and its causal language model begin with.
DECODERS = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3", "qwen3_moe": "Qwen3Moe", "glm4_moe": "Glm4Moe"}
# Qwen's end of text and end of turn, which several families have.
QWEN: dict[str, Any] = {
    "ends": (("<|endoftext|>", 151643), ("<|im_end|>", 151645)),
    "tokenizer": "Qwen2Tokenizer",
}
HEADS = ("hidden_size", "num_attention_heads", "num_key_value_heads")  # transformers' keys of attention's sizes
_FUSED = "self_attn.query_key_value"  # under transformers' names, queries, keys and values as one tensor
# What is ours to read, and what names classes.
_NOT_THE_NETWORK = ("architectures", "auto_map", "model_type", "mask_token_id", "eos_token_id", "pad_token_id")
_NOT_THE_NETWORK += ("attn_implementation", "block_size", "bd_size")


@dataclass(frozen=True)
class Layout:
    """How a checkpoint becomes a causal language model of transformers that attends both ways, or block by block.

    kind: one of `DECODERS`; config: that model's, a transformers config; renamed: published
    tensor name patterns -> transformers' (regular expressions, applied in order); vocabulary: ids below it are tokens,
    the rest of the embedding is filling; shifted: whether the logits at i - 1 predict token i; precise_rotary: whether
    queries and keys are turned in float32 whatever the dtype; block: tokens of the blocks beyond which none is seen.
    fused: whether queries, keys and values are stored as one tensor.
    """

    kind: str
    config: Any
    vocabulary: int
    renamed: Mapping[str, str] = field(default_factory=dict)
    shifted: bool = False
    precise_rotary: bool = False
    block: int | None = None
    fused: bool = False


@dataclass(frozen=True)
class Family:
    """A family: how to read its config, and its published tokens, for checkpoints that do not name their own.

    layout: config.json -> Layout; width: rows of the published embedding, at which the published ids hold;
    mask: name and id; ends: end of text, then end of turn, name and id each; tokenizer: transformers' class;
    mask_aliases: other names of the mask; adds_mask: whether a tokenizer that does not name the mask has it as its next
    id, as the authors' own loader adds it; chat_options: variables of the chat template.
    """

    name: str
    layout: Callable[[Config], Layout]
    width: int
    mask: tuple[str, int]
    ends: tuple[tuple[str, int], ...]
    tokenizer: str
    mask_aliases: tuple[str, ...] = ()
    adds_mask: bool = False
    chat_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mask_names(self) -> tuple[str, ...]:
        """Return the names that the mask has in the family's tokenizers."""
        return (self.mask[0], *self.mask_aliases)


def class_of(layout: Layout) -> Any:
    """Return transformers' class of a layout's network; where attention is stored fused, a subclass that divides it."""
    import transformers

    kind = getattr(transformers, f"{DECODERS[layout.kind]}ForCausalLM")
    return _dividing(kind) if layout.fused else kind


@cache
def _dividing(kind: Any) -> Any:
    """Return a subclass whose loading divides fused queries, keys and values, each as long as the model's own."""
    from transformers.conversion_mapping import (
        get_checkpoint_conversion_mapping,
        register_checkpoint_conversion_mapping,
    )
    from transformers.core_model_loading import Split, WeightConverter

    made = type(f"Dividing{kind.__name__}", (kind,), {"__module__": __name__})
    parts = [f"self_attn.{letter}_proj" for letter in "qkv"]
    divided = WeightConverter(source_patterns=_FUSED, target_patterns=parts, operations=[Split(dim=0)])
    usual = get_checkpoint_conversion_mapping(kind.config_class.model_type) or []
    register_checkpoint_conversion_mapping(made.__name__, [*usual, divided], overwrite=True)
    return made


def decoder_config(kind: str, raw: Config) -> Any:
    """Return transformers' config of a kind from a config.json that has its keys; ValueError for one that it refuses.

    So is one refused whose rotary positions are scaled in a way that transformers does not know, or that has no sizes
    of attention.
    """
    import transformers
    from huggingface_hub.errors import StrictDataclassError
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    raw.heads(*HEADS)
    for key in ("vocab_size", "intermediate_size", "num_hidden_layers", "max_position_embeddings"):
        raw.whole(key)
    key = next((key for key in ("rope_parameters", "rope_scaling") if raw.get(key) is not None), None)
    if key is not None:
        scaling = raw[key] if isinstance(raw[key], dict) else {"rope_type": raw[key]}
        rope = scaling.get("rope_type", scaling.get("type", "default"))
        if rope not in ("default", *ROPE_INIT_FUNCTIONS):
            known = ", ".join(sorted({"default", *ROPE_INIT_FUNCTIONS}))
            raise raw.refused(f"{key} in its config.json is of type {rope!r}, none of {known}")
    network = {key: value for key, value in raw.items() if key not in _NOT_THE_NETWORK}
    try:
        return getattr(transformers, f"{DECODERS[kind]}Config").from_dict(network)
    except (TypeError, ValueError, KeyError, StrictDataclassError) as error:
        raise raw.refused(f"its config.json is no {kind} config ({line_of(error)})") from error


def special_ids(
    family: Family, layout: Layout, raw: Config, tokenizer: Any, given: int | None = None
) -> tuple[int, tuple[int, ...]]:
    """Return the mask and the end tokens: of config.json, generation_config.json, tokenizer, then as published.

    given: the caller's mask, which goes before all others. Published ids hold at the published width only; before them
    goes the next id of a tokenizer to which the family's own code adds the mask. ValueError if no mask is known, it is
    no token or ends the text, and if tokenizer and config disagree: one of them is another model's.
    """
    vocabulary = {} if tokenizer is None else tokenizer.get_vocab()
    if tokenizer is not None:
        refuse_vocabulary(raw.checkpoint, tokenizer, layout.vocabulary)
    generation = raw.checkpoint.read_json("generation_config.json")
    generation = generation if isinstance(generation, dict) else {}
    published = layout.config.vocab_size == family.width
    added = max(vocabulary.values()) + 1 if family.adds_mask and vocabulary else None
    masks = (
        given,
        raw.get("mask_token_id"),
        generation.get("mask_token_id"),
        getattr(tokenizer, "mask_token_id", None),
        *(vocabulary.get(token) for token in family.mask_names),
        added,
        family.mask[1] if published else None,
    )
    mask = next((token for token in masks if token is not None), None)
    ends: list[Any] = []
    for holder in (raw.get("eos_token_id"), generation.get("eos_token_id"), getattr(tokenizer, "eos_token_id", None)):
        ends += holder if isinstance(holder, list) else [holder]
    ends += [vocabulary[token] for token, _ in family.ends if token in vocabulary]
    ends += [token for _, token in family.ends if published and not vocabulary]
    mask = checked_mask(mask, raw.checkpoint.name, layout.vocabulary, ends, vocabulary)
    if given is None and vocabulary:
        named = {token: vocabulary[token] for token in family.mask_names if token in vocabulary}
        other = next((f"calls {token} {text}" for text, token in named.items() if mask not in named.values()), None)
        if other is not None or mask not in (*vocabulary.values(), added):
            says = "has no such token" if other is None else other
            raise raw.refused(f"its mask is {mask}, and its tokenizer {says}")
    tokens = (token for token in ends if type(token) is int and 0 <= token < layout.vocabulary)
    return mask, tuple(dict.fromkeys(tokens))


def described(
    raw: Config, family: Family, mask_id: int | None = None
) -> tuple[Layout, dict[str, Stored], dict[str, Stored], Any, int, tuple[int, ...]]:
    """Return what a checkpoint of a family says of itself; ValueError if config, weights and tokenizer disagree.

    Its layout, its tensors by their names in the files and by transformers', its tokenizer, its mask and its ends.
    """
    headers = read_headers(raw.checkpoint)
    raw.refuse_sizes(headers)
    layout = family.layout(raw)
    stored = {renamed(key, layout.renamed): value for key, value in headers.items()}
    refuse_other_layout(raw.checkpoint, stored, _expected_tensors(raw, layout, stored))
    tokenizer = load_tokenizer(raw.checkpoint, family)
    return layout, headers, stored, tokenizer, *special_ids(family, layout, raw, tokenizer, mask_id)


def renamed(name: str, patterns: Mapping[str, str]) -> str:
    """Return a published tensor's name in transformers.

    >>> renamed("model.transformer.wte.weight", {r"^model\\.transformer\\.wte\\.": "model.embed_tokens."})
    'model.embed_tokens.weight'
    """
    for pattern, target in patterns.items():
        name = re.sub(pattern, target, name)
    return name


def _expected_tensors(raw: Config, layout: Layout, stored: Mapping[str, Stored]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a layout's tensors by transformers' names.

    ValueError if config and weights count other layers: to build as many as a config claims may take forever.
    """
    layers = {int(match[1]) for tensor in stored if (match := re.match(r"model\.layers\.(\d+)\.", tensor))}
    count = max(layers, default=-1) + 1
    if count != layout.config.num_hidden_layers:
        raise ValueError(
            f"{raw.checkpoint.named} does not fit its config: it has weights of {count} layers, config.json says "
            f"{layout.config.num_hidden_layers}"
        )
    expected = _by_expert(shapes_of(class_of(layout), layout.config))
    expected = _as_one(expected) if layout.fused else expected
    # Tied, it may be left out, or written a second time: `loading` sees that it is the same.
    if layout.config.tie_word_embeddings and "lm_head.weight" not in stored:
        del expected["lm_head.weight"]
    return expected


def _as_one(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return shapes of tensors with queries, keys and values of a layer as one."""
    fused: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():
        key = re.sub(r"self_attn\.[qkv]_proj", _FUSED, name)
        rows = fused[key][0] if key in fused else 0
        fused[key] = shape if key == name else (rows + shape[0], *shape[1:])
    return fused


def _by_expert(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return shapes of tensors with all experts of a layer, as transformers has them, as published: one by one."""
    single: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():
        prefix, _, part = name.rpartition(".")
        if not prefix.endswith(".experts"):
            single[name] = shape
            continue
        experts, rows, columns = shape
        parts = {"gate_up_proj": ("gate_proj", "up_proj"), "down_proj": ("down_proj",)}[part]
        for number in range(experts):
            single |= {f"{prefix}.{number}.{each}.weight": (rows // len(parts), columns) for each in parts}
    return single


def load_tokenizer(checkpoint: Checkpoint, family: Family | None) -> Any:
    """Return the checkpoint's tokenizer, None without files of one; ValueError if they cannot be read."""
    import transformers

    if not has_tokenizer(checkpoint):
        return None
    loader = getattr(transformers, "AutoTokenizer" if family is None else family.tokenizer)
    try:
        with without_panics():
            tokenizer = checked_tokenizer(loader.from_pretrained(checkpoint.source, **checkpoint.options))
    except Exception as error:  # of files that are not what they say: tokenizers raises it plain
        raise checkpoint.refused(f"its tokenizer is refused ({line_of(error)})") from error
    if family is not None:
        _mark_special(tokenizer, family)
    return tokenizer


def _mark_special(tokenizer: Any, family: Family) -> None:
    """Mark what steers the model as special if the tokenizer's files do not, so that prompts cannot spell it."""
    template = str(tokenizer.chat_template or "")
    steering = {*family.mask_names, *(name for name, _ in family.ends)}
    added = [token.content for token in tokenizer.added_tokens_decoder.values()]
    special = [name for name in added if name in steering or name in template]
    tokenizer.backend_tokenizer.add_special_tokens(
        [AddedToken(name, special=True, normalized=False) for name in special]
    )


def line_of(error: BaseException) -> str:
    """Return an error's message in one line."""
    return " ".join(str(error).split()) or type(error).__name__
