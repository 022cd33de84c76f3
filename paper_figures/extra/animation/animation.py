"""An animated GIF of a decode, or of two in lock-step: a box for each position, frame by frame."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont
from PIL.ImageFont import FreeTypeFont

from paper_figures.extra.animation.gif import Animation
from paper_figures.extra.animation.lockstep import Frame, RunFrame, frames_of, prompt_before, run_title
from rws_decode.common.palette import AMBER, BLACK, BLUE, GREY, PALE, RULE
from rws_decode.extra.pages.decode_page import compared
from rws_decode.extra.pages.template import line_of
from rws_decode.predictors.base import MaskPredictor
from rws_decode.trace.data import check_traces
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.axes import in_font
from rws_decode.view.sentences import shown

_WIDTH = 960  # pixels
_WORD, _SENTENCE, _SMALL, _TITLE = 17, 17, 15, 19  # sizes of letters, pixels
_LINE = 22  # height of a line of small text
_MARGIN, _BETWEEN = 18, 28  # around everything; between two panels
_INNER = _WIDTH - 2 * _MARGIN
_PAD = 5  # between a word and the ends of its box
_BOX, _ROW, _GAP = 26, 30, 3  # height of a box, of a row, space between boxes
_LEAST = 16  # width of a box
_TALLEST = 14  # rows of a panel that stands beside the other
_PIXELS = 300_000_000  # of all frames together: two bytes of memory each while they are rendered
_LONGEST = 400  # characters of a line that are looked at: no line of a picture holds more
_WHITE = "#ffffff"
_FILLS = (_WHITE, BLACK, GREY, AMBER, BLUE, RULE, PALE)
# Letters have soft edges: the shades between a ground and an ink that is written on it.
_WRITTEN = ((_WHITE, BLACK), (_WHITE, GREY), (AMBER, BLACK))
_SHADES = 8
_MARK = 3  # height of the line below a marked word
_TEXT = 15  # pixels from the top of a line of text to its base


def font_file(bold: bool = False) -> str:
    """Return the file of DejaVu Sans that comes with matplotlib, the same on every machine."""
    return str(Path(matplotlib.get_data_path(), "fonts", "ttf", f"DejaVuSans{'-Bold' if bold else ''}.ttf"))


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


def animate(trace: Trace, other: Trace | None = None, predictor: MaskPredictor | None = None) -> Animation:
    """Return an animated picture of a decode, its words as they are committed, alone or beside those of another run.

    Each frame is a step; a key tells its colours, and below each run are its factor and its normalised reward. A step
    takes half a second; the step at which the runs diverge 3 s, the end 4 s. The same traces give the same bytes, with
    one version of Pillow.

    other, predictor: as in `rws_decode.decode_page`. ValueError for runs of so many steps and tokens
    that no picture should hold them.

    >>> animate(Trace.from_step_map(None, [1, 0, 1], texts=["a", " b", " c"])).seconds
    (2.0, 0.5, 0.5, 4.0)
    """
    check_traces(trace=trace)
    traces = (trace,) if other is None else (trace, other)
    difference = None if other is None else compared(trace, other, predictor)
    frames = frames_of(trace, other, difference)
    layout = layout_of(traces, frames, prompt_before(trace))
    parted = None if difference is None or difference.parting is None else difference.parting.step
    first, *others = _drawn(layout, frames, parted)
    out = io.BytesIO()
    milliseconds = [round(1000 * frame.seconds) for frame in frames]
    # Optimised, a frame holds only the pixels that are not as they were: a fifth of the bytes.
    first.save(out, "GIF", save_all=True, append_images=others, duration=milliseconds, loop=0, optimize=True)
    titles = " and ".join(map(run_title, traces))
    alt = f"A decode by {titles}" if other is None else f"Two decodes in lock-step: {titles}"
    return Animation(out.getvalue(), tuple(frame.seconds for frame in frames), f"{alt}. {frames[-1].sentence}")


def layout_of(traces: Sequence[Trace], frames: Sequence[Frame], prompt: str | None) -> Layout:
    """Return where the parts of an animation stand: runs beside each other, or below where their texts are long.

    Position i of both runs has a box of the same width, that of its longest word. ValueError for more pixels than a
    picture should have.
    """
    widths = _widths(frames, max(each.length for each in traces))
    lines = () if prompt is None else lines_within(f"Prompt: {prompt}", font_of(_SMALL), _INNER, 2)
    bar_top = _MARGIN + _LINE * len(lines) + _LINE + 6
    bar = (_MARGIN, bar_top, _WIDTH - _MARGIN, bar_top + 8)
    half = (_INNER - _BETWEEN) // 2
    rows = [{slot.box[1] for slot in _placed(each, widths, 0, 0, half)} for each in traces]
    narrow = len(traces) == 2 and max(map(len, rows)) <= _TALLEST
    width, left, top = (half if narrow else _INNER), _MARGIN, bar[3] + 18
    panels, bottom = [], top
    numbers = [run.numbers for frame in frames for run in frame.runs]
    most = max(len(lines_within(text, font_of(_SMALL), width, 2)) for text in numbers)
    for name, trace in zip("AB", traces, strict=False):
        title = run_title(trace) if len(traces) == 1 else f"{name}: {run_title(trace)}"
        slots = _placed(trace, widths, left, top + _TITLE + 14, width)
        numbers_top = max((slot.box[3] for slot in slots), default=top + _TITLE + 14) + 10
        title = line_within(title, font_of(_TITLE, True), width)
        panels.append(Panel(left, top, width, title, slots, numbers_top, most))
        bottom = max(bottom, numbers_top + _LINE * most)
        left, top = (left + width + _BETWEEN, top) if narrow else (left, bottom + 14)
    sentence_top = bottom + 18
    key_top = sentence_top + 2 * _LINE + 10
    size = (_WIDTH, key_top + _BOX + _MARGIN)
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
            for column, word in zip(words, run.words, strict=False):
                column.add(word or "")
    most = (_INNER - _BETWEEN) // 2
    return [
        max(_LEAST, *(_width(shown(word), most) for word in column if word)) if any(column) else _LEAST
        for column in words
    ]


def _width(text: str, most: int) -> int:
    return width_of(line_within(text, font_of(_WORD), most - 2 * _PAD), font_of(_WORD)) + 2 * _PAD


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


def _drawn(layout: Layout, frames: Sequence[Frame], parted: int | None) -> Iterator[Image.Image]:
    """Yield the frames as pictures of few colours."""
    ground, palette, runs = Image.new("RGB", layout.size, _WHITE), _palette(), len(frames[0].runs)
    marks = runs == 2 or any(run.marked for frame in frames for run in frame.runs)
    _draw_fixed(ImageDraw.Draw(ground), layout, runs, marks)
    for frame in frames:
        picture = ground.copy()
        pixels = ImageDraw.Draw(picture)
        _draw_steps(pixels, layout, frame.step, frames[-1].step, parted)
        for panel, run in zip(layout.panels, frame.runs, strict=True):
            _draw_words(pixels, panel, run)
            numbers = lines_within(run.numbers, font_of(_SMALL), panel.width, panel.numbers_lines)
            _draw_lines(pixels, panel.left, panel.numbers_top, numbers, _SMALL, GREY)
        lines = lines_within(frame.sentence, font_of(_SENTENCE), _INNER, 2)
        _draw_lines(pixels, _MARGIN, layout.sentence_top, lines, _SENTENCE, BLACK)
        yield picture.quantize(palette=palette, dither=Image.Dither.NONE)


def _palette() -> Image.Image:
    """Return a picture whose palette has the fills, and the shades of every ink on its ground."""
    ends = [(ImageColor.getrgb(ground), ImageColor.getrgb(ink)) for ground, ink in _WRITTEN]
    shades = [np.linspace(ground, ink, _SHADES) for ground, ink in ends]
    colors = np.concatenate([[ImageColor.getrgb(fill) for fill in _FILLS], *shades]).round().astype(int)
    palette = Image.new("P", (1, 1))
    palette.putpalette(colors.ravel().tolist())
    return palette


def _fill(pixels: ImageDraw.ImageDraw, box: tuple[int, int, int, int], color: str) -> None:
    """Fill a box: left and top, and right and bottom, which do not belong to it."""
    left, top, right, bottom = box
    if left < right and top < bottom:
        pixels.rectangle((left, top, right - 1, bottom - 1), fill=color)


def _draw_fixed(pixels: ImageDraw.ImageDraw, layout: Layout, runs: int, marks: bool) -> None:
    """Draw what no step changes: the border, the prompt, titles, the texts around gaps, and the key of the colours."""
    width, height = layout.size
    _fill(pixels, (0, 0, width, height), PALE)
    _fill(pixels, (1, 1, width - 1, height - 1), _WHITE)
    _draw_lines(pixels, _MARGIN, _MARGIN - 4, layout.prompt, _SMALL, GREY)
    for panel in layout.panels:
        pixels.text((panel.left, panel.top + _TITLE), panel.title, BLACK, font_of(_TITLE, True), "ls")
        for slot in panel.slots:
            if slot.position is None:
                _write(pixels, slot, slot.text, GREY)
    x, top = _MARGIN, layout.key_top
    marked = "the other run does not have this word here" if runs == 2 else "factor 1 would have committed another"
    key = [(RULE, False, "mask"), (AMBER, False, "committed in this step"), (_WHITE, True, marked)]
    for fill, mark, text in key if marks else key[:2]:
        _fill(pixels, (x, top, x + 31, top + 20), fill)
        if mark:
            _fill(pixels, (x, top + 20 - _MARK, x + 31, top + 20), BLUE)
        pixels.text((x + 38, top + _TEXT), text, GREY, font_of(_SMALL), "ls")
        x += 38 + width_of(text, font_of(_SMALL)) + 28


def _draw_steps(pixels: ImageDraw.ImageDraw, layout: Layout, step: int, end: int, parted: int | None) -> None:
    """Draw the counter of the steps and the bar that fills, with a mark where the runs diverge."""
    left, top, right, bottom = layout.bar
    text = "before step 0" if step < 0 else "the end" if step == end else f"step {step}"
    _draw_lines(pixels, left, top - _LINE - 2, (f"{text} (steps 0 to {end - 1})",), _SMALL, BLACK)
    ends = [left + round((right - left) * part / end) for part in range(end + 1)]
    _fill(pixels, layout.bar, RULE)
    _fill(pixels, (left, top, ends[min(step + 1, end)], bottom), GREY)
    if parted is not None and step >= parted:
        _fill(pixels, (ends[parted], top, max(ends[parted + 1], ends[parted] + 3), bottom), BLUE)


def _draw_words(pixels: ImageDraw.ImageDraw, panel: Panel, run: RunFrame) -> None:
    for slot in panel.slots:
        if slot.position is None:
            continue
        left, _, right, bottom = slot.box
        word, new, marked, filling = run.look(slot.position)
        _fill(pixels, slot.box, RULE if word is None else AMBER if new else _WHITE)
        if word is not None:
            _write(pixels, slot, shown(word), GREY if filling and not new else BLACK)
            if marked:
                _fill(pixels, (left, bottom - _MARK, right, bottom), BLUE)


def _write(pixels: ImageDraw.ImageDraw, slot: Slot, text: str, ink: str) -> None:
    left, _, right, bottom = slot.box
    text = line_within(text, font_of(_WORD), right - left - 2 * _PAD)
    pixels.text((left + _PAD, bottom - 8), text, ink, font_of(_WORD), "ls")


def _draw_lines(pixels: ImageDraw.ImageDraw, left: int, top: int, lines: Sequence[str], size: int, ink: str) -> None:
    for number, line in enumerate(lines):
        pixels.text((left, top + _TEXT + _LINE * number), line, ink, font_of(size), "ls")
