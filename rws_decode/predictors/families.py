"""What a family of masked diffusion models publishes, and how one of its checkpoints is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rws_decode.checkpoints.config import whole
from rws_decode.checkpoints.files import refuse_vocabulary

# Kind -> transformers' classes of its config and its causal language model.
DECODERS = {
    "llama": ("LlamaConfig", "LlamaForCausalLM"),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM"),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM"),
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM"),
}
# What is ours to read, and what names classes.
_NOT_THE_NETWORK = ("architectures", "auto_map", "model_type", "mask_token_id", "eos_token_id", "pad_token_id")


@dataclass(frozen=True)
class Layout:
    """How a checkpoint becomes a causal language model of transformers that attends both ways.

    kind: "llama", "qwen2", "qwen3" or "qwen3_moe"; config: that model's, a transformers config; renamed: published
    tensor name patterns -> transformers' (regular expressions, applied in order); vocabulary: ids below it are tokens,
    the rest of the embedding is filling; shifted: whether the logits at i - 1 predict token i; precise_rotary: whether
    queries and keys are turned in float32 whatever the dtype.
    """

    kind: str
    config: Any
    vocabulary: int
    renamed: Mapping[str, str] = field(default_factory=dict)
    shifted: bool = False
    precise_rotary: bool = False


@dataclass(frozen=True)
class Family:
    """A family: how to read its config, and its published tokens, for checkpoints that do not name their own.

    layout: raw config.json, name -> Layout; width: rows of the published embedding, at which the published ids hold;
    mask: name and id; ends: end of text, then end of turn, name and id each; tokenizer: transformers' class;
    mask_aliases: other names of the mask; adds_mask: whether a tokenizer that does not name the mask has it as its next
    id, as the authors' own loader adds it; chat_options: variables of the chat template.
    """

    name: str
    layout: Callable[[Mapping[str, Any], str], Layout]
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


@dataclass(frozen=True)
class SpecialIds:
    """The mask, and the tokens that end an answer, end of text first."""

    mask: int
    ends: tuple[int, ...]


def class_of(layout: Layout) -> Any:
    """Return transformers' class of a layout's network."""
    import transformers

    return getattr(transformers, DECODERS[layout.kind][1])


def decoder_config(kind: str, raw: Mapping[str, Any], name: str) -> Any:
    """Return transformers' config of a kind from a config.json that has its keys; ValueError for one that it refuses.

    So is one refused whose rotary positions are scaled in a way that transformers does not know, or that has no sizes
    of attention.
    """
    import transformers
    from huggingface_hub.errors import StrictDataclassError
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    model = f"model {name}"
    head_counts(raw, name, ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    for key in ("vocab_size", "intermediate_size", "num_hidden_layers", "max_position_embeddings"):
        whole(raw, key, model)
    key = next((key for key in ("rope_parameters", "rope_scaling") if raw.get(key) is not None), None)
    if key is not None:
        scaling = raw[key] if isinstance(raw[key], dict) else {"rope_type": raw[key]}
        rope = scaling.get("rope_type", scaling.get("type", "default"))
        if rope not in ("default", *ROPE_INIT_FUNCTIONS):
            known = ", ".join(sorted({"default", *ROPE_INIT_FUNCTIONS}))
            raise ValueError(f"{model} cannot be loaded: {key} in its config.json is of type {rope!r}, none of {known}")
    network = {key: value for key, value in raw.items() if key not in _NOT_THE_NETWORK}
    try:
        return getattr(transformers, DECODERS[kind][0]).from_dict(network)
    except (TypeError, ValueError, KeyError, StrictDataclassError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{model} cannot be loaded: its config.json is no {kind} config ({reason})") from error


def head_counts(
    raw: Mapping[str, Any], name: str, keys: tuple[str, str, str], *, multi_query: bool = False
) -> tuple[int, int, int]:
    """Return width, heads and key-value heads of a config, under the keys that it has for them.

    multi_query: whether there is one key-value head if the config does not count them; else there are as many as heads.
    ValueError for numbers that no attention has: rotary positions need heads of even width, which `head_dim` may give.
    """
    width, heads = (whole(raw, key, f"model {name}") for key in keys[:2])
    shared = whole(raw, keys[2], f"model {name}", 1 if multi_query else heads)
    if raw.get("head_dim") is not None:
        size = whole(raw, "head_dim", f"model {name}")
        if size % 2:
            raise ValueError(
                f"model {name} cannot be loaded: head_dim in its config.json is {size}, not an even number"
            )
        if heads % shared:
            raise ValueError(
                f"model {name} cannot be loaded: {keys[1]} in its config.json is {heads}, not a multiple of {keys[2]} "
                f"{shared}"
            )
    elif width % heads or (width // heads) % 2 or heads % shared:
        raise ValueError(
            f"model {name} cannot be loaded: {keys[1]} in its config.json is {heads}, which must divide {keys[0]} "
            f"{width} into even parts and be a multiple of {keys[2]} {shared}"
        )
    return width, heads, shared


def special_ids(
    family: Family,
    layout: Layout,
    raw: Mapping[str, Any],
    generation: Mapping[str, Any],
    tokenizer: Any,
    name: str,
    given: int | None = None,
) -> SpecialIds:
    """Return mask and end tokens: of config.json, generation_config.json, tokenizer, then as the family published them.

    given: the caller's mask, which goes before all others. Published ids hold at the published width only; before them
    goes the next id of a tokenizer to which the family's own code adds the mask. ValueError if no mask is known or it
    is no token, and if tokenizer and config disagree: one of them is another model's.
    """
    vocabulary = {} if tokenizer is None else tokenizer.get_vocab()
    width = layout.config.vocab_size
    if tokenizer is not None:
        refuse_vocabulary("model", name, tokenizer, layout.vocabulary)
    published = width == family.width
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
    if isinstance(mask, bool) or not isinstance(mask, int) or not 0 <= mask < layout.vocabulary:
        raise ValueError(
            f"mask_id is {mask!r}: {name} needs one below {layout.vocabulary}, as mask_token_id in its config"
        )
    if given is None and vocabulary:
        named = {token: vocabulary[token] for token in family.mask_names if token in vocabulary}
        other = next((f"calls {token} {text}" for text, token in named.items() if mask not in named.values()), None)
        if other is not None or mask not in (*vocabulary.values(), added):
            says = "has no such token" if other is None else other
            raise ValueError(f"model {name} cannot be loaded: its mask is {mask}, and its tokenizer {says}")
    ends: list[Any] = []
    for holder in (raw.get("eos_token_id"), generation.get("eos_token_id"), getattr(tokenizer, "eos_token_id", None)):
        ends += holder if isinstance(holder, list) else [holder]
    ends += [vocabulary[token] for token, _ in family.ends if token in vocabulary]
    ends += [token for _, token in family.ends if published and not vocabulary]
    return SpecialIds(mask, _tokens(ends, mask, layout.vocabulary))


def _tokens(ids: Sequence[Any], mask: int, limit: int) -> tuple[int, ...]:
    """Return the ids that are tokens other than the mask, each once, in their order."""
    return tuple(dict.fromkeys(token for token in ids if type(token) is int and 0 <= token < limit and token != mask))
