"""A page that needs nothing but itself, for a file or a notebook."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from rws_decode.common.files import write_text

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
