"""How short the lessons' cells are, and what a notebook needs at most three lines for, run in a kernel."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9]*.py"))
# Lines of code, neither blank nor comments, that a reader meets.
MOST_IN_A_CELL, MOST_IN_A_LESSON = 12, 120
CELLS = {
    "compare two strategies on five prompts": """
from rws_decode import compare, decode, load_predictor, load_reward, plots, step_logits
predictor, reward = load_predictor("mini"), load_reward("mini")
compare(predictor, predictor.prompts[:5], ["default", "rws:8"], reward=reward).to_frame()""",
    "confidence curves of two positions of a step": """
trace = decode(predictor, predictor.prompts[3], "rws:8", reward=reward)[0]
plots.confidence_curves(step_logits(trace, predictor, 1), [0, 4])""",
    "a tidy frame of step, position and word": """
trace.to_frame(words=True)[["step", "position", "word"]]""",
    "scrub a decode": """
trace.view()""",
    "plot its order": """
plots.order(trace)""",
    "the objects themselves": """
print([predictor, reward, trace, step_logits(trace, predictor, 1)])
trace""",
}


def code_lines(cell: str) -> int:
    return sum(line.strip() != "" and not line.lstrip().startswith("#") for line in cell.splitlines())


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem[:2])
def test_a_lesson_shows_little_code(lesson: Path) -> None:
    cells = [cell.source for cell in jupytext.read(lesson).cells if cell.cell_type == "code"]
    assert [cell for cell in cells if code_lines(cell) > MOST_IN_A_CELL] == []
    assert sum(map(code_lines, cells)) <= MOST_IN_A_LESSON


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem[:2])
def test_what_a_lesson_shows_needs_no_kernel(lesson: Path) -> None:
    assert "ipywidgets" not in lesson.read_text(encoding="utf-8")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem[:2])
def test_a_lesson_shows_a_picture_or_a_page_first(lesson: Path) -> None:
    cells = nbformat.read(lesson.with_suffix(".ipynb"), as_version=4).cells
    shown = [output.get("data", {"text": ""}) for cell in cells for output in cell.get("outputs", [])]
    # A line of text may name what the picture is of.
    first = shown[1] if set(shown[0]) <= {"text/markdown", "text/plain"} else shown[0]
    assert "image/png" in first or first.get("text/html", "").startswith("<iframe")


@pytest.fixture(scope="module")
def outputs() -> dict[str, dict[str, Any]]:
    """Return what each cell shows, by kind; one kernel runs them in turn."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code.strip()) for code in CELLS.values()])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = {}
    for name, cell in zip(CELLS, notebook.cells, strict=True):
        results = [output["data"] for output in cell["outputs"] if "data" in output]
        streams = "".join(output["text"] for output in cell["outputs"] if output.get("name") == "stdout")
        shown[name] = {"streams": streams} | {kind: data for result in results for kind, data in result.items()}
    return shown


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_has_at_most_three_lines(name: str) -> None:
    assert len(CELLS[name].strip().splitlines()) <= 3


def test_a_comparison_is_a_frame(outputs: dict[str, dict[str, Any]]) -> None:
    shown = outputs["compare two strategies on five prompts"]
    assert shown["text/html"].count("<tr") == 1 + 10
    for column in ("strategy", "reward", "reward_normalised", "rules_broken", "god_steps", "forwards", "reward_calls"):
        assert f"<th>{column}</th>" in shown["text/html"]


@pytest.mark.parametrize("name", ["confidence curves of two positions of a step", "plot its order"])
def test_a_picture_is_shown(name: str, outputs: dict[str, dict[str, Any]]) -> None:
    picture = base64.b64decode(outputs[name]["image/png"])
    assert picture.startswith(b"\x89PNG") and len(picture) > 10_000


def test_a_trace_is_a_tidy_frame(outputs: dict[str, dict[str, Any]]) -> None:
    shown = outputs["a tidy frame of step, position and word"]["text/html"]
    assert re.search(r"<td>0</td>\s*<td>\d+</td>\s*<td>\w+</td>", shown)


def test_a_decode_can_be_scrubbed(outputs: dict[str, dict[str, Any]]) -> None:
    frame = outputs["scrub a decode"]["text/html"]
    page = html.unescape(frame)
    assert frame.lstrip().startswith("<iframe") and 'type="range"' in page and "overtake" not in page
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page


def test_objects_say_what_they_are_in_a_line(outputs: dict[str, dict[str, Any]]) -> None:
    shown = outputs["the objects themselves"]
    assert shown["text/plain"].startswith("Trace(rws:8 on mini: 64 tokens in 32 steps, GOD ")
    assert len(shown["text/plain"]) <= 120 and "\n" not in shown["text/plain"]
    assert "accountant" in shown["text/html"] and "rules broken" in shown["text/html"]
    assert len(shown["streams"]) < 500 and "HFMaskPredictor('mini'" in shown["streams"]
