"""How docstrings become pages: headings, arguments, doctests and references of ours as Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data):`~?([\w.]+)`")
_DOCTEST = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)
_HEADING = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^([\w*][\w*, ]*) : ", re.MULTILINE)
_LIST = re.compile(r"^((?! |- |\n).+)\n(?=- )", re.MULTILINE)


def as_page(text: str) -> str:
    r"""Return a docstring as Markdown.

    >>> as_page("Add, see :func:`math.fsum`.\n\nParameters\n----------\na, b : numbers.")
    'Add, see `math.fsum`.\n\n**Parameters**\n\n- `a, b`: numbers.'
    """
    text = _ROLE.sub(r"`\1`", text)
    if _HEADING.search(text):
        text = _ENTRY.sub(r"- `\1`: ", _HEADING.sub(r"**\1**\n\n", text))
    text = _LIST.sub(r"\1\n\n", text)
    return _DOCTEST.sub(lambda block: f"```pycon\n{block[0].rstrip()}\n```\n", text).rstrip()


class Docstrings(griffe.Extension):
    """Mend every docstring before mkdocstrings reads it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each object that it has collected."""
        if obj.docstring:
            obj.docstring.value = as_page(obj.docstring.value)
