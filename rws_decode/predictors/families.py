"""What a family of masked diffusion models publishes, and how one of its checkpoints is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rws_decode.checkpoints.config import whole
from rws_decode.checkpoints.files import refuse_vocabulary

__all__ = ["Family", "Layout", "SpecialIds", "head_counts", "special_ids"]


@dataclass(frozen=True)
class Layout:
    """How a checkpoint becomes a causal language model of transformers that attends both ways.

    kind: "llama" or "qwen2"; config: that model's, a transformers config; renamed: published tensor name patterns ->
    transformers' (regular expressions, applied in order); vocabulary: ids below it are tokens, the rest of the
    embedding is filling; shifted: whether the logits at i - 1 predict token i; precise_rotary: whether queries and keys
    are turned in float32 whatever the dtype.
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
    mask: name and id; ends: end of text, then end of turn, name and id each; tokenizer: transformers' class.
    """

    name: str
    layout: Callable[[Mapping[str, Any], str], Layout]
    width: int
    mask: tuple[str, int]
    ends: tuple[tuple[str, int], ...]
    tokenizer: str


@dataclass(frozen=True)
class SpecialIds:
    """The mask, and the tokens that end an answer, end of text first."""

    mask: int
    ends: tuple[int, ...]


def head_counts(
    raw: Mapping[str, Any], name: str, keys: tuple[str, str, str], *, multi_query: bool = False
) -> tuple[int, int, int]:
    """Return width, heads and key-value heads of a config, under the keys that it has for them.

    multi_query: whether there is one key-value head if the config does not count them; else there are as many as heads.
    ValueError for numbers that no attention has: rotary positions need heads of even width.
    """
    width, heads = (whole(raw, key, f"model {name}") for key in keys[:2])
    shared = whole(raw, keys[2], f"model {name}", 1 if multi_query else heads)
    if width % heads or (width // heads) % 2 or heads % shared:
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

    given: the caller's mask, which goes before all others. Published ids hold at the published width only. ValueError
    if no mask is known or it is no token, and if tokenizer and config disagree: one of them is another model's.
    """
    vocabulary = {} if tokenizer is None else tokenizer.get_vocab()
    width = layout.config.vocab_size
    if tokenizer is not None:
        refuse_vocabulary("model", name, tokenizer, layout.vocabulary)
    published = width == family.width
    masks = (
        given,
        raw.get("mask_token_id"),
        generation.get("mask_token_id"),
        getattr(tokenizer, "mask_token_id", None),
        vocabulary.get(family.mask[0]),
        family.mask[1] if published else None,
    )
    mask = next((token for token in masks if token is not None), None)
    if isinstance(mask, bool) or not isinstance(mask, int) or not 0 <= mask < layout.vocabulary:
        raise ValueError(
            f"mask_id is {mask!r}: {name} needs one below {layout.vocabulary}, as mask_token_id in its config"
        )
    if given is None and vocabulary:
        named = vocabulary.get(family.mask[0], mask)
        if named != mask or mask not in vocabulary.values():
            says = f"calls {named} {family.mask[0]}" if named != mask else "has no such token"
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
