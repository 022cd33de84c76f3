"""Read the traces of the commit-order study, and show a canvas as running text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from huggingface_hub import try_to_load_from_cache
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

from paper_figures.exhibits.shared.exhibit import MissingRun
from paper_figures.exhibits.shared.results import read_results_json
from paper_figures.plan import command
from rws_decode.checkpoints.files import locate, shipped, split_revision
from rws_decode.common.files import parse_json
from rws_decode.common.palette import BLUE
from rws_decode.trace.trace import Trace, load_trace
from rws_decode.view.plots.axes import shown_word

SIZE = 8.0  # points
HEIGHT = 0.185  # inches from one line of cells to the next
_GAP = 0.03


@dataclass(frozen=True)
class Look:
    """How a token's cell looks: fill, outline, hatch, and the colour of its word, or None for no word."""

    face: str
    edge: str
    text: str | None
    width: float = 0.6
    hatch: str = ""
    dash: str | tuple[int, tuple[float, ...]] = "solid"


SHOWN = Look("white", "#8a8a8a", "black")
MASKED = Look("#e4e4e4", "#a0a0a0", None, hatch="/////")
FRESH = Look("#bfdff2", BLUE, "black", width=1.3)
GUESSED = Look("#f4f4f4", "#8a8a8a", "#3d3d3d", dash=(0, (2, 1.5)))


@dataclass(frozen=True)
class Cell:
    """The place of a token: left edge and width in inches, and its line from 0."""

    left: float
    line: int
    width: float


def flow(words: Sequence[str], width: float) -> tuple[Cell, ...]:
    """Return the place of each word in lines of at most `width` inches; a longer word has a line of its own.

    >>> [cell.line for cell in flow(["mmmm"] * 4, 1.2)]
    [0, 0, 1, 1]
    """
    cells, left, line = [], 0.0, 0
    for word in words:
        wide = max(_advance(word), 0.12)
        if left > 0 and left + wide > width:
            left, line = 0.0, line + 1
        cells.append(Cell(left, line, wide))
        left += wide + _GAP
    return tuple(cells)


@cache  # outlines are slow, and words recur
def _advance(word: str) -> float:
    # Advance widths, not ink: spaces and full stops keep their width.
    path = TextPath((0, 0), f"|{word}|", size=SIZE, prop=FontProperties(family="DejaVu Sans"))
    return path.get_extents().width / 72


def lines_height(cells: Sequence[Cell]) -> float:
    """Return the height of all lines, in inches.

    >>> lines_height(flow(["a"], 1.0)) == HEIGHT
    True
    """
    return HEIGHT * (1 + max((cell.line for cell in cells), default=-1))


def sheet_axes(picture: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Return axes without ticks whose unit is the inch, y downwards; the place is in inches from the upper left."""
    across, down = picture.get_size_inches()
    axes = picture.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    return axes


def paint(axes: Axes, cells: Sequence[Cell], words: Sequence[str], looks: Sequence[Look]) -> None:
    """Draw the cells on axes of `sheet_axes`, from the upper edge."""
    for cell, word, look in zip(cells, words, looks, strict=True):
        upper = cell.line * HEIGHT
        axes.add_patch(
            Rectangle(
                (cell.left, upper),
                cell.width,
                HEIGHT - _GAP,
                facecolor=look.face,
                edgecolor=look.edge,
                linewidth=look.width,
                linestyle=look.dash,
                hatch=look.hatch,
                clip_on=False,
            )
        )
        if look.text is not None:
            middle = upper + (HEIGHT - _GAP) / 2
            axes.text(
                *(cell.left + cell.width / 2, middle, word),
                **{"fontsize": SIZE, "color": look.text, "ha": "center", "va": "center_baseline", "parse_math": False},
            )


def words_of(trace: Trace, tokens: Iterable[int], end: int | None) -> tuple[str, ...]:
    """Return tokens as words: "(end)" for the end of text, "?" for no token, which is below 0."""
    ids = [int(token) for token in tokens]
    named = zip(ids, map(shown_word, trace.words(ids)), strict=True)
    return tuple("(end)" if token == end else word if token >= 0 else "?" for token, word in named)


@cache
def end_of(model: str) -> int | None:
    """Return the end-of-text id of a mask predictor: a shipped name, directory, or hub id; None where none is at hand.

    >>> end_of("mini"), end_of("/no/such/folder")
    (5, None)
    """
    name, revision = split_revision(model)
    try:
        checkpoint = locate("model", name, {each: each for each in shipped("ForMaskedLM")})
    except ValueError:  # a directory of another machine: the traces alone are here
        return None
    path: Any = checkpoint.directory and checkpoint.directory / "config.json"
    path = path or try_to_load_from_cache(name, "config.json", revision=revision)
    if not isinstance(path, str | Path) or not Path(path).is_file():
        return None
    end = parse_json(Path(path).read_text(encoding="utf-8")).get("eos_token_id")
    return end if isinstance(end, int) else None


NAME = "commit-order"
STRATEGIES = ("left-to-right", "default", "rws")


@dataclass(frozen=True, eq=False)
class CommitOrders:
    """`traces[prompt][strategy]` of a model, by the number of a held-out prompt, or its name.

    end: the model's end-of-text token, None where it names none; files: those of the traces, below the runs.
    """

    model: str
    end: int | None
    traces: Mapping[int | str, Mapping[str, Trace]]
    files: Mapping[int | str, Mapping[str, str]]

    @property
    def drawn(self) -> int | str:
        """Return which prompt is shown: the run's first, so that nobody chose it for its looks."""
        return next(iter(self.traces))

    def of(self, strategy: str) -> Trace:
        """Return the trace of the prompt shown."""
        return self.traces[self.drawn][strategy]

    def inputs(self, *strategies: str) -> tuple[str, ...]:
        """Return the files of the traces of the prompt shown, below the runs."""
        return tuple(self.files[self.drawn][name] for name in strategies)

    def words(self, trace: Trace, tokens: Iterable[int]) -> tuple[str, ...]:
        """Return tokens of a trace as words; each trace has the words of its own tokens alone."""
        return words_of(trace, tokens, self.end)

    def written(self, trace: Trace) -> int:
        """Return how many tokens stand before the first end of text, all of them where there is none."""
        ends = np.flatnonzero(trace.tokens == self.end)
        return int(ends[0]) if ends.size else trace.length

    def parted(self) -> tuple[NDArray[np.int64], int]:
        """Return the steps at which confidence and RWS commit different positions, and how many steps both ran."""
        default, rws = self.of("default"), self.of("rws")
        steps = min(default.steps_run, rws.steps_run)
        return np.flatnonzero((default.chosen[:steps] != rws.chosen[:steps]).any(axis=1)), steps


def commit_orders(runs: Path) -> CommitOrders:
    """Load the traces that the experiment's results name; MissingRun where these or a trace are absent."""
    made_by, results = command(NAME, runs), read_results_json(runs, NAME, ("rows", "settings"))
    files: dict[int | str, dict[str, str]] = {}
    for row in results["rows"]:
        files.setdefault(row["example"], {})[row["method"]] = f"{NAME}/{row['trace']}"
    whole = {prompt: named for prompt, named in files.items() if named.keys() >= set(STRATEGIES)}
    files = {prompt: {name: named[name] for name in STRATEGIES} for prompt, named in whole.items()}
    if not files:
        strategies = ", ".join(STRATEGIES)
        raise ValueError(
            f"{runs / NAME / 'results.json'} has no prompt with {strategies}: run {made_by} --retry-failed"
        )
    for path in (runs / file for named in files.values() for file in named.values()):
        if not path.is_file():
            raise MissingRun(f"{path} is missing: make it with {made_by}")
    traces = {
        prompt: {name: load_trace(runs / file) for name, file in named.items()} for prompt, named in files.items()
    }
    model = results["settings"]["model"]
    return CommitOrders(model, end_of(model), traces, files)
