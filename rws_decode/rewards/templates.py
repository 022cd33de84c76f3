"""How prompt and answer become the token ids that a causal reward model reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

from rws_decode.dialogue import Dialogue, as_dialogue

__all__ = ["Template", "check_template", "text_encoder"]

Template = Literal["pair", "chat", "instruct"]

# Some chat templates write today's date unless given one: scores must not change overnight. It is the date that
# Llama's own templates fall back to.
_DATE = "26 Jul 2024"


def check_template(name: str, template: object) -> Template:
    """Return the template; ValueError, naming the reward model, unless it is one of `Template`.

    >>> check_template("mini", "pair")
    'pair'
    """
    for known in get_args(Template):
        if template == known:
            return known
    raise ValueError(
        f"template in reward.json of {name} is {template!r}: only {', '.join(get_args(Template))} are read"
    )


def text_encoder(
    name: str, tokenizer: Any, template: Template, *, always_begin: bool = False
) -> Callable[[str | Dialogue, str], list[int]]:
    """Return the function from prompt and answer to token ids.

    "pair": tokenizer(prompt, answer), so its post-processor sets them apart, the prompt of a dialogue its plain text.
    "chat": the tokenizer's chat template of all messages, the answer last, special tokens as the template has them.
    "instruct": "[INST] prompt [/INST] answer" and the end-of-text token, for each exchange of a dialogue one after
    another, as in FastChat's template "mistral", by which RewardBench scores Eurus. Of the beginning-of-text token, but
    for "pair": one where template or tokenizer puts any or `always_begin` is set, none else. ValueError for "chat"
    without a chat template, or with one that cannot lay these messages out, "instruct" without an end-of-text token,
    and `always_begin` without a beginning-of-text one.
    """
    if template == "pair":
        # Given as lists: alone, an empty answer would be no answer, and the text laid out as a single one.
        return lambda prompt, answer: tokenizer([as_dialogue(prompt).text], [answer], truncation=False)["input_ids"][0]
    if template == "chat" and tokenizer.chat_template is None:
        raise ValueError(f'template of reward model {name} is "chat": its tokenizer has no chat template')
    if template == "instruct" and tokenizer.eos_token_id is None:
        raise ValueError(f'template of reward model {name} is "instruct": its tokenizer has no end-of-text token')
    from jinja2 import TemplateError

    start: int | None = tokenizer.bos_token_id
    if always_begin and start is None:
        raise ValueError(
            f"reward model {name} begins its texts with a token that its tokenizer does not name: bos_token"
        )
    always = always_begin or (start is not None and tokenizer("")["input_ids"][:1] == [start])

    def encode(prompt: str | Dialogue, answer: str) -> list[int]:
        dialogue = as_dialogue(prompt)
        if template == "instruct":
            exchanges = zip(dialogue.turns[::2], (*dialogue.turns[1::2], answer), strict=True)
            text = tokenizer.eos_token.join(f"[INST] {asked} [/INST] {said}" for asked, said in exchanges)
            end = [tokenizer.eos_token_id]
        else:
            messages = [*dialogue.messages, {"role": "assistant", "content": answer}]
            try:
                text, end = tokenizer.apply_chat_template(messages, tokenize=False, date_string=_DATE), []
            except TemplateError as error:
                raise ValueError(
                    f"the chat template of reward model {name} cannot lay out a user's and an assistant's message: "
                    f"{error}"
                ) from error
        ids = tokenizer(text, add_special_tokens=False, truncation=False)["input_ids"] + end
        bare = ids
        while bare and bare[0] == start:
            bare = bare[1:]
        begins = start is not None and (always or len(bare) < len(ids))
        return [start, *bare] if begins and start is not None else bare

    return encode
