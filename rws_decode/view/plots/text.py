"""Words as the labels of a picture show them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rws_decode.view.sentences import shown

_LONGEST = 16  # characters of a word; a longer one is cut


def shown_word(word: str, longest: int = _LONGEST) -> str:
    """Return a token's text as a label: without outer blanks, cut where it is long.

    Characters that the font of the picture does not have become boxes.

    >>> shown_word(" the"), shown_word("incomprehensibilities")
    ('the', 'incomprehensibi…')
    """
    word = shown(word)
    word = word if len(word) <= longest else word[: longest - 1] + "…"
    return "".join(letter if letter.isascii() or in_font(letter, _font()) else "▯" for letter in word)


def _font() -> str:
    from matplotlib.font_manager import FontProperties, findfont

    return str(findfont(FontProperties()))


def font_file(bold: bool = False) -> str:
    """Return the file of DejaVu Sans that comes with matplotlib, the same on every machine."""
    import matplotlib

    return str(Path(matplotlib.get_data_path(), "fonts", "ttf", f"DejaVuSans{'-Bold' if bold else ''}.ttf"))


@cache
def in_font(letter: str, path: str) -> bool:
    """Return whether the font of a file has a letter."""
    from matplotlib.font_manager import get_font

    return bool(get_font(path).get_char_index(ord(letter)))
