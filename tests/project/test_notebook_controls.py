"""What readers do with the lessons: move their controls, type into their fields, and give them traces of their own."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from symtable import symtable
from typing import Any

import IPython.display
import ipywidgets
import jupytext
import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.figure import Figure

from rws_decode.decode import decode
from rws_decode.predictors import CallablePredictor
from rws_decode.settings import Shape
from rws_decode.strategies.factors import Temperature

FOLDER = Path(__file__).parents[2] / "notebooks"
sys.path.insert(0, str(FOLDER))

from refresh import execute  # noqa: E402

CELLS = {
    source.stem: [cell.source for cell in jupytext.read(source).cells if cell.cell_type == "code"]
    for source in sorted(FOLDER.glob("[0-9]*.py"))
}
LESSONS = [name for name, cells in CELLS.items() if any("interact" in code for code in cells)]


@dataclass
class Controls:
    """What a cell gave to `interact`: a function of the reader's values, and an abbreviation of a control for each."""

    function: Callable[..., Any]
    ranges: dict[str, Any]

    def shown(self, **values: Any) -> list[str]:
        """Return what a reader sees at these values, the others as they begin: texts, and the digests of pictures."""
        seen: list[Any] = []
        texts = StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(texts):
            patch.setitem(self.function.__globals__, "display", lambda *objects: seen.extend(objects))
            patch.setattr(plt, "show", lambda: seen.extend(map(plt.figure, plt.get_fignums())))
            returned = self.function(**{**self.first, **values})
        shown = [_seen(thing) for thing in [*seen, returned] if thing is not None]
        plt.close("all")
        return [text for text in [texts.getvalue(), *shown] if text]

    @property
    def first(self) -> dict[str, Any]:
        """Return the values that the controls begin with: the function's own, or what ipywidgets makes of a range."""
        parameters = inspect.signature(self.function).parameters
        return {
            name: default if (default := parameters[name].default) is not inspect.Parameter.empty else _widget(of).value
            for name, of in self.ranges.items()
        }


def _widget(abbreviation: Any) -> Any:
    return ipywidgets.interactive.widget_from_abbrev(abbreviation)


def _ends(abbreviation: Any) -> tuple[Any, Any]:
    """Return both ends of a control."""
    widget = _widget(abbreviation)
    if isinstance(abbreviation, list):
        return abbreviation[0], abbreviation[-1]
    if isinstance(widget, ipywidgets.FloatLogSlider):
        return widget.base**widget.min, widget.base**widget.max
    return widget.min, widget.max


def _seen(thing: Any) -> str:
    """Return a text, or the digest of a picture."""
    if not isinstance(thing, Figure):
        return thing.data if hasattr(thing, "data") else repr(thing)
    picture = BytesIO()
    thing.savefig(picture, format="png", metadata={"Software": None})
    return hashlib.sha256(picture.getvalue()).hexdigest()


def _needed(cells: list[str]) -> list[str]:
    """Return the cells that the last one needs, itself included: those that bind a name that it or they use."""
    *before, last = cells
    wanted, needed = _names(last)[1], [last]
    for code in reversed(before):
        bound, used = _names(code)
        if bound & wanted:
            wanted |= used
            needed.insert(0, code)
    return needed


def _names(code: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell binds, and those that it takes from others: locals of its functions are neither."""
    tables = [symtable(code, "cell", "exec")]
    bound = {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    used = set()
    for table in tables:  # which grows
        tables += table.get_children()
        used |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced() and symbol.is_global()}
    used |= {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_referenced()}
    return bound, used - bound


@pytest.fixture(scope="module")
def controls() -> Iterator[dict[str, Controls]]:
    """Return each lesson's controls, of the cells that they need, run in this process without a widget."""
    recorded: list[Controls] = []

    def record(function: Callable[..., Any], **ranges: Any) -> None:
        recorded.append(Controls(function, ranges))

    with pytest.MonkeyPatch.context() as patch:
        for name in ("interact", "interact_manual"):
            patch.setattr(ipywidgets, name, record)
        patch.setattr(IPython.display, "display", lambda *_: None)
        patch.setattr(plt, "show", lambda: plt.close("all"))
        backend = plt.get_backend()
        plt.switch_backend("agg")
        for name in LESSONS:
            (last,) = [number for number, code in enumerate(CELLS[name]) if "= interact" in code]
            names: dict[str, Any] = {}
            with redirect_stdout(StringIO()):
                for code in _needed(CELLS[name][: last + 1]):
                    exec(code, names)
        yield dict(zip(LESSONS, recorded, strict=True))
        plt.switch_backend(backend)


@pytest.mark.parametrize("name", LESSONS)
def test_every_control_changes_what_is_shown(name: str, controls: dict[str, Controls]) -> None:
    lesson = controls[name]
    assert lesson.shown() != []
    for control, abbreviation in lesson.ranges.items():
        if isinstance(abbreviation, str):
            continue
        low, high = _ends(abbreviation)
        at_low, at_high = (lesson.shown(**{control: value}) for value in (low, high))
        assert at_low != [] and at_high != [] and at_low != at_high, control


@pytest.mark.parametrize("name", LESSONS)
def test_all_controls_may_stand_at_the_same_end(name: str, controls: dict[str, Controls]) -> None:
    ends = {control: _ends(of) for control, of in controls[name].ranges.items() if not isinstance(of, str)}
    for end in (0, 1):
        assert controls[name].shown(**{control: both[end] for control, both in ends.items()}) != []


@pytest.mark.parametrize("name", LESSONS)
def test_the_controls_begin_within_their_ranges(name: str, controls: dict[str, Controls]) -> None:
    for control, abbreviation in controls[name].ranges.items():
        value = controls[name].first[control]
        if isinstance(abbreviation, list):
            assert value in abbreviation
        elif not isinstance(abbreviation, str):
            low, high = _ends(abbreviation)
            assert low <= value <= high, control


def test_what_a_page_can_show_needs_no_kernel() -> None:
    for name, cells in CELLS.items():
        assert not ("interact" in "".join(cells) and ".view(" in "".join(cells)), name


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_trace_of_another_model_is_read_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = torch.randn(12, 50, generator=torch.Generator().manual_seed(0))
    predictor = CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=49)
    (trace,) = decode(predictor, [[1, 2]], Temperature(3.0), Shape(length=10, steps=5, block=10))
    monkeypatch.setenv("RWS_TRACE", str(trace.save(tmp_path / "mine.parquet")))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    code = [cell for cell in execute(FOLDER / "06_reading_your_own_traces.py").cells if cell.cell_type == "code"]
    conclusion = code[-1].outputs[-1].data["text/markdown"]
    assert conclusion.count("**yes**") == 3 and "no second trace was given" in conclusion
    assert "for 10 tokens in 5 steps" in conclusion
    texts = "".join(output.get("text", "") for cell in code for output in cell.outputs)
    assert " ".join(map(str, trace.candidate[0].tolist())) in texts
