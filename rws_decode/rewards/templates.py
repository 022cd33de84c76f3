"""How prompt and answer become the token ids that a causal reward model reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from rws_decode.text.dialogue import Dialogue, as_dialogue, check_text
from rws_decode.text.prompt_ids import encoded, laid_out, rendered, special_names, woven_ids

Template = Literal["pair", "chat", "instruct"]

# Some chat templates write today's date unless given one: scores must not change overnight. It is the date that
# Llama's own templates fall back to.
_DATE = "26 Jul 2024"


def text_encoder(
    name: str, tokenizer: Any, template: Template, *, always_begin: bool = False, closing: Sequence[int] = ()
) -> Callable[[str | Dialogue, str], list[int]]:
    """Return the function from prompt and answer to token ids.

    "pair": tokenizer(prompt, answer), whose post-processor sets the two apart; a dialogue is its plain text.
    "chat": the tokenizer's chat template of all messages, the answer last, with the template's special tokens.
    "instruct": "[INST] prompt [/INST] answer" and the end-of-text token, for each exchange of a dialogue one after
    another, as in FastChat's template "mistral", by which RewardBench scores Eurus.
    closing: ids that end every text. A special token's name in prompt or answer is read as text.

    But for "pair", a text begins with one beginning-of-text token if template or tokenizer puts any, or if
    `always_begin` is set. ValueError for "chat" without a chat template, or with one that cannot lay these messages
    out, "instruct" without an end-of-text token, and `always_begin` without a beginning-of-text one.
    """
    if template == "pair":

        def pair(prompt: str | Dialogue, answer: str) -> list[int]:
            # As lists: alone, an empty answer would be no answer, and the text laid out as a single one.
            texts, answers = [as_dialogue(prompt).text], [check_text("answer", answer)]
            return [*encoded(tokenizer, texts, answers, split_special_tokens=True)["input_ids"][0], *closing]

        return pair
    if template == "chat" and tokenizer.chat_template is None:
        raise ValueError(f'template of reward model {name} is "chat": its tokenizer has no chat template')
    if template == "instruct" and tokenizer.eos_token_id is None:
        raise ValueError(f'template of reward model {name} is "instruct": its tokenizer has no end-of-text token')
    start: int | None = tokenizer.bos_token_id
    if always_begin and start is None:
        raise ValueError(f"reward model {name} begins its texts with a bos_token, which its tokenizer does not name")
    always = always_begin or (start is not None and tokenizer("")["input_ids"][:1] == [start])
    cannot = f"the chat template of reward model {name} cannot lay out a user's and an assistant's message: "
    chat = rendered(tokenizer, cannot, date_string=_DATE)
    render = chat if template == "chat" else _instruct(tokenizer)
    end = [] if template == "chat" else [tokenizer.eos_token_id]
    names = special_names(tokenizer)

    def encode(prompt: str | Dialogue, answer: str) -> list[int]:
        turns = (*as_dialogue(prompt).turns, check_text("answer", answer))
        if any(special in turn for special in names for turn in turns):
            ids = woven_ids(tokenizer, *laid_out(render, turns, f"the chat template of reward model {name}"))
        else:
            # In one piece: some tokenizers begin a text in another way than what follows a special token.
            ids = encoded(tokenizer, render(turns), add_special_tokens=False)["input_ids"]
        bare = ids = [*ids, *end]
        while bare and bare[0] == start:
            bare = bare[1:]
        begins = start is not None and (always or len(bare) < len(ids))
        return [*([start] if begins and start is not None else []), *bare, *closing]

    return encode


def _instruct(tokenizer: Any) -> Callable[[Sequence[str]], str]:
    def render(turns: Sequence[str]) -> str:
        exchanges = zip(turns[::2], turns[1::2], strict=True)
        return tokenizer.eos_token.join(f"[INST] {question} [/INST] {answer}" for question, answer in exchanges)

    return render
