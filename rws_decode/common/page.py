"""A page, for a file or a notebook, and how results find the extras that draw them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rws_decode.common.files import write_text
from rws_decode.common.plugins import hook

__all__ = ["Page"]


@dataclass(frozen=True, repr=False)
class Page:
    """A whole HTML page, which asks no network for anything; a notebook shows it by itself, in a frame.

    >>> Page("<!DOCTYPE html><title>A page</title>")
    Page(1 KB of HTML: .save('page.html') writes it)
    """

    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return the path; OSError where that fails."""
        return write_text(path, self.html)

    def _repr_html_(self) -> str:
        # In single quotes, so that the many double ones of the data stay as they are. The page fits the height itself.
        inside = self.html.replace("&", "&amp;").replace("'", "&#39;")
        style = "display: block; width: 100%; height: 900px; border: 0"
        return f"<iframe title='an interactive page' style='{style}' srcdoc='{inside}'></iframe>"

    def __repr__(self) -> str:
        return f"Page({math.ceil(len(self.html.encode()) / 1000)} KB of HTML: .save('page.html') writes it)"


def picture(name: str, what: str) -> Callable[..., Any]:
    """Return what an extra draws with, by name; ValueError, beginning with `what`, where none is installed."""
    return hook(name, what)


def notebook_html(shown: Any) -> str | None:
    """Return an object as the table that a notebook shows, None where no extra makes one."""
    found = hook("notebook-html")
    return None if found is None else found(shown)
