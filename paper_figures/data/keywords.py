"""The keyword task (Section 5.4): prompts that ask for a text with four anchor keywords."""

from __future__ import annotations

import importlib.resources

from paper_figures.data.loaders import Prompt
from rws_decode.common.files import parse_json


def load_keyword_set() -> list[Prompt]:
    """Load the project's own set: 100 prompts, 10 for each of the paper's topics, with their keywords (KEYWORDS.md).

    A model reads the set's template, with {prompt} and {keywords} filled in.

    >>> print(load_keyword_set()[30].text)
    Write advice for people who sit all day at work, using all anchor keywords. Keep it encouraging and specific.
    Anchor keywords: lower back, standing desk, stretching routine, lunch walk
    """
    shipped = importlib.resources.files("paper_figures.data") / "keywords_100.json"
    data = parse_json(shipped.read_text(encoding="utf-8"))
    prompts = []
    for row in data["prompts"]:
        text = data["template"].format(prompt=row["prompt"], keywords=", ".join(row["keywords"]))
        prompts.append(Prompt(row["id"], (text,), {"topic": row["topic"], "keywords": row["keywords"]}))
    return prompts
