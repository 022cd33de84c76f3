"""What a mask predictor tells without its weights: the prompts that it ships, and which words it does not know."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from rws_decode.checkpoints.files import Checkpoint, locate, shipped, split_revision


def checkpoint_of(model: str) -> Checkpoint:
    """Return where a mask predictor is, a hub id without its revision; ValueError for an unknown model."""
    return locate("model", split_revision(model)[0], {name: name for name in shipped("ForMaskedLM")})


def shipped_examples(model: str) -> list[dict[str, Any]]:
    """Return the model's held-out prompts without loading its weights, none if it ships none.

    ValueError for an unknown model.
    """
    return _rows(model, "examples.json")


def further_prompts(model: str) -> list[dict[str, Any]]:
    """Return the model's held-out prompts that are no examples, none if it ships none; ValueError as above."""
    return _rows(model, "openings.json")


def _rows(model: str, name: str) -> list[dict[str, Any]]:
    stored = checkpoint_of(model).read_json(name)
    whole = isinstance(stored, list) and all(isinstance(row, dict) and "prompt" in row for row in stored)
    return stored if stored and whole else []


def refuse_few(option: str, number: int, rows: Sequence[Any], model: str, what: str = "examples") -> None:
    """Raise ValueError, naming the option, unless `number` is 1 to the count of the rows that the model ships."""
    if not 1 <= number <= len(rows):
        known = f"{len(rows)} {what}, choose 1 to {len(rows)}" if rows else f"no {what}, name a model that does"
        raise ValueError(f"{option} is {number}: {model} ships {known}")


def examples_of(model: str) -> list[dict[str, Any]]:
    """Return the model's held-out prompts without loading its weights.

    ValueError for an unknown model, or one that ships none.
    """
    examples = shipped_examples(model)
    if not examples:
        raise ValueError(
            f"model is {model}: it ships no held-out prompts (examples.json beside its weights), "
            "--prompt TEXT or --data FILE names others"
        )
    return examples


def unknown_words(model: str, text: str) -> tuple[list[str], bool]:
    """Return the words of a text that a model does not know, in their order, and whether it knows none at all.

    Marks are no words. A model that reads bytes knows every word, and so does a model on the hub, whose vocabulary is
    not read here. ValueError for an unknown model.

    >>> unknown_words("mini", "the flurb owned one violin ?")
    (['flurb'], False)
    >>> unknown_words("mini", "zorp flurb ?")
    (['zorp', 'flurb'], True)
    """
    words = [word for word in dict.fromkeys(text.split()) if re.search(r"\w", word)]
    unknown = _unknown_of(model)
    missed = [word for word in words if unknown(word)]
    return missed, bool(missed) and len(missed) == len(words)


@cache
def _unknown_of(model: str) -> Callable[[str], bool]:
    """Return what says of a word whether the model's vocabulary lacks it."""
    checkpoint = checkpoint_of(model)
    listed = checkpoint.read_json("words.json")
    if isinstance(listed, list) and all(isinstance(word, str) for word in listed):
        from rws_decode.text.words import Words

        vocabulary = Words(listed)
        return lambda word: bool(vocabulary.unknown(word))
    described = checkpoint.read_json("tokenizer.json")
    core = described.get("model") if isinstance(described, dict) else None
    named = core.get("unk_token") if isinstance(core, dict) else None
    if checkpoint.directory is None or not isinstance(named, str):
        return lambda word: False
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str((checkpoint.directory / "tokenizer.json").read_text(encoding="utf-8"))
    except Exception:  # tokenizers raises it plain; whoever loads the model says what is wrong with the file
        return lambda word: False
    return lambda word: named in tokenizer.encode(word, add_special_tokens=False).tokens
