"""Step maps: the tokens of an answer and the step that committed each, as serving engines return them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rws_decode.common.arguments import is_id
from rws_decode.common.files import json_lines
from rws_decode.trace.data import STEP_MAP_LACKS

_KEYS = ("tokens", "steps", "texts", "prompt", "prompt_ids", "model", "block", "mask_id", "masks")
_LARGEST = 2**31 - 1  # of an id in a trace's file
_CELLS = 2**26  # steps times positions that a trace's file may have


class Tokenizer(Protocol):
    """Decodes token ids: a tokenizer of transformers, or that of a predictor."""

    def __len__(self) -> int: ...

    def decode(self, ids: list[int], *, skip_special_tokens: bool = ...) -> str: ...


def read_step_maps(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the arguments of `Trace.from_step_map` from each line of a file, which docs/extra/step_maps.md describes.

    ValueError, naming file and line, for other lines than JSON objects, an unknown key, and an empty file.
    """
    empty = True
    for where, row in json_lines(path):
        empty = False
        if not isinstance(row, dict) or "steps" not in row:
            raise ValueError(f"{where}: an object of JSON with steps is needed, {{..., 'steps': [...]}}")
        if unknown := sorted(row.keys() - {*_KEYS}):
            raise ValueError(f"{where}: {unknown[0]!r} is no key, one of {', '.join(_KEYS)} is needed")
        yield {"tokens": None, **row}
    if empty:
        raise ValueError(f"{path} is empty: a line of JSON for each answer is needed")


def fields_of(
    tokens: Sequence[int] | None,
    steps: Sequence[int],
    *,
    texts: Sequence[str] | None,
    prompt: str | None,
    prompt_ids: Sequence[int] | None,
    model: str | None,
    block: int | None,
    mask_id: int | None,
    masks: Sequence[int] | None,
    tokenizer: Tokenizer | None,
) -> dict[str, Any]:
    """Return the fields of a trace from a step map, as `Trace.from_step_map` describes and checks them."""
    step = np.array(_numbers("steps", steps, 2**20))
    n, run = len(step), int(step.max()) + 1
    if not np.array_equal(np.unique(step), np.arange(run)):
        hole = int(np.setdiff1d(np.arange(run), step)[0])
        raise ValueError(f"steps has no {hole}: every step from 0 to the last, {run - 1}, commits a token")
    if run * n > _CELLS:
        raise ValueError(f"steps are {run} times {n} tokens: at most {_CELLS} in all are possible")
    for name, value in (("model", model), ("prompt", prompt)):
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name} is {value!r}: text is needed")
    if texts is not None:
        texts = _list("texts", texts, n)
        if odd := [text for text in texts if not isinstance(text, str)]:
            raise ValueError(f"texts holds {odd[0]!r}: the text of each token is needed")
    if tokens is None and texts is None:
        raise ValueError("tokens and texts are missing: the ids of the answer's tokens, or their texts, are needed")
    own = {text: number for number, text in enumerate(dict.fromkeys(texts or ()))}
    ids = [own[text] for text in texts or ()] if tokens is None else _numbers("tokens", tokens, _LARGEST, n)
    before = None if prompt_ids is None else _numbers("prompt_ids", prompt_ids, _LARGEST)
    counts = [int((step >= number).sum()) for number in range(run)]
    if masks is not None and _numbers("masks", masks, n) != counts:
        raise ValueError(f"masks is {list(masks)}: the steps leave {counts}")
    if mask_id is not None:
        _numbers("mask_id", [mask_id], _LARGEST)
        if tokens is not None and mask_id in ids:
            raise ValueError(f"tokens holds mask_id, {mask_id}, at position {ids.index(mask_id)}: it was not committed")
    _check_block(block, step)
    pieces, text = {}, None
    if tokenizer is not None and tokens is not None:
        for name, row in (("tokens", ids), ("prompt_ids", before or [])):
            if beyond := [token for token in row if token >= len(tokenizer)]:
                raise ValueError(f"{name} holds the id {beyond[0]}: the tokenizer has ids 0 to {len(tokenizer) - 1}")
        pieces = {str(token): tokenizer.decode([token], skip_special_tokens=False) for token in {*ids, *(before or [])}}
        text = tokenizer.decode(ids, skip_special_tokens=True)
        if before is not None and prompt is None:
            prompt = tokenizer.decode(before, skip_special_tokens=True)
    if texts is not None:
        pieces |= {str(token): piece for token, piece in zip(ids, texts, strict=True)}
        text = "".join(texts)
    committed = step == np.arange(run)[:, None]
    return dict.fromkeys(STEP_MAP_LACKS) | {
        "length": n,
        "steps_run": run,
        "block": block,
        "predictor": model,
        "reward_model": None,
        "mask_id": mask_id,
        "prompt_text": prompt,
        "text": text,
        "pieces": pieces,
        "own_ids": tokens is None,
        "prompt": None if before is None else np.array(before, dtype=np.int64),
        "candidate": np.where(committed, ids, -1),
        "value": np.full((run, n), math.nan),
        "unscaled": np.zeros((run, n), dtype=np.bool_),
        **{name: np.full(run, math.nan) for name in ("factor", "reward_raw", "reward_normalised")},
        "tokens": np.array(ids, dtype=np.int64),
        "commit_step": step.astype(np.int64),
    }


def _list(name: str, values: Any, length: int | None = None) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise ValueError(f"{name} is {values!r}: a list is needed")
    row = list(values)
    if length is not None and len(row) != length:
        raise ValueError(f"{name} has {len(row)} entries: {length} are needed, as steps has")
    return row


def _numbers(name: str, values: Any, largest: int, length: int | None = None) -> list[int]:
    """Return a list of whole numbers from 0 to the largest; ValueError, naming it, for anything else."""
    row = _list(name, values, length)
    if not row and name == "steps":
        raise ValueError("steps is empty: the step of each token is needed")
    for value in row:
        if not is_id(value) or not 0 <= value <= largest:
            raise ValueError(f"{name} holds {value!r}: whole numbers from 0 to {largest} are needed")
    return [int(value) for value in row]


def _check_block(block: int | None, step: np.ndarray) -> None:
    """Raise ValueError for a size below 1, and where a step commits a later block before an earlier one is full."""
    if block is None:
        return
    _numbers("block", [block], 2**20)
    if block < 1:
        raise ValueError(f"block is {block}: at least 1 is needed")
    starts = range(0, len(step), block)
    for start, after in pairwise(starts):
        if (last := int(step[start:after].max())) >= (first := int(step[after:].min())):
            raise ValueError(
                f"block is {block}: step {first} commits a token after position {after - 1}, and step {last} one before"
            )
