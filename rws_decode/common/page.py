"""A page and an animated picture, for a file or a notebook, and how results find the extras that make them."""

from __future__ import annotations

import math
import os
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from rws_decode.common.files import write_bytes, write_text
from rws_decode.common.plugins import hook

__all__ = ["Animation", "Page"]


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


@dataclass(frozen=True, repr=False)
class Animation:
    """A GIF that plays again and again: its bytes, the seconds of each frame, and what it shows, in words.

    >>> Animation(b"GIF89a", (0.5, 4.0), "a decode")
    Animation(2 frames, 4.5 s, 6 bytes: .save('decode.gif') writes it)
    """

    gif: bytes
    seconds: tuple[float, ...]
    alt: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, whole or not at all, and return the path; OSError where that fails.

        ValueError for a path of another kind of file.
        """
        if Path(path).suffix.lower() != ".gif":
            raise ValueError(f"path is {path}: an animation is a GIF, name it {Path(path).with_suffix('.gif')}")
        return write_bytes(path, self.gif)

    def _repr_html_(self) -> str:
        data = b64encode(self.gif).decode("ascii")
        return f'<img style="max-width: 100%" alt="{escape(self.alt)}" src="data:image/gif;base64,{data}">'

    def __repr__(self) -> str:
        size = f"{len(self.seconds)} frames, {sum(self.seconds):g} s, {len(self.gif):,} bytes"
        return f"Animation({size}: .save('decode.gif') writes it)"


def picture(name: str, what: str) -> Callable[..., Any]:
    """Return what an extra draws with, by name; ValueError, beginning with `what`, where none is installed."""
    return hook(name, what)


def notebook_html(shown: Any) -> str | None:
    """Return an object as the table that a notebook shows, None where no extra makes one."""
    found = hook("notebook-html")
    return None if found is None else found(shown)
