"""The keyword task (Section 5.4): prompts that ask for a text with four anchor keywords."""

from __future__ import annotations

import importlib.resources
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.data.inclusion import words_of
from rws_decode.common.files import parse_json

# Appendix D of the paper, in its order.
TOPICS = (
    "science",
    "technology",
    "economy",
    "health",
    "sports",
    "environment",
    "politics",
    "education",
    "culture",
    "entertainment",
)
_FIELDS = {"id": str, "topic": str, "prompt": str, "keywords": list}


@dataclass(frozen=True)
class KeywordPrompt:
    """A prompt with its keywords; length: the answer's tokens that are offered, where the prompt says how long."""

    id: str
    topic: str
    prompt: str
    keywords: tuple[str, ...]
    length: int | None = None


@dataclass(frozen=True)
class KeywordSet:
    """Prompts of one kind; template: what the model reads, with {prompt} and {keywords} to fill in."""

    name: str
    template: str
    prompts: tuple[KeywordPrompt, ...]

    def text(self, prompt: KeywordPrompt) -> str:
        """Return what the model reads.

        >>> keywords = load_keyword_set()
        >>> print(keywords.text(keywords.prompts[30]))
        Write advice for people who sit all day at work, using all anchor keywords. Keep it encouraging and specific.
        Anchor keywords: lower back, standing desk, stretching routine, lunch walk
        """
        return self.template.format(prompt=prompt.prompt, keywords=", ".join(prompt.keywords))


def load_keyword_set(file: str | os.PathLike[str] | None = None) -> KeywordSet:
    """Load a set from JSON, by default the project's own: 100 prompts, 10 for each of TOPICS (see KEYWORDS.md).

    Layout: {"name", "template", "prompts": [{"id", "topic", "prompt", "keywords", "length"?}]}; other keys are left
    alone. ValueError, in one line, for a file of another layout.

    >>> len(load_keyword_set().prompts)
    100
    """
    shipped = importlib.resources.files("paper_figures.data") / "keywords_100.json"
    path = Path(str(shipped)) if file is None else Path(file)
    if not path.is_file():
        raise ValueError(f"file is {file}: no such file")
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"file is {file}: not JSON ({error})") from error
    rows = data.get("prompts") if isinstance(data, dict) else None
    if (
        not isinstance(rows, list)
        or not rows
        or not all(isinstance(data.get(key), str) for key in ("name", "template"))
    ):
        raise ValueError(f"file is {file}: no keyword set, which has name, template and prompts")
    return KeywordSet(
        data["name"], data["template"], tuple(_prompt(file, n, row) for n, row in enumerate(rows, start=1))
    )


def _prompt(file: object, number: int, row: Any) -> KeywordPrompt:
    for field, kind in _FIELDS.items():
        if not isinstance(row, dict) or not isinstance(row.get(field), kind) or not row[field]:
            raise ValueError(f"file is {file}: prompt {number} has no {field}")
    if not all(isinstance(keyword, str) and words_of(keyword) for keyword in row["keywords"]):
        raise ValueError(f"file is {file}: prompt {number} has a keyword that is no text")
    return KeywordPrompt(row["id"], row["topic"], row["prompt"], tuple(row["keywords"]), row.get("length"))
