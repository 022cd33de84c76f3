"""Read pairs of a prompt and an answer from the rows of a file, whatever their fields are called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

_ANSWERS = ("answers", "answer", "response", "completion", "output")
_HUMAN, _ASSISTANT = "\n\nHuman:", "\n\nAssistant:"


class Pair(NamedTuple):
    """A prompt and one answer to it.

    `row` is its row in the file, from 0, and `number` is the answer's number in that row.
    """

    row: int
    number: int
    prompt: str
    answer: str


def read_pairs(
    rows: Iterable[dict[str, Any]], prompt_field: str | None = None, answer_field: str | None = None
) -> list[Pair]:
    """Return every pair of prompt and answer that the rows hold, in their order.

    A field that is not named is looked for. The prompt is "prompt". The answers are Nectar's "answers" (a list of
    objects with "answer"), UltraFeedback's "chosen" and "rejected", or one of "answer", "response", "completion" and
    "output". A list of chat messages stands for the content of its last one. If a prompt stands between "Human:" and
    "Assistant:", as in Nectar, these two markers are left out; earlier turns within stay as they are. ValueError, which
    names the row, is raised for a field that is missing or holds no text.

    >>> read_pairs([{"prompt": "\\n\\nHuman: why?\\n\\nAssistant: ", "answers": [{"answer": "so"}, {"answer": "no"}]}])
    [Pair(row=0, number=0, prompt='why?', answer='so'), Pair(row=0, number=1, prompt='why?', answer='no')]
    """
    pairs: list[Pair] = []
    for number, row in enumerate(rows):
        prompt = _unmarked(_text(number, prompt_field or "prompt", row.get(prompt_field or "prompt")))
        fields = (answer_field,) if answer_field is not None else _answer_fields(number, row)
        answers: list[str] = []
        for field in fields:
            value = row.get(field)
            several = value if isinstance(value, list) and not _is_chat(value) else [value]
            for item in several:
                answer = item["answer"] if isinstance(item, dict) and "answer" in item else item
                answers.append(_text(number, field, answer))
        pairs += [Pair(number, index, prompt, answer) for index, answer in enumerate(answers)]
    return pairs


def _answer_fields(number: int, row: dict[str, Any]) -> tuple[str, ...]:
    if "chosen" in row and "rejected" in row:
        return ("chosen", "rejected")
    for field in _ANSWERS:
        if field in row:
            return (field,)
    raise ValueError(
        f"row {number} of the data has no answer: its fields are {', '.join(map(str, row)) or 'none'}; name one with "
        "--answer-field"
    )


def _is_chat(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(it, dict) and "content" in it for it in value)


def _text(number: int, field: str, value: Any) -> str:
    if _is_chat(value):
        value = value[-1]["content"]
    if not isinstance(value, str):
        raise ValueError(f"row {number} of the data has no text in {field!r}: it is {str(value)[:60]!r}")
    return value


def _unmarked(prompt: str) -> str:
    if prompt.startswith(_HUMAN) and prompt.rstrip().endswith(_ASSISTANT.strip()):
        return prompt.rstrip().removeprefix(_HUMAN).removesuffix(_ASSISTANT.strip()).strip()
    return prompt
