"""A dialogue drawn token by token: each answer a row of cells, coloured by the step that committed its tokens."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_hex
from matplotlib.figure import Figure

from paper_figures.exhibits.canvas_cells import Cell, Look, flow, height_of, paint, sheet_axes
from paper_figures.exhibits.style import figure
from paper_figures.figures.parts.dialogues_tables import Examples

Row = Mapping[str, Any]

_LINES = 9  # of cells that one answer has at most; what is left out is said
_PROMPT = 4  # lines of a prompt that are shown, its last
_MARGIN, _LEFT, _WIDE = 0.08, 1.2, 5.1  # inches
NAMES = {"default": "default", "rws": "RWS", "constant": "constant"}


def draw(data: Examples) -> Figure:
    """Draw every answer of one dialogue as a row of cells, one per token, coloured by the step that committed it."""
    if data.drawn is None:
        raise ValueError("no dialogue was traced: there are no steps to draw")
    steps = int(data.run.settings["steps"])
    shades = ScalarMappable(Normalize(0, max(steps - 1, 1)), matplotlib.colormaps["YlGnBu"])
    rows = [
        row for number, turn in enumerate(data.drawn["turns"], start=1) for row in _rows(data, number, turn, shades)
    ]
    height = sum(row.height for row in rows) + 0.75
    picture = figure(6.6, height)
    picture.set_layout_engine("none")
    top = 0.05
    for row in rows:
        axes = sheet_axes(picture, _MARGIN, top, _LEFT, row.height)
        axes.text(0, 0.03 if row.cells else 0.0, row.label, fontsize=8.5, weight=row.weight, va="top", parse_math=False)
        axes = sheet_axes(picture, _MARGIN + _LEFT, top, _WIDE, row.height)
        axes.text(0, 0.0, row.text, fontsize=8.5, va="top", style="italic", linespacing=1.15, parse_math=False)
        paint(axes, row.cells, row.words, row.looks)
        top += row.height
    box = (_MARGIN + _LEFT) / 6.6, 0.45 / height, _WIDE / 6.6, 0.13 / height
    bar = picture.colorbar(shades, cax=picture.add_axes(box), orientation="horizontal")
    bar.set_label("step in which the token was committed  [steps, from 0]", fontsize=8.5)
    bar.ax.tick_params(labelsize=8.5)
    stride = max(1, steps // 8)
    bar.set_ticks([*(step for step in range(0, steps, stride) if steps - 1 - step > stride / 2), steps - 1])
    return picture


@dataclass(frozen=True)
class _Drawn:
    """A row of the picture: what stands left, and right either a prompt's text or an answer's cells."""

    label: str
    height: float
    text: str = ""
    weight: str = "normal"
    cells: Sequence[Cell] = ()
    words: Sequence[str] = ()
    looks: Sequence[Look] = ()


def _rows(data: Examples, number: int, turn: Row, shades: ScalarMappable) -> list[_Drawn]:
    lines = textwrap.wrap(" ".join(turn["prompt"].split()), 72)
    if len(lines) > _PROMPT:
        lines = [f"… {lines[-_PROMPT]}", *lines[1 - _PROMPT :]]  # a question stands at the end
    rows = [_Drawn(f"Turn {number}", 0.155 * len(lines) + 0.12, "\n".join(lines), "bold")]
    for answer in data.answers(turn):
        words, looks = _cells(answer["tokens"], shades)
        cells = [cell for cell in flow(words, _WIDE) if cell.line < _LINES]
        kept = len(cells)
        end = f"\n({len(words) - kept} more tokens)" if kept < len(words) else ""
        tall = max(height_of(cells), 0.155 * (2 if end else 1)) + 0.09
        rows.append(_Drawn(f"{NAMES[answer['method']]}{end}", tall, "", "normal", cells, words[:kept], looks[:kept]))
    return [*rows, _Drawn("", 0.08)]


def _cells(tokens: Sequence[Row], shades: ScalarMappable) -> tuple[list[str], list[Look]]:
    words, looks = [], []
    for token in tokens:
        colour = np.array(shades.to_rgba(token["step"])[:3])
        linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
        # Relative luminance: black words where these have more contrast, white ones else.
        ink = "black" if float(linear @ [0.2126, 0.7152, 0.0722]) > 0.179 else "white"
        looks.append(Look(to_hex(tuple(colour)), "#8a8a8a", ink))
        words.append(_word(token["text"]))
    return words, looks


def _word(text: str) -> str:
    return text.strip(" ").replace("\n", "\\n") or "_"


def left_out(data: Examples) -> bool:
    """Return whether an answer of the drawn dialogue has more lines of cells than are drawn."""
    if data.drawn is None:
        return False
    answers = [answer for turn in data.drawn["turns"] for answer in data.answers(turn)]
    rows = [flow([_word(token["text"]) for token in answer["tokens"]], _WIDE) for answer in answers]
    return any(cell.line >= _LINES for cells in rows for cell in cells)
