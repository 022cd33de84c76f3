"""How docstrings become pages: their doctests are blocks of code, their references to names are links."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data):`~?([\w.]+)`")
_DOCTEST = re.compile(r"((?:^|(?<=\n))>>> (?:.+\n?)+)")


def as_page(text: str) -> str:
    """Return a docstring as Markdown.

    >>> print(as_page("Add, see :func:`math.fsum`.\\n>>> 1 + 1\\n2\\n\\nMore."))
    Add, see `math.fsum`.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    More.
    """
    text = _ROLE.sub(r"`\1`", text)
    return _DOCTEST.sub(lambda block: f"\n```pycon\n{block[1].rstrip()}\n```\n", text)


class Docstrings(griffe.Extension):
    """Mend every docstring before mkdocstrings reads it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each object that it has collected."""
        if obj.docstring:
            obj.docstring.value = as_page(obj.docstring.value)
