"""A picture of few colours: boxes and letters drawn as numbers of a palette, so that equal drawings are equal bytes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rws_decode.common.palette import AMBER, BLACK, BLUE, GREY, PALE, RULE

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

WHITE = "#ffffff"
_FILLS = (WHITE, BLACK, GREY, AMBER, BLUE, RULE, PALE)
# The shades between a ground and an ink that is written on it: letters have soft edges.
_WRITTEN = ((WHITE, BLACK), (WHITE, GREY), (AMBER, BLACK))
_SHADES = 8
_ABOVE = 40  # pixels above the base of a line that letters may reach, and below it


class Pixels:
    """A white picture to fill and to write on.

    >>> pixels = Pixels(4, 2)
    >>> pixels.fill((0, 0, 2, 2), AMBER)
    >>> picture = pixels.picture().convert("RGB")
    >>> picture.getpixel((0, 0)), picture.getpixel((2, 0))
    ((230, 159, 0), (255, 255, 255))
    """

    def __init__(self, width: int, height: int) -> None:
        from PIL import Image

        self._picture = Image.new("P", (width, height), _numbers()[WHITE])
        self._picture.putpalette(_palette())

    def fill(self, box: tuple[int, int, int, int], color: str) -> None:
        """Fill a box: left and top, and right and bottom, which do not belong to it."""
        self._picture.paste(_numbers()[color], box)

    def write(self, left: int, base: int, text: str, font: FreeTypeFont, ink: str, ground: str = WHITE) -> None:
        """Write a line of text from the left on a base, over the ground that it stands on."""
        from PIL import Image, ImageDraw

        box = font.getbbox(text, anchor="ls")
        at = int(box[0]) - 1, max(int(box[1]) - 1, -_ABOVE)
        size = int(box[2]) + 1 - at[0], min(int(box[3]) + 1, _ABOVE) - at[1]
        letters = Image.new("L", size)
        ImageDraw.Draw(letters).text((-at[0], -at[1]), text, font=font, fill=255, anchor="ls")
        shades = letters.point(_shades(ground, ink))
        part = Image.frombytes("P", size, shades.tobytes())
        part.putpalette(_palette())
        inked = letters.point([0] + [255] * 255)  # all or nothing: numbers of colours do not mix
        self._picture.paste(part, (left + at[0], base + at[1]), inked)

    def picture(self) -> Image:
        """Return the picture as it stands, to keep."""
        return self._picture.copy()


@cache
def _numbers() -> dict[str, int]:
    return {color: number for number, color in enumerate(_FILLS)}


@cache
def _shades(ground: str, ink: str) -> list[int]:
    """Return the number of the colour for each share of ink, 0 to 255."""
    first = len(_FILLS) + _SHADES * _WRITTEN.index((ground, ink))
    return [first + round(share / 255 * (_SHADES - 1)) for share in range(256)]


@cache
def _palette() -> list[int]:
    """Return the colours, three numbers each: the fills, then the shades of every ink on its ground."""
    from PIL import ImageColor

    colors = [ImageColor.getrgb(color)[:3] for color in _FILLS]
    for ground, ink in _WRITTEN:
        ends = list(zip(ImageColor.getrgb(ground), ImageColor.getrgb(ink), strict=True))
        colors += [tuple(round(a + (b - a) * n / (_SHADES - 1)) for a, b in ends) for n in range(_SHADES)]
    return [part for color in colors for part in color]
