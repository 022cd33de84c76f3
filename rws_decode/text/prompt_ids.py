"""A user's text as token ids: what it spells is text, and only tokenizer and chat template add special tokens."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest
from threading import RLock
from typing import Any

from rws_decode.checkpoints.trial import tried
from rws_decode.text.dialogue import Dialogue

# Turns of a chat -> the text that a template makes of them.
Render = Callable[[Sequence[str]], str]

# Stands for a message while the template is split: no template's own text, no token of any vocabulary.
_STAND_IN = "message {} of the dialogue goes here"
_CHAT = "chat is True: the tokenizer's chat template"
# A tokenizer of transformers keeps the options of its last call, which another thread would change in the middle of
# one. A copy of the process (`trial`) is made between calls: it would wait for a thread that it does not have.
_ENCODING = RLock()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_ENCODING.acquire, after_in_parent=_ENCODING.release, after_in_child=_ENCODING.release)


def encoded(tokenizer: Any, *texts: Any, **options: Any) -> Any:
    """Return tokenizer(*texts, **options), of one thread at a time."""
    with _ENCODING:
        return tokenizer(*texts, **options)


def rendered(tokenizer: Any, cannot: str, closing: str = "", **options: Any) -> Render:
    """Return what lays turns out by a chat template; cannot, closing: what a ValueError says around its reason."""

    def render(turns: Sequence[str]) -> str:
        messages = [{"role": ("user", "assistant")[place % 2], "content": turn} for place, turn in enumerate(turns)]
        try:
            return tokenizer.apply_chat_template(messages, tokenize=False, **options)
        except Exception as error:  # a template is a program, and raises what it likes
            raise ValueError(f"{cannot}{' '.join(str(error).split())}{closing}") from error

    return render


def _prompting(tokenizer: Any, options: Mapping[str, Any]) -> Render:
    return rendered(tokenizer, f"{_CHAT} fails (", ")", add_generation_prompt=True, **options)


def _stand_ins(turns: int) -> list[str]:
    return [_STAND_IN.format(number) for number in range(turns)]


def chat_layout(tokenizer: Any, turns: int, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts that a chat template sets before, between and after the turns of a dialogue, [turns + 1].

    The last one goes up to where the answer begins. options: variables of the template. ValueError for a template that
    does not quote every message.
    """
    return _layout(_prompting(tokenizer, options), turns, _CHAT)


def closing_text(tokenizer: Any, options: Mapping[str, Any]) -> str | None:
    """Return the line of plain text that a chat template sets after an answer, e.g. "[/Answer]".

    None where a special token ends it, and for a template that lays out no answer: no text says where it ends then.
    """
    try:
        after = chat_layout(tokenizer, 3, options)[2]
    except ValueError:
        return None
    if any(name in after for name in special_names(tokenizer)):
        return None
    return next((line.strip() for line in after.splitlines() if line.strip()), None)


def _layout(render: Render, turns: int, template: str) -> tuple[str, ...]:
    rest, texts = render(_stand_ins(turns)), []
    for number, name in enumerate(_stand_ins(turns)):
        before, middle, rest = rest.partition(name)
        if not middle:
            party = ("user", "assistant")[number % 2]
            raise ValueError(f"{template} leaves the {party}'s message out")
        texts.append(before)
    return (*texts, rest)


def plain_ids(tokenizer: Any, text: str) -> list[int]:
    """Return a text's ids in the tokenizer's own layout, e.g. [CLS] text [SEP], with one BOS at most.

    A special token's name in the text, "[MASK]" or "<|eot_id|>", is read as the characters that it is.
    """
    return _one_bos(tokenizer, encoded(tokenizer, text, split_special_tokens=True)["input_ids"])


def chat_ids(tokenizer: Any, dialogue: Dialogue, options: Mapping[str, Any]) -> list[int]:
    """Return the ids of a chat, up to where the answer begins, with one BOS at most.

    They are those of the rendered template, except that a special token's name in a message is text there. options:
    variables of the template.
    """

    def read() -> list[int]:
        layout, texts = laid_out(_prompting(tokenizer, options), dialogue.turns, _CHAT)
        return _one_bos(tokenizer, woven_ids(tokenizer, layout, texts))

    tried(read)  # a template may do otherwise with these messages than with those that it was loaded with
    return read()


def woven_ids(tokenizer: Any, layout: Sequence[str], texts: Sequence[str]) -> list[int]:
    """Return the ids of layout[0] + said[0] + layout[1] + ... + layout[-1], special tokens in the layout alone.

    Text from the layout's last special token before a message to its first one after it is encoded as characters, in
    one piece, so that ordinary text gets the ids that it has in the whole text.
    """
    names = special_names(tokenizer)
    ids: list[int] = []
    stretch = ""
    for index, text in enumerate(layout):
        spans = [(text.find(name), text.rfind(name) + len(name)) for name in names if name in text]
        if spans:
            begin = 0 if index == 0 else min(first for first, _ in spans)
            end = len(text) if index == len(texts) else max(last for _, last in spans)
            ids += _ids(tokenizer, stretch + text[:begin], split_special_tokens=True)
            ids += _ids(tokenizer, text[begin:end])
            stretch, text = "", text[end:]
        stretch += text + (texts[index] if index < len(texts) else "")
    return ids + _ids(tokenizer, stretch, split_special_tokens=True)


def laid_out(render: Render, turns: Sequence[str], template: str) -> tuple[tuple[str, ...], list[str]]:
    """Return a template's own texts around the turns, [turns + 1], and what it makes of each turn, e.g. trimmed.

    template: what a ValueError calls it, which is raised if it leaves a message out, or if more changes with one.
    """
    layout, stand_ins, texts = _layout(render, len(turns), template), _stand_ins(len(turns)), []
    for index, turn in enumerate(turns):
        # One message at a time: what it spells cannot be taken for the template's own text.
        alone = render([*stand_ins[:index], turn, *stand_ins[index + 1 :]])
        before = _woven(layout[: index + 1], stand_ins[:index])
        after = _woven(layout[index + 1 :], stand_ins[index + 1 :])
        if len(alone) < len(before) + len(after) or not (alone.startswith(before) and alone.endswith(after)):
            raise ValueError(f"{template} changes with the message, give token ids")
        texts.append(alone[len(before) : len(alone) - len(after)])
    if render(turns) != _woven(layout, texts):
        raise ValueError(f"{template} changes with the message, give token ids")
    return layout, texts


def _woven(texts: Sequence[str], messages: Sequence[str]) -> str:
    return "".join(part for pair in zip_longest(texts, messages, fillvalue="") for part in pair)


def without_specials(tokenizer: Any, ids: Sequence[int], layout: tuple[str, ...] | None) -> str:
    """Return the text of prompt ids, special tokens left out: of a chat of one message, the message.

    layout: `chat_layout` of one turn, None where prompts are no chats.
    """
    if layout is not None:
        before, after = layout
        text = tokenizer.decode(list(ids), skip_special_tokens=False)
        whole = len(text) >= len(before) + len(after)
        if whole and text.startswith(before) and text.endswith(after):
            return text[len(before) : len(text) - len(after)]
    return tokenizer.decode(list(ids), skip_special_tokens=True)


def _ids(tokenizer: Any, text: str, **options: bool) -> list[int]:
    return list(encoded(tokenizer, text, add_special_tokens=False, **options)["input_ids"]) if text else []


def special_names(tokenizer: Any) -> Collection[str]:
    """Return the names of all special tokens that a tokenizer would find in a text."""
    added = getattr(tokenizer, "added_tokens_decoder", {})
    return {*tokenizer.all_special_tokens, *(token.content for token in added.values() if token.special)}


def _one_bos(tokenizer: Any, ids: Sequence[int]) -> list[int]:
    rest = list(ids)
    while tokenizer.bos_token_id is not None and rest[:2] == [tokenizer.bos_token_id] * 2:
        del rest[0]
    return rest
