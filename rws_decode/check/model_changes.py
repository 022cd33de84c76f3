"""How the models of two digests differ: checkpoint, tokenizer, chat template, end-of-text rule, each in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rws_decode.check.difference import ModelChange
from rws_decode.check.digest import CheckpointPrint, Digest, Fact
from rws_decode.check.fingerprints import TEXTS, TURNS
from rws_decode.check.machine import STORED
from rws_theory.show import quoted, shortened

_MOST = 4  # names or values that a sentence lists


def model_changes(there: Digest, here: Digest) -> Iterator[ModelChange]:
    """Yield what of the model itself is not the same, the checkpoint first."""
    stored = tuple(each.machine.get(STORED) for each in (there, here))
    for text in _checkpoint(there.checkpoint, here.checkpoint, stored):
        yield ModelChange("checkpoint", text)
    tokenizer = list(_tokenizer(there, here))
    yield from (ModelChange("tokenizer", text) for text in tokenizer)
    yield from (ModelChange("template", text) for text in _template(there, here, bool(tokenizer)))
    yield from (ModelChange("end of text", text) for text in _end_of_text(there, here))


def _checkpoint(there: CheckpointPrint, here: CheckpointPrint, stored: Sequence[Fact]) -> Iterator[str]:
    if there.read != here.read or there.read == "nothing":
        return  # a file's numbers and those in memory may have other dtypes
    changed = _unlike(there.weights, here.weights)
    only = [name for name in {**there.weights, **here.weights} if (name in there.weights) != (name in here.weights)]
    if only and len(only) == len({**there.weights, **here.weights}):
        yield "No part of the weights has the same name: another model, or the same one in another layout."
    elif only:
        yield f"The weights have other parts: {shortened(sorted(only), _MOST)}."
    if changed:
        total = len(there.weights.keys() & here.weights.keys())
        every = len(changed) == total > 1
        which = "All weights differ" if every else f"Weights differ in {len(changed)} of {total} parts"
        yield f"{which}: {shortened(changed, _MOST)}."
        if None not in stored and stored[0] != stored[1]:
            yield f"The files hold {stored[0]} there and {stored[1]} here; they may be the same weights, rounded."
    keys = [key for key in {**there.config, **here.config} if there.config.get(key) != here.config.get(key)]
    for key in keys[:_MOST]:
        theirs, ours = there.config.get(key, "absent"), here.config.get(key, "absent")
        yield f"config.json: {key} is {theirs} there and {ours} here."
    if len(keys) > _MOST:
        yield f"config.json: {len(keys) - _MOST} more entries differ."


def _unlike(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Return the names that both have with other hashes."""
    return [name for name in there if name in here and there[name] != here[name]]


def _tokenizer(there: Digest, here: Digest) -> Iterator[str]:
    first, second = there.tokenizer, here.tokenizer
    if first is None or second is None:
        if first is not second:
            yield f"There is no tokenizer {'there' if first is None else 'here'}."
        return
    if first.size != second.size:
        yield f"The tokenizer has {first.size:,} tokens there and {second.size:,} here."
    if changed := _unlike(first.vocabulary, second.vocabulary):
        starts = sorted(_starts(first.vocabulary) | _starts(second.vocabulary))
        ranges = [_range(start, starts) for start in sorted(_starts(changed))]
        yield f"The tokenizer names tokens otherwise, with ids {shortened(ranges, _MOST)}."
    for text, ours, theirs in zip(TEXTS, second.texts, first.texts, strict=False):
        if ours != theirs:
            yield f"The tokenizer splits {quoted(text)} otherwise: {_ids(theirs, ours, there.words, here.words)}."
            return


def _starts(names: Iterable[str]) -> set[int]:
    return {int(name) for name in names if name.isdecimal() and len(name) < 12}


def _range(first: int, starts: Sequence[int]) -> str:
    after = next((start for start in starts if start > first), None)
    return f"{first} and above" if after is None else str(first) if after == first + 1 else f"{first} to {after - 1}"


def _template(there: Digest, here: Digest, other_tokenizer: bool) -> Iterator[str]:
    first, second = there.template, here.template
    if first is None or second is None:
        return  # said of the tokenizer
    if bool(first.chat) != bool(second.chat):
        yield f"Prompts are {_chat(first.chat)} there and {_chat(second.chat)} here."
        return
    if other_tokenizer and not first.chat:
        return
    for text, theirs, ours in zip((*TEXTS, TURNS), first.texts, second.texts, strict=False):
        if ours != theirs:
            what = "a dialogue" if isinstance(text, tuple) else f"the prompt {quoted(text)}"
            layout = "chat template" if first.chat else "layout of a prompt"
            after = " (the tokenizer may be the reason)" if other_tokenizer else ""
            yield f"The {layout} makes other ids of {what}: {_ids(theirs, ours, there.words, here.words)}{after}."
            return


def _chat(chat: bool | None) -> str:
    return "messages of a chat" if chat else "plain text"


def _ids(there: Sequence[int], here: Sequence[int], words: Mapping[str, str], our_words: Mapping[str, str]) -> str:
    """Say how many ids there are, and the first that differ."""
    count = min(len(there), len(here))
    first = next((i for i in range(count) if there[i] != here[i]), count)

    def stands(ids: Sequence[int], texts: Mapping[str, str]) -> str:
        if first >= len(ids):
            return "nothing"
        return f"{ids[first]} ({quoted(texts.get(str(ids[first]), '?'))})"

    counts = f"{len(there)} ids" if len(there) == len(here) else f"{len(there)} ids there and {len(here)} here"
    return f"{counts}; at {first} stands {stands(there, words)} there and {stands(here, our_words)} here"


def _end_of_text(there: Digest, here: Digest) -> Iterator[str]:
    first, second = there.end_of_text, here.end_of_text
    for name, theirs, ours in (
        ("mask token", first.mask, second.mask),
        ("padding token", first.pad, second.pad),
    ):
        if theirs != ours:
            yield f"The {name} is {_token(theirs, there.words)} there and {_token(ours, here.words)} here."
    if first.ends != second.ends:
        ends = [
            " or ".join(_token(token, side.words) for token in side.end_of_text.ends[:_MOST]) or "no token"
            for side in (there, here)
        ]
        yield f"The text of an answer ends at {ends[0]} there and at {ends[1]} here."
    if (first.forbidden, first.forbidden_hash) != (second.forbidden, second.forbidden_hash):
        yield f"Other tokens are never committed: {first.forbidden:,} there and {second.forbidden:,} here."
    same_ids = (first.pad, first.ends) == (second.pad, second.ends) and there.prompt_ids == here.prompt_ids
    if same_ids and first.cuts != second.cuts:
        theirs, ours = next((a, b) for a, b in zip(first.cuts, second.cuts, strict=False) if a != b)
        yield f"The same tokens are cut to {theirs!r:.60} there and to {ours!r:.60} here."


def _token(token: int | None, words: Mapping[str, str]) -> str:
    return "none" if token is None else f"{token} ({quoted(words.get(str(token), '?'))})"
