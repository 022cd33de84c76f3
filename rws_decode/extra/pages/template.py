"""Pages put together: a template, style, scripts, words and data in one HTML text that needs nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from rws_decode.common.page import Page
from rws_decode.text.dialogue import masks_in, parts_of


def page_of(
    body: str, *, title: str, plain: str, scripts: Sequence[str], data: Mapping[str, Any], **values: str
) -> Page:
    """Return the page that a template of `parts/` and some of its scripts make.

    body: name of the template; values: of its $names, HTML. plain: the text without JavaScript, and below the title if
    no `sentence` is given. data: JSON-ready; no string of it can end its element early. The page's policy lets a
    browser load no address.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    html = part(
        "page.html",
        title=escape(title),
        style=read_part("page.css"),
        body=part(body, **{"title": escape(title), "sentence": escape(plain), **values}),
        plain=escape(plain),
        data=text.replace("<", "\\u003c"),
        script="\n".join(read_part(name) for name in ("shared.js", *scripts)),
    )
    # A lone surrogate is no character of any file.
    return Page(html.encode("utf-8", "replace").decode("utf-8"))


def part(name: str, **values: str) -> str:
    """Return a template of `parts/` with values, HTML, in place of its $names."""
    return Template(read_part(name)).safe_substitute(values)


def rounded(value: float, digits: int = 6) -> float | str | None:
    """Return a number with so many digits, ready for JSON: None for NaN, infinity by its name in JavaScript."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def read_part(name: str) -> str:
    """Return a file of `parts/`."""
    return files("rws_decode.extra.pages").joinpath("parts", name).read_text(encoding="utf-8")


class WordTable(dict[str, int]):
    """The different words of a page, numbered as they come."""

    def __missing__(self, word: str) -> int:
        return self.setdefault(word, len(self))

    def data(self) -> dict[str, Any]:
        """Return the words, and whether a page puts blanks between them: some models' words begin with blanks."""
        return {"words": list(self), "blanks": not any(word[:1].isspace() for word in self)}


def line_of(prompt: str | None, length: int) -> list[str | int]:
    """Return the line of a text: answer positions by number, and the fixed texts of a prompt with gaps."""
    if prompt is None or masks_in(prompt) != length:
        return list(range(length))
    line, position = list[str | int](), 0
    for part in parts_of(prompt):
        if isinstance(part, str):
            line.append(part)
        else:
            line += range(position, position + part)
            position += part
    return line
