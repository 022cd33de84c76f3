"""What readers do with the lessons: drag their sliders, and give them traces and runs of their own."""

from __future__ import annotations

import sys
import textwrap
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ipywidgets
import jupytext
import numpy as np
import pytest
import torch

from rws_decode.decode import decode
from rws_decode.predictors import CallablePredictor
from rws_decode.settings import Shape
from rws_decode.strategies.factors import Temperature

FOLDER = Path(__file__).parents[2] / "notebooks"
sys.path.insert(0, str(FOLDER))

from refresh import execute  # noqa: E402

LESSONS = {
    "ranks": "01_ranks_that_reverse",
    "tilting": "02_tilting_is_not_scaling",
    "decode": "03_one_decode_step_by_step",
    "temperature": "04_temperature_against_reward",
    "rounding": "05_what_rounding_does",
    "traces": "06_reading_your_own_traces",
    "tables": "07_the_papers_tables_and_ours",
}


def _panel(name: str, **given: Any) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return a lesson's controls, and the list of what they asked to be shown."""
    (cell,) = [cell.source for cell in jupytext.read(FOLDER / f"{name}.py").cells if "def panel" in cell.source]
    shown: list[tuple[Any, ...]] = []
    names = {"widgets": ipywidgets, "np": np, "display": lambda *_: None, "show": lambda *args: shown.append(args)}
    names |= given
    exec(cell, names)
    shown.clear()
    return names["panel"]().children, shown


def test_the_sliders_of_ranks_that_reverse_redraw_what_they_say() -> None:
    lesson = jupytext.read(FOLDER / f"{LESSONS['ranks']}.py")
    cells = [cell.source for cell in lesson.cells if cell.cell_type == "code"]
    names: dict[str, Any] = {"display": lambda *_: None}
    for cell in cells:
        if "def " in cell:
            exec(cell.replace("display(panel())", ""), names)
    drawn: list[tuple[Any, ...]] = []
    names["show"] = lambda *arguments: drawn.append(arguments)
    choice, count, columns, _ = names["panel"]().children
    flips = [[Fraction(u) for u in gaps.split()] for gaps in names["PAIRS"]["both flips"]]
    assert [list(row) for row in drawn[-1][:2]] == flips
    columns.children[0].children[1].value = 3.05
    assert list(drawn[-1][0]) == [1, Fraction(61, 20), Fraction(7, 2)]
    count.value = 2
    assert [len(row) for row in drawn[-1][:2]] == [2, 2] and columns.children[1].children[2].layout.display == "none"
    choice.value = "three crossings below 1"
    assert drawn[-1][1] == [Fraction(u) for u in ("5/4", "13/4", "7/2", "5", "9")] and count.value == 5


def test_the_sliders_of_tilting_redraw_what_they_say() -> None:
    rewards = {"on the middle word": (0, 1, 0)}
    given = {"WORDS": ("likely", "middle", "rare"), "WEIGHTS": (8, 4, 1), "REWARDS": rewards}
    (columns, _), shown = _panel(LESSONS["tilting"], **given)
    assert shown == [([8, 4, 1], [0, 1, 0], 2, 3)]
    strengths, weights, values = (column.children for column in columns.children)
    strengths[0].value, strengths[1].value, weights[2].value, values[0].value = 0.5, 0.1, 20, -1
    assert shown[-1] == ([8, 4, 20], [-1, 1, 0], 0.5, 0.1)


def test_the_slider_of_rounding_redraws_its_scale() -> None:
    (scale, _), shown = _panel(LESSONS["rounding"])
    assert shown == [(8.0,)]
    scale.value = 32.0
    assert shown[-1] == (32.0,)


def test_the_sliders_of_a_decode_try_other_factors_at_every_step() -> None:
    rws = SimpleNamespace(steps=3, factor=np.array([2.0, 4.0, 8.0]), canvas=[[0, 0], [5, 0], [5, 7]])
    given = {"step": 1, "rws": rws, "textwrap": textwrap, "words": str}
    (step, factor, _), shown = _panel(LESSONS["decode"], **given)
    assert shown == [(1, 4.0)] and (step.min, step.max) == (0, 2)
    step.value = 2
    factor.value = 0.5
    assert shown[1:] == [(2, 4.0), (2, 0.5)]


def test_the_scale_s_slider_stays_within_the_paths() -> None:
    axes = {"temperature": None, "reward-scale": None}
    (which, over, scale, _), shown = _panel(LESSONS["temperature"], prompts={0: 0, 18: 0}, AXES=axes, LOW=0.01, HIGH=32)
    assert shown == [(18, "temperature", 1.0)]
    which.value = 0
    over.value = "reward-scale"
    scale.value = 2.0
    assert shown[-1] == (0, "reward-scale", 2.0)
    scale.value = scale.base**scale.max
    assert shown[-1] == (0, "reward-scale", 32)


def test_the_step_s_slider_covers_the_steps_run() -> None:
    (step, _), shown = _panel(LESSONS["traces"], trace=SimpleNamespace(steps_run=7))
    assert (step.min, step.max) == (0, 6)
    step.value = 6
    assert shown == [(0,), (6,)]


def test_the_sliders_of_shares_and_prompts_retell() -> None:
    printed = {"win": 55.8, "default_win": 40.2}
    (win, loss, n, _), shown = _panel(LESSONS["tables"], smallest=printed)
    win.value = 70.0
    loss.value = 20.0
    n.value = 25
    assert shown[0] == (55.8, 40.2, 100) and shown[-1] == (70.0, 20.0, 25)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_trace_of_another_model_is_read_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = torch.randn(12, 50, generator=torch.Generator().manual_seed(0))
    predictor = CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=49)
    (trace,) = decode(predictor, [[1, 2]], Temperature(3.0), Shape(length=10, steps=5, block=10))
    monkeypatch.setenv("RWS_TRACE", str(trace.save(tmp_path / "mine.parquet")))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    code = [cell for cell in execute(FOLDER / f"{LESSONS['traces']}.py").cells if cell.cell_type == "code"]
    conclusion = code[-1].outputs[-1].data["text/markdown"]
    assert conclusion.count("**yes**") == 3 and "no second trace was given" in conclusion
    assert "for 10 tokens in 5 steps" in conclusion
    texts = "".join(output.get("text", "") for cell in code for output in cell.outputs)
    assert " ".join(map(str, trace.candidate[0].tolist())) in texts
