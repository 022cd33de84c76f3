"""What a checkpoint of a family of masked diffusion models says of itself before its weights are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from tokenizers import AddedToken

from rws_decode.checkpoints.config import refuse_sizes
from rws_decode.checkpoints.files import Checkpoint, checked_tokenizer, has_tokenizer, without_panics
from rws_decode.checkpoints.weights import Stored, read_headers, refuse_other_layout, shapes_of
from rws_decode.predictors.families import Family, Layout, SpecialIds, class_of, special_ids


class Described(NamedTuple):
    """A checkpoint of a family before its weights are read: all of it agrees.

    stored: its tensors by transformers' names; headers: by those in the files.
    """

    layout: Layout
    headers: dict[str, Stored]
    stored: dict[str, Stored]
    tokenizer: Any
    ids: SpecialIds


def described(checkpoint: Checkpoint, raw: dict[str, Any], family: Family, mask_id: int | None = None) -> Described:
    """Return what a checkpoint of a family says of itself; ValueError if config, weights and tokenizer disagree."""
    name = checkpoint.name
    headers = read_headers("model", checkpoint)
    refuse_sizes("model", checkpoint, raw, headers)
    layout = family.layout(raw, name)
    stored = {renamed(key, layout.renamed): value for key, value in headers.items()}
    refuse_other_layout("model", checkpoint, stored, _expected_tensors(layout, stored, name))
    tokenizer = load_tokenizer(checkpoint, family)
    generation = checkpoint.read_json("generation_config.json")
    generation = generation if isinstance(generation, dict) else {}
    ids = special_ids(family, layout, raw, generation, tokenizer, name, mask_id)
    return Described(layout, headers, stored, tokenizer, ids)


def renamed(name: str, patterns: Mapping[str, str]) -> str:
    """Return a published tensor's name in transformers.

    >>> renamed("model.transformer.wte.weight", {r"^model\\.transformer\\.wte\\.": "model.embed_tokens."})
    'model.embed_tokens.weight'
    """
    for pattern, target in patterns.items():
        name = re.sub(pattern, target, name)
    return name


def _expected_tensors(layout: Layout, stored: Mapping[str, Stored], name: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a layout's tensors by transformers' names.

    ValueError if config and weights count other layers: to build as many as a config claims may take forever.
    """
    layers = {int(match[1]) for tensor in stored if (match := re.match(r"model\.layers\.(\d+)\.", tensor))}
    count = max(layers, default=-1) + 1
    if count != layout.config.num_hidden_layers:
        raise ValueError(
            f"model {name} does not fit its config: it has weights of {count} layers, config.json says "
            f"{layout.config.num_hidden_layers}"
        )
    expected = _by_expert(shapes_of(class_of(layout), layout.config))
    # Tied, it may be left out, or written a second time: `loading` sees that it is the same.
    if layout.config.tie_word_embeddings and "lm_head.weight" not in stored:
        del expected["lm_head.weight"]
    return expected


def _by_expert(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return shapes of tensors with all experts of a layer, as transformers has them, as published: one by one.

    >>> _by_expert({"mlp.experts.gate_up_proj": (1, 6, 2), "norm.weight": (2,)})
    {'mlp.experts.0.gate_proj.weight': (3, 2), 'mlp.experts.0.up_proj.weight': (3, 2), 'norm.weight': (2,)}
    """
    single: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():
        at, _, part = name.rpartition(".")
        if not at.endswith(".experts"):
            single[name] = shape
            continue
        experts, rows, columns = shape
        parts = {"gate_up_proj": ("gate_proj", "up_proj"), "down_proj": ("down_proj",)}[part]
        for number in range(experts):
            single |= {f"{at}.{number}.{each}.weight": (rows // len(parts), columns) for each in parts}
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
        raise ValueError(
            f"model {checkpoint.name} cannot be loaded: its tokenizer is refused ({line_of(error)})"
        ) from error
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
