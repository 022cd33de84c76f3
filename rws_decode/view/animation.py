"""The animated picture of a decode, or of two in lock-step: drawn frame by frame, and put into one GIF."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image, ImageColor, ImageDraw

from rws_decode.common.page import Animation
from rws_decode.common.palette import AMBER, BLACK, BLUE, GREY, PALE, RULE
from rws_decode.predictors.base import MaskPredictor
from rws_decode.trace.trace import Trace
from rws_decode.view.lockstep import Frame, RunFrame, compared, frames_of, prompt_before, run_title
from rws_decode.view.sentences import shown
from rws_decode.view.slots import (
    INNER,
    LINE,
    MARGIN,
    PAD,
    SENTENCE,
    SMALL,
    TITLE,
    WORD,
    Layout,
    Panel,
    Slot,
    font_of,
    layout_of,
    line_within,
    lines_within,
    width_of,
)

WHITE = "#ffffff"
_FILLS = (WHITE, BLACK, GREY, AMBER, BLUE, RULE, PALE)
# Letters have soft edges: the shades between a ground and an ink that is written on it.
_WRITTEN = ((WHITE, BLACK), (WHITE, GREY), (AMBER, BLACK))
_SHADES = 8
_MARK = 3  # height of the line below a marked word
_TEXT = 15  # pixels from the top of a line of text to its base


def animate(trace: Trace, other: Trace | None = None, predictor: MaskPredictor | None = None) -> Animation:
    """Return an animated picture of a decode, its words as they are committed, alone or beside those of another run.

    Each frame is a step; a key tells its colours, and below each run are its factor and its normalised reward. A step
    takes half a second; the step at which the runs part 3 s, the end 4 s. The same traces give the same bytes, with
    one version of Pillow.

    other, predictor: as in :func:`rws_decode.view.decode_page.decode_page`. ValueError for runs of so many steps and
    tokens that no picture should hold them.

    >>> animate(Trace.from_step_map(None, [1, 0, 1], texts=["a", " b", " c"])).seconds
    (2.0, 0.5, 0.5, 4.0)
    """
    traces = (trace,) if other is None else (trace, other)
    difference = compared(trace, other, predictor)
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


def _drawn(layout: Layout, frames: Sequence[Frame], parted: int | None) -> Iterator[Image.Image]:
    """Yield the frames as pictures of few colours."""
    ground, palette, runs = Image.new("RGB", layout.size, WHITE), _palette(), len(frames[0].runs)
    marks = runs == 2 or any(run.marked for frame in frames for run in frame.runs)
    _draw_fixed(ImageDraw.Draw(ground), layout, runs, marks)
    for frame in frames:
        picture = ground.copy()
        pixels = ImageDraw.Draw(picture)
        _draw_steps(pixels, layout, frame.step, frames[-1].step, parted)
        for panel, run in zip(layout.panels, frame.runs, strict=True):
            _draw_words(pixels, panel, run)
            numbers = lines_within(run.numbers, font_of(SMALL), panel.width, panel.numbers_lines)
            _draw_lines(pixels, panel.left, panel.numbers_top, numbers, SMALL, GREY)
        said = lines_within(frame.sentence, font_of(SENTENCE), INNER, 2)
        _draw_lines(pixels, MARGIN, layout.sentence_top, said, SENTENCE, BLACK)
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
    _fill(pixels, (1, 1, width - 1, height - 1), WHITE)
    _draw_lines(pixels, MARGIN, MARGIN - 4, layout.prompt, SMALL, GREY)
    for panel in layout.panels:
        pixels.text((panel.left, panel.top + TITLE), panel.title, BLACK, font_of(TITLE, True), "ls")
        for slot in panel.slots:
            if slot.position is None:
                _write(pixels, slot, slot.text, GREY)
    x, top = MARGIN, layout.key_top
    marked = "the other run does not have this word here" if runs == 2 else "factor 1 would have committed another"
    key = [(RULE, False, "mask"), (AMBER, False, "committed in this step"), (WHITE, True, marked)]
    for fill, mark, text in key if marks else key[:2]:
        _fill(pixels, (x, top, x + 31, top + 20), fill)
        if mark:
            _fill(pixels, (x, top + 20 - _MARK, x + 31, top + 20), BLUE)
        pixels.text((x + 38, top + _TEXT), text, GREY, font_of(SMALL), "ls")
        x += 38 + width_of(text, font_of(SMALL)) + 28


def _draw_steps(pixels: ImageDraw.ImageDraw, layout: Layout, step: int, end: int, parted: int | None) -> None:
    """Draw the counter of the steps and the bar that fills, with a mark from where the runs parted."""
    left, top, right, bottom = layout.bar
    text = "before step 0" if step < 0 else "the end" if step == end else f"step {step}"
    _draw_lines(pixels, left, top - LINE - 2, (f"{text} (steps 0 to {end - 1})",), SMALL, BLACK)
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
        _fill(pixels, slot.box, RULE if word is None else AMBER if new else WHITE)
        if word is not None:
            _write(pixels, slot, shown(word), GREY if filling and not new else BLACK)
            if marked:
                _fill(pixels, (left, bottom - _MARK, right, bottom), BLUE)


def _write(pixels: ImageDraw.ImageDraw, slot: Slot, text: str, ink: str) -> None:
    left, _, right, bottom = slot.box
    text = line_within(text, font_of(WORD), right - left - 2 * PAD)
    pixels.text((left + PAD, bottom - 8), text, ink, font_of(WORD), "ls")


def _draw_lines(pixels: ImageDraw.ImageDraw, left: int, top: int, lines: Sequence[str], size: int, ink: str) -> None:
    for number, line in enumerate(lines):
        pixels.text((left, top + _TEXT + LINE * number), line, ink, font_of(size), "ls")
