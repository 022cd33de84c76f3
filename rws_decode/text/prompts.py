"""Prompts as callers give them: texts, dialogues, messages of a chat, token ids, and what a tokenizer returns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rws_decode.common.arguments import is_id
from rws_decode.text.dialogue import Dialogue
from rws_theory.show import quoted


def as_prompts(given: Any, name: str = "prompts") -> list[str | Dialogue | list[int]]:
    """Return what was given as a list of prompts, each a text, a Dialogue or token ids.

    One prompt is a text, a Dialogue, a message {"role": ..., "content": ...} or a list of messages, or token ids: a
    list, or a tensor or an array [n]. Several are a list of these, or a tensor or an array [B, n]. A tokenizer's output
    is read by its `input_ids`, without what its `attention_mask` hides. ValueError, naming the argument, for anything
    else, such as a table, bytes or a set, and for no prompt.

    >>> as_prompts({"input_ids": [[0, 5, 6], [7, 8, 9]], "attention_mask": [[0, 1, 1], [1, 1, 1]]})
    [[5, 6], [7, 8, 9]]
    """
    rows = _listed(given)
    one = rows is None or all(map(is_id, rows)) or all(map(_is_message, rows))
    prompts = _read(given, name) if one else [_read(row, f"{name}[{i}]", 1)[0] for i, row in enumerate(rows or ())]
    if rows == [] or not prompts:
        raise ValueError(f"{name} is {quoted(given)}: at least one is needed")
    return prompts


def _read(given: Any, name: str, most: float = math.inf) -> list[str | Dialogue | list[int]]:
    """Return one prompt, or those of a tokenizer's output, at most so many."""
    if isinstance(given, str | Dialogue):
        return [given]
    if isinstance(given, Mapping) and "input_ids" in given:
        ids, seen = (_listed(given.get(key)) for key in ("input_ids", "attention_mask"))
        if ids and all(map(is_id, ids)):
            ids, seen = [ids], seen and [seen]
        rows = [_ids(row, f"{name}['input_ids']") for row in ids or ()]
        masks = [_listed(row) or [] for row in seen] if seen else [[1] * len(row) for row in rows]
        if not 0 < len(rows) <= most or [*map(len, rows)] != [*map(len, masks)]:
            shapes = f"{len(rows)} rows of ids and {len(masks)} of the attention_mask"
            raise ValueError(f"{name} has {shapes}: one prompt in a list, and as many of both, are needed")
        return [[token for token, kept in zip(*pair, strict=True) if kept] for pair in zip(rows, masks, strict=True)]
    messages = [given] if _is_message(given) else _listed(given)
    if messages and all(map(_is_message, messages)):
        roles = [message["role"] for message in messages]
        if roles != [*["user", "assistant"] * (len(roles) // 2), "user"]:
            raise ValueError(f"{name} has the roles {quoted(roles)}: user, assistant, ..., user is needed")
        return [Dialogue(tuple(message["content"] for message in messages))]
    return [_ids(given, name)]


def _ids(given: Any, name: str) -> list[int]:
    rows = _listed(given)
    if rows is None or not all(map(is_id, rows)):
        raise ValueError(f"{name} is {quoted(given)}: text, chat messages, or a list of token ids is needed")
    return [int(token) for token in rows]


def _listed(given: Any) -> list[Any] | None:
    """Return a list, a tensor, an array or a series as a list; None for anything else, texts and bytes too."""
    text = str | bytes | bytearray | memoryview
    values = given.tolist() if hasattr(given, "tolist") and not isinstance(given, text) else given
    return list(values) if isinstance(values, Sequence) and not isinstance(values, text) else None


def _is_message(given: Any) -> bool:
    return isinstance(given, Mapping) and {"role", "content"} <= given.keys()
