"""Where an animation draws what: a box for each position, which keeps its place while words come and go."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from PIL import ImageFont
from PIL.ImageFont import FreeTypeFont

from rws_decode.trace.trace import Trace
from rws_decode.view.lockstep import Frame, run_title
from rws_decode.view.plots.axes import font_file, in_font
from rws_decode.view.sentences import shown
from rws_decode.view.template import line_of

WIDTH = 960  # pixels
WORD, SENTENCE, SMALL, TITLE = 17, 17, 15, 19  # sizes of letters, pixels
LINE = 22  # height of a line of small text
MARGIN, _BETWEEN = 18, 28  # around everything; between two panels
INNER = WIDTH - 2 * MARGIN
PAD = 5  # between a word and the ends of its box
_BOX, _ROW, _GAP = 26, 30, 3  # height of a box, of a row, space between boxes
_LEAST = 16  # width of a box
_TALLEST = 14  # rows of a panel that stands beside the other
_PIXELS = 300_000_000  # of all frames together: two bytes of memory each while they are drawn
_LONGEST = 400  # characters of a line that are looked at: no line of a picture holds more


@dataclass(frozen=True)
class Slot:
    """A box of the text: left, top, right and bottom in pixels; its position, or the fixed text of a prompt."""

    box: tuple[int, int, int, int]
    position: int | None
    text: str = ""


@dataclass(frozen=True)
class Panel:
    """Where a run stands: its title, its slots, and the lines of its numbers."""

    left: int
    top: int
    width: int
    title: str
    slots: tuple[Slot, ...]
    numbers_top: int
    numbers_lines: int


@dataclass(frozen=True)
class Layout:
    """Where everything stands: size of the picture, lines of the prompt, bar of the steps, panels, sentence, key."""

    size: tuple[int, int]
    prompt: tuple[str, ...]
    bar: tuple[int, int, int, int]
    panels: tuple[Panel, ...]
    sentence_top: int
    key_top: int


def layout_of(traces: Sequence[Trace], frames: Sequence[Frame], prompt: str | None) -> Layout:
    """Return where the parts of an animation stand: runs beside each other, or below where their texts are long.

    Position i of both runs has a box of the same width, that of its longest word. ValueError for more pixels than a
    picture should have.
    """
    widths = _widths(frames, max(each.length for each in traces))
    lines = () if prompt is None else lines_within(f"Prompt: {prompt}", font_of(SMALL), INNER, 2)
    bar_top = MARGIN + LINE * len(lines) + LINE + 6
    bar = (MARGIN, bar_top, WIDTH - MARGIN, bar_top + 8)
    beside = (INNER - _BETWEEN) // 2
    rows = [{slot.box[1] for slot in _placed(each, widths, 0, 0, beside)} for each in traces]
    narrow = len(traces) == 2 and max(map(len, rows)) <= _TALLEST
    width, left, top = (beside if narrow else INNER), MARGIN, bar[3] + 18
    panels, bottom = [], top
    numbers = [run.numbers for frame in frames for run in frame.runs]
    most = max(len(lines_within(text, font_of(SMALL), width, 2)) for text in numbers)
    for name, trace in zip("AB", traces, strict=False):
        title = run_title(trace) if len(traces) == 1 else f"{name}: {run_title(trace)}"
        slots = _placed(trace, widths, left, top + TITLE + 14, width)
        numbers_top = max((slot.box[3] for slot in slots), default=top + TITLE + 14) + 10
        title = line_within(title, font_of(TITLE, True), width)
        panels.append(Panel(left, top, width, title, slots, numbers_top, most))
        bottom = max(bottom, numbers_top + LINE * most)
        left, top = (left + width + _BETWEEN, top) if narrow else (left, bottom + 14)
    sentence_top = bottom + 18
    key_top = sentence_top + 2 * LINE + 10
    size = (WIDTH, key_top + _BOX + MARGIN)
    if size[0] * size[1] * len(frames) > _PIXELS:
        raise ValueError(
            f"{len(frames)} frames of {size[0]} x {size[1]} pixels are too many for an animation: an HTML page holds "
            "them, as trace.view(other) makes it, and the command view with -o FILE.html"
        )
    return Layout(size, lines, bar, tuple(panels), sentence_top, key_top)


def _widths(frames: Sequence[Frame], length: int) -> list[int]:
    """Return the width of the box of each position: that of the longest word that ever stands there, in any run."""
    words: list[set[str]] = [set() for _ in range(length)]
    for frame in frames:
        for run in frame.runs:
            for seen, word in zip(words, run.words, strict=False):
                seen.add(word or "")
    most = (INNER - _BETWEEN) // 2
    return [
        max(_LEAST, *(_width(shown(word), most) for word in seen if word)) if any(seen) else _LEAST for seen in words
    ]


def _width(text: str, most: int) -> int:
    return width_of(line_within(text, font_of(WORD), most - 2 * PAD), font_of(WORD)) + 2 * PAD


def _placed(trace: Trace, widths: Sequence[int], left: int, top: int, width: int) -> tuple[Slot, ...]:
    """Return the slots of a run in rows of a width: its positions, and between them the texts around its gaps."""
    slots, x, y = list[Slot](), left, top
    for part in line_of(trace.prompt_text, trace.length):
        for text in [""] if isinstance(part, int) else part.split():
            needed = widths[part] if isinstance(part, int) else _width(text, width)
            if x > left and x + needed > left + width:
                x, y = left, y + _ROW
            slots.append(Slot((x, y, x + needed, y + _BOX), part if isinstance(part, int) else None, text))
            x += needed + _GAP
    return tuple(slots)


@cache
def font_of(size: int, bold: bool = False) -> FreeTypeFont:
    """Return DejaVu Sans in a size in pixels; letters are put side by side, whatever libraries the machine has."""
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
