"""Read and check the numbers, switches and sizes of a checkpoint's config.json."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from rws_decode.checkpoints.files import Checkpoint

# Counts and sizes: above these limits a model fills the memory before a single weight is read.
_LAYERS = re.compile(r"(num|n)_.*layers?$|gating_n_hidden$")
_SIZES = re.compile(r"(size|dim|width|embeddings|positions|length|heads|objectives|quantiles|n_embd|d_model)$")
_LARGEST, _LABELS = 2**24, 2**16


class Config(dict[str, Any]):
    """The entries of a checkpoint's config.json."""

    def __init__(self, entries: Mapping[str, Any], checkpoint: Checkpoint) -> None:
        super().__init__(entries)
        self.checkpoint = checkpoint
        self.refused = checkpoint.refused

    def wrong(self, key: str, right: str) -> ValueError:
        """Return the error of an entry that is something else than what is right."""
        return self.refused(f"{key} in its config.json is {self.get(key)!r}, {right}")

    def whole(self, key: str, default: int | None = None) -> int:
        """Return a positive whole number; ValueError if it is missing without a default, or something else."""
        value = default if self.get(key) is None else self[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.wrong(key, "not a positive number")
        return value

    def number(self, key: str) -> float:
        """Return a positive finite number; ValueError if it is missing or something else."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self.wrong(key, "not a positive number")
        return float(value)

    def flag(self, key: str) -> bool:
        """Return a switch, off if it is missing; ValueError if it is something else."""
        value = self.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(key, "not true or false")
        return bool(value)

    def heads(self, width: str, heads: str, shared: str, *, multi_query: bool = False) -> tuple[int, int, int]:
        """Return width, heads and key-value heads, under the keys that the config has for them.

        multi_query: whether there is one key-value head if they are not counted; else there are as many as heads.
        ValueError for numbers that no attention has: rotary positions need heads of even width, or an even `head_dim`.
        """
        all_, count = self.whole(width), self.whole(heads)
        groups = self.whole(shared, 1 if multi_query else count)
        if self.get("head_dim") is not None:
            if self.whole("head_dim") % 2:
                raise self.wrong("head_dim", "not an even number")
            if count % groups:
                raise self.wrong(heads, f"not a multiple of {shared} {groups}")
        elif all_ % count or (all_ // count) % 2 or count % groups:
            parts = f"which must divide {width} {all_} into even parts"
            raise self.wrong(heads, f"{parts} and be a multiple of {shared} {groups}")
        return all_, count, groups

    def refuse_others(self, family: str, published: Mapping[str, tuple[Any, ...]]) -> None:
        """Raise ValueError for the config of another network than the family's; published: the values of some keys."""
        for key, allowed in published.items():
            if key in self and self[key] not in allowed:
                raise self.wrong(key, f"not {allowed[0]!r} as in {family}")

    def refuse_sizes(self, stored: Collection[str]) -> None:
        """Raise ValueError for more layers than stored tensors, or for sizes that no model has.

        stored: the tensors (`weights.read_headers`). A model is built with memory for all that its config says, before
        any weight is seen to be missing.
        """
        for key, value in self.items():
            kinds = (_LAYERS, len(stored)), (_SIZES, _LARGEST), (re.compile("num_labels"), _LABELS)
            most = min((limit for pattern, limit in kinds if pattern.search(key)), default=None)
            if most is not None and isinstance(value, int | float) and not value <= most:
                raise self.wrong(key, f"at most {most} is read")


def config_of(checkpoint: Checkpoint) -> Config:
    """Return a checkpoint's config.json; ValueError if it is no JSON object.

    So is a model with an adapter beside its weights, which transformers would add unasked, from pickles too.
    """
    raw = checkpoint.read_json("config.json")
    if not isinstance(raw, dict):
        raise checkpoint.refused("its config.json holds no JSON object")
    if checkpoint.read_json("adapter_config.json") is not None:
        raise ValueError(f"{checkpoint.named} holds an adapter: put it into a directory of its own, as adapter")
    return Config(raw, checkpoint)
