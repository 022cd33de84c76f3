"""An animated picture, for a file or a notebook."""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rws_decode.common.files import write_bytes


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
