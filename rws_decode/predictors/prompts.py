"""A user's text as token ids: what it spells is text, and only tokenizer and chat template add special tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

__all__ = ["ChatLayout", "chat_ids", "chat_layout", "plain_ids", "without_specials"]

# Stands for the message while the template is taken apart: no template's own text, no token of any vocabulary.
_STAND_IN = "the message of the user goes here"


class ChatLayout(NamedTuple):
    """The text that a chat template sets before and after one message of the user, up to where the answer begins."""

    before: str
    after: str


def _rendered(tokenizer: Any, text: str) -> str:
    from jinja2 import TemplateError

    message = [{"role": "user", "content": text}]
    try:
        return tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    except TemplateError as error:
        raise ValueError(f"chat is True: the tokenizer's chat template fails ({error})") from error


def chat_layout(tokenizer: Any) -> ChatLayout:
    """Return the layout of a tokenizer's chat template; ValueError for a template that does not quote the message."""
    before, middle, after = _rendered(tokenizer, _STAND_IN).partition(_STAND_IN)
    if not middle:
        raise ValueError("chat is True: the tokenizer's chat template leaves the user's message out")
    return ChatLayout(before, after)


def plain_ids(tokenizer: Any, text: str) -> list[int]:
    """Return a text's ids in the tokenizer's own layout, e.g. [CLS] text [SEP], with one BOS at most.

    A special token's name in the text, "[MASK]" or "<|eot_id|>", is read as the characters that it is.
    """
    return _one_bos(tokenizer, tokenizer(text, split_special_tokens=True)["input_ids"])


def chat_ids(tokenizer: Any, text: str) -> list[int]:
    """Return the ids of a chat of one message, up to where the answer begins, with one BOS at most.

    They are those of the rendered template, except that a special token's name in the message is text there: the
    stretch between the template's last special token before the message and its first one after it is encoded as
    characters, in one piece, so that ordinary text gets the ids that it has in the rendered chat.
    """
    layout = chat_layout(tokenizer)
    rendered = _rendered(tokenizer, text)
    if not (rendered.startswith(layout.before) and rendered.endswith(layout.after)):
        raise ValueError("chat is True: the tokenizer's chat template changes with the message, give token ids")
    names = _special_names(tokenizer)
    starts = max((layout.before.rfind(name) + len(name) for name in names if name in layout.before), default=0)
    ends = min((layout.after.find(name) for name in names if name in layout.after), default=len(layout.after))
    tail = len(rendered) - len(layout.after) + ends
    head, message, rest = rendered[:starts], rendered[starts:tail], rendered[tail:]
    ids = _ids(tokenizer, head) + _ids(tokenizer, message, split_special_tokens=True) + _ids(tokenizer, rest)
    return _one_bos(tokenizer, ids)


def without_specials(tokenizer: Any, ids: Sequence[int], layout: ChatLayout | None) -> str:
    """Return the text of prompt ids, special tokens left out: of a chat of one message, the message."""
    if layout is not None:
        text = tokenizer.decode(list(ids), skip_special_tokens=False)
        whole = len(text) >= len(layout.before) + len(layout.after)
        if whole and text.startswith(layout.before) and text.endswith(layout.after):
            return text[len(layout.before) : len(text) - len(layout.after)]
    return tokenizer.decode(list(ids), skip_special_tokens=True)


def _ids(tokenizer: Any, text: str, **options: bool) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False, **options)["input_ids"]) if text else []


def _special_names(tokenizer: Any) -> Collection[str]:
    added = getattr(tokenizer, "added_tokens_decoder", {})
    return {*tokenizer.all_special_tokens, *(token.content for token in added.values() if token.special)}


def _one_bos(tokenizer: Any, ids: Sequence[int]) -> list[int]:
    kept = list(ids)
    while tokenizer.bos_token_id is not None and kept[:2] == [tokenizer.bos_token_id] * 2:
        del kept[0]
    return kept
