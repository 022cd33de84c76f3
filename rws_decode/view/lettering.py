"""Text of a picture made of pixels: measured, cut, and put into lines, in the font that comes with matplotlib."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

from rws_decode.view.plots.text import font_file, in_font

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

_LONGEST = 400  # characters of a line that are looked at: no line of a picture holds more


@cache
def font_of(size: int, bold: bool = False) -> FreeTypeFont:
    """Return DejaVu Sans in a size in pixels; letters are put side by side, whatever libraries the machine has."""
    from PIL import ImageFont

    return ImageFont.truetype(font_file(bold), size, layout_engine=ImageFont.Layout.BASIC)


def visible(text: str) -> str:
    r"""Return a text of which every character can be seen: a frame stands for one that the font does not have.

    >>> visible("naïve 猫\x07\u200b")
    'naïve ▯▯▯'
    """
    path = font_file()
    return "".join(letter if letter.isprintable() and in_font(letter, path) else "▯" for letter in text)


def width_of(text: str, font: FreeTypeFont) -> int:
    """Return the width of a visible text, pixels."""
    return int(-(-font.getlength(text) // 1))


def line_within(text: str, font: FreeTypeFont, width: int) -> str:
    """Return a visible text cut to a width in pixels, the cut marked by dots.

    >>> line_within("reward-weighted sampling", font_of(16), 100)
    'reward-w…'
    """
    text = visible(text[:_LONGEST])
    if width_of(text, font) <= width:
        return text
    kept = bisect_right(range(len(text)), width, key=lambda count: width_of(f"{text[:count]}…", font)) - 1
    return f"{text[: max(kept, 0)].rstrip()}…"


def lines_within(text: str, font: FreeTypeFont, width: int, most: int) -> tuple[str, ...]:
    """Return a text in at most so many visible lines of a width in pixels; the last is cut where there is more.

    >>> lines_within("each step commits the words that it ranks first", font_of(16), 160, 2)
    ('each step commits', 'the words that it r…')
    """
    words, lines = visible(" ".join(text.split())).split(), list[str]()
    while words and len(lines) < most - 1:
        line = words.pop(0)
        while words and width_of(f"{line} {words[0]}", font) <= width:
            line += f" {words.pop(0)}"
        lines.append(line_within(line, font, width))
    return (*lines, line_within(" ".join(words), font, width)) if words else tuple(lines)
