"""What a notebook needs at most three lines for: frames, curves, a decode to scrub, its order; run in a kernel."""

from __future__ import annotations

import base64
import html
import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

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
