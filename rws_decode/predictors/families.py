"""What a family of masked diffusion models publishes, and what a config of it says about loading a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Family", "Layout", "SpecialIds", "flag", "head_counts", "number", "special_ids", "whole"]


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


def whole(raw: Mapping[str, Any], key: str, name: str, default: int | None = None) -> int:
    """Return a positive whole number of a config; ValueError where it is missing or none."""
    value = raw.get(key, default)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"model {name} cannot be loaded: {key} in its config.json is {value!r}, not a positive number")
    return value


def number(raw: Mapping[str, Any], key: str, name: str) -> float:
    """Return a positive number of a config; ValueError where it is missing or none."""
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError(f"model {name} cannot be loaded: {key} in its config.json is {value!r}, not a positive number")
    return float(value)


def flag(raw: Mapping[str, Any], key: str, name: str) -> bool:
    """Return a switch of a config, off if it is missing; ValueError where it is none."""
    value = raw.get(key)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"model {name} cannot be loaded: {key} in its config.json is {value!r}, not true or false")
    return bool(value)


def head_counts(
    raw: Mapping[str, Any], name: str, keys: tuple[str, str, str], *, one: bool = False
) -> tuple[int, int, int]:
    """Return width, heads and key-value heads of a config, under the keys that it has for them.

    one: whether the key-value heads are 1 where the config does not count them, and else as many as there are heads.
    ValueError for numbers that no attention has: rotary positions need heads of even width.
    """
    width, heads = (whole(raw, key, name) for key in keys[:2])
    shared = whole(raw, keys[2], name, 1 if one else heads)
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

    given: the caller's mask, before all others. Published ids hold at the published width only. ValueError where no
    mask is known or it is no token, and where tokenizer and config disagree: one of them is another model's.
    """
    vocabulary = {} if tokenizer is None else tokenizer.get_vocab()
    width = layout.config.vocab_size
    wrong = f"model {name} cannot be loaded: "
    if vocabulary and max(vocabulary.values()) >= layout.vocabulary:
        raise ValueError(
            f"{wrong}its tokenizer has ids up to {max(vocabulary.values())}, its embedding {layout.vocabulary} tokens"
        )
    known = width == family.width
    mask = given
    for found in (
        raw.get("mask_token_id"),
        generation.get("mask_token_id"),
        getattr(tokenizer, "mask_token_id", None),
        vocabulary.get(family.mask[0]),
        family.mask[1] if known else None,
    ):
        mask = found if mask is None else mask
    if isinstance(mask, bool) or not isinstance(mask, int) or not 0 <= mask < layout.vocabulary:
        raise ValueError(
            f"mask_id is {mask!r}: {name} needs one below {layout.vocabulary}, as mask_token_id in its config"
        )
    if given is None and vocabulary:
        named = vocabulary.get(family.mask[0], mask)
        if named != mask or mask not in vocabulary.values():
            says = f"calls {named} {family.mask[0]}" if named != mask else "has no such token"
            raise ValueError(f"{wrong}its mask is {mask}, and its tokenizer {says}")
    ends: list[Any] = []
    for holder in (raw.get("eos_token_id"), generation.get("eos_token_id"), getattr(tokenizer, "eos_token_id", None)):
        ends += holder if isinstance(holder, list) else [holder]
    ends += [vocabulary[token] for token, _ in family.ends if token in vocabulary]
    ends += [published for _, published in family.ends if known and not vocabulary]
    return SpecialIds(mask, _tokens(ends, mask, layout.vocabulary))


def _tokens(ids: Sequence[Any], mask: int, limit: int) -> tuple[int, ...]:
    """Return the ids that are tokens other than the mask, each once, in their order."""
    return tuple(dict.fromkeys(token for token in ids if type(token) is int and 0 <= token < limit and token != mask))
