"""The keyword task (Section 5.4): prompts that ask for a text with four anchor keywords."""

from __future__ import annotations

import importlib.resources
import os
from pathlib import Path
from typing import Any

from paper_figures.data.inclusion import words_of
from paper_figures.data.loaders import Prompt
from rws_decode.common.files import parse_json

_FIELDS = {"id": str, "topic": str, "prompt": str, "keywords": list}


def load_keyword_set(file: str | os.PathLike[str] | None = None) -> list[Prompt]:
    """Load a set from JSON, by default the project's own: 100 prompts, 10 for each of the paper's topics (KEYWORDS.md).

    Layout: {"name", "template", "prompts": [{"id", "topic", "prompt", "keywords"}]}; other keys are left alone. A model
    reads the template, with {prompt} and {keywords} filled in. ValueError, in one line, for a file of another layout.

    >>> print(load_keyword_set()[30].text)
    Write advice for people who sit all day at work, using all anchor keywords. Keep it encouraging and specific.
    Anchor keywords: lower back, standing desk, stretching routine, lunch walk
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
    return [_prompt(file, data["template"], number, row) for number, row in enumerate(rows, start=1)]


def _prompt(file: object, template: str, number: int, row: Any) -> Prompt:
    for field, kind in _FIELDS.items():
        if not isinstance(row, dict) or not isinstance(row.get(field), kind) or not row[field]:
            raise ValueError(f"file is {file}: prompt {number} has no {field}")
    if not all(isinstance(keyword, str) and words_of(keyword) for keyword in row["keywords"]):
        raise ValueError(f"file is {file}: prompt {number} has a keyword that is no text")
    text = template.format(prompt=row["prompt"], keywords=", ".join(row["keywords"]))
    return Prompt(row["id"], (text,), {"topic": row["topic"], "keywords": row["keywords"]})
