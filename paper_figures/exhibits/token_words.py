"""Show the tokens of a trace as words, and tell the end of text, without the model's weights."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from huggingface_hub import try_to_load_from_cache

from rws_decode.checkpoints.files import locate, shipped, split_revision
from rws_decode.common.files import parse_json
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.axes import shown_word


def words_of(trace: Trace, tokens: Iterable[int], end: int | None) -> tuple[str, ...]:
    """Return tokens as words: "(end)" for the end of text, "?" for no token, which is below 0."""
    ids = [int(token) for token in tokens]
    named = zip(ids, map(shown_word, trace.words(ids)), strict=True)
    return tuple("(end)" if token == end else word if token >= 0 else "?" for token, word in named)


@cache
def end_of(model: str) -> int | None:
    """Return the end-of-text id of a mask predictor: a shipped name, directory, or hub id; None where none is at hand.

    >>> end_of("mini"), end_of("/no/such/folder")
    (5, None)
    """
    name, revision = split_revision(model)
    try:
        checkpoint = locate("model", name, {each: each for each in shipped("ForMaskedLM")})
    except ValueError:  # a directory of another machine: the traces alone are here
        return None
    path: Any = checkpoint.directory and checkpoint.directory / "config.json"
    path = path or try_to_load_from_cache(name, "config.json", revision=revision)
    if not isinstance(path, str | Path) or not Path(path).is_file():
        return None
    end = parse_json(Path(path).read_text(encoding="utf-8")).get("eos_token_id")
    return end if isinstance(end, int) else None
