"""What CONTRIBUTING, guides and ARCHITECTURE promise to who changes the code: one file, one line; few files to read."""

import ast
import os
import re
import shutil
import subprocess
import sys
import trace
from collections.abc import Callable
from functools import partial
from pathlib import Path

import mutants
import numpy as np
import pytest
from documented_commands import ROOT, section
from hypothesis import given

from rws_decode import RWS, CallablePredictor, CallableReward, Shape, decode
from rws_theory import max_probability, testing

RECIPES = ("docs/guides/add-strategy.md", "docs/guides/add-study.md")
TEXT = "".join((ROOT / name).read_text(encoding="utf-8") for name in RECIPES)
# What stands beside the path from a prompt to its trace: models, arguments and what they may be, counts, checks, and
# what the final text is worth.
BESIDE = {
    *("rws_decode/canvas/end_of_text.py", "rws_decode/text/dialogue.py", "rws_decode/trace/data.py"),
    *("rws_decode/common/arguments.py", "rws_decode/common/threads.py", "rws_decode/settings.py"),
    *("rws_decode/step/rounding.py", "rws_decode/step/completion.py", "rws_decode/strategies/protocol.py"),
    *("rws_decode/trace/trace.py", "rws_decode/step/diagnose.py", "rws_decode/job.py"),
    *("rws_decode/trace/checks.py", "rws_decode/strategies/table.py", "rws_decode/final_text.py"),
    "rws_decode/common/plugins.py",
}


USED = """
from rws_decode.strategies.table import as_strategy

assert as_strategy("above-mean").decay == 0.0 and as_strategy("above-mean:0.5") == as_strategy("above-mean", decay=0.5)
try:
    as_strategy("above-mean:much")
except ValueError as error:
    print(error)
"""

# The test of every exhibit and that of the guide's table, with the section's row in it.
TESTED = """
import test_every_exhibit as every, test_readme
every.test_it_is_whole_and_names_the_run_that_it_lacks("how_sure", every.Path("runs"), every.Path("tested"))
test_readme.page = lambda name, page=test_readme.page: page(name) + row
test_readme.test_every_experiment_and_figure_is_in_its_table()
"""


def python_of(title: str) -> list[str]:
    return re.findall(
        r"```python\n(.*?)```", section(RECIPES[title == "Add a figure or a table"], title), flags=re.DOTALL
    )


def test_contributing_is_short_and_opens_with_three_commands() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    words = len(text.split())
    assert words <= 900, (
        f"shorten CONTRIBUTING.md to 900 words, it has {words}: a guide of docs/guides may say the rest"
    )
    assert len(text.split("\n\n")[1].splitlines()) == 3 and text.split("\n\n")[1].startswith("    make env")


@pytest.fixture(scope="module")
def overlaid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of packages to which a strategy and a figure were added; the rest is linked."""
    folder = tmp_path_factory.mktemp("overlaid")
    (folder / "rws_theory").symlink_to(ROOT / "rws_theory")
    for path in [*(ROOT / "rws_decode").iterdir(), *(ROOT / "paper_figures").iterdir()]:
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True)
        if path.name in ("strategies", "exhibits"):
            (shutil.copytree if path.is_dir() else shutil.copy)(path, copy)
        elif path.name != "__pycache__":
            copy.symlink_to(path)
    file, line, test = python_of("Add a strategy")
    (figure,) = python_of("Add a figure or a table")
    (folder / "paper_figures/exhibits/how_sure.py").write_text(figure, encoding="utf-8")
    (folder / "test_above_mean.py").write_text(test, encoding="utf-8")
    table = folder / "rws_decode/strategies/table.py"
    (folder / "rws_decode/strategies/above_mean.py").write_text(file, encoding="utf-8")
    written, after = table.read_text(encoding="utf-8"), '"left-to-right": Entry'
    table.write_text(written.replace(after, f"{line.strip()}\n        {after}"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def output(overlaid: Path) -> str:
    """Return what the tests, the uses and the commands print, in one process: all load PyTorch and a model."""
    (command,) = re.findall(r"^    (?:rws|python -m rws_decode) (.*above-mean.*)$", TEXT, re.MULTILINE)
    (name,) = re.findall(r"^def (test_\w+)", (overlaid / "test_above_mean.py").read_text("utf-8"), re.MULTILINE)
    script = f"import test_above_mean\ntest_above_mean.{name}()\n{USED}from rws_decode.__main__ import main\n"
    for words in ([*command.split(), "--json"], ["strategies"]):
        script += f"main({words!r})\n"
    (row,) = re.findall(r"^\| `how_sure` \| [^|]+ \|$", TEXT, re.MULTILINE)
    (command,) = re.findall(r"^    (?:rws figures|python -m paper_figures) (how_sure .*)$", TEXT, re.MULTILINE)
    tests = [str(ROOT / "tests" / name) for name in ("support", "figures", "project")]
    script += f"import sys\nsys.path += {tests}\nrow = {row!r}\n{TESTED}"
    script += f"from paper_figures.__main__ import main as drawing\nassert drawing({command.split()!r}) == 0\n"
    script += "main(['generate', '--help'])"  # which ends the process
    environment = {**os.environ, "PYTHONPATH": str(overlaid), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", script], cwd=overlaid, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_a_strategy_is_one_file_and_one_line(output: str) -> None:
    refused, answer = output.splitlines()[:2]
    assert refused == "strategy is 'above-mean:much': a number is needed after the colon, as in above-mean:0"
    assert '"commit_step"' in answer
    assert "[--decay LOGITS]" in output
    assert "above-mean: logits lost per position (at least 0; default: 0)" in " ".join(output.replace("│", " ").split())


@pytest.mark.long
@pytest.mark.usefixtures("output")
def test_a_figure_is_one_file(overlaid: Path) -> None:
    assert len(python_of("Add a figure or a table")[0].splitlines()) <= 20
    assert (overlaid / "out" / "index.html").is_file() and (overlaid / "out" / "figures" / "how_sure.png").is_file()


def test_a_property_is_a_test_with_the_shared_inputs() -> None:
    (property_,) = python_of("Add a property")
    names = {"given": given, "np": np, "testing": testing, "max_probability": max_probability}
    exec(compile(property_, RECIPES[0], "exec"), names)
    names["test_no_position_is_less_sure_than_chance"]()


SPANS = (ast.ClassDef, ast.FunctionDef)


def executed(call: Callable[[], object]) -> dict[str, set[int]]:
    """Return the lines that a call runs, by file of the decoder, those of the model and its checkpoint left out."""
    before, tracer = sys.gettrace(), trace.Trace(count=True, trace=False)
    tracer.runfunc(call)
    sys.settrace(before)
    lines: dict[str, set[int]] = {}
    for path, line in tracer.results().counts:
        name = path.removeprefix(f"{ROOT}/")
        if name.startswith("rws_decode/") and not name.startswith(("rws_decode/predictors/", "rws_decode/rewards/")):
            lines.setdefault(name, set()).add(line)
    return lines


def lines_to_read(path: Path, ran: set[int]) -> int:
    """Return the lines of a file's classes, and of those of its functions that ran, docstrings counted."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    spans = {node: range(node.lineno, (node.end_lineno or 0) + 1) for node in ast.walk(tree) if isinstance(node, SPANS)}
    functions = {node for node in spans if isinstance(node, ast.FunctionDef)}
    idle = {line for node in functions if ran.isdisjoint(spans[node][1:]) for line in spans[node]}
    return len({line for node in spans for line in spans[node]} - idle)


def test_few_files_take_a_prompt_to_its_trace() -> None:
    """Every file that runs in a second decode is one that ARCHITECTURE lists, or a model; its counts hold."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text[text.index("## Read one decode") : text.index("## Where to look")]
    listed = re.findall(r"^\| `(rws_decode/\S+)` \|", section, re.MULTILINE)
    read, files, run = map(int, re.findall(r"\*\*(\d+)\*\*", section.replace(",", "")))
    assert len({*listed, *BESIDE}) == files <= 24 and read <= 900 and len(text.split()) <= 900

    predictor = CallablePredictor(lambda canvas: canvas[..., None] * 0.0 + 1.0, mask_id=9, decode=str)
    predictor._encode = lambda text: [1]
    reward = CallableReward(lambda prompt, answer: 1.0)
    ran: dict[str, set[int]] = {}
    for how in (("default", Shape(8, 8, 8)), (RWS(8.0), Shape(2, 2, 2))):
        call = partial(decode, predictor, ["a"], *how, reward=reward if isinstance(how[0], RWS) else None)
        call()
        ran = executed(call)
        if how[0] == "default":
            assert sum(map(len, ran.values())) <= run
    assert set(ran) == {*listed, *BESIDE}
    assert sum(lines_to_read(ROOT / name, ran[name]) for name in listed) == read


def test_each_fault_of_make_mutants_can_be_planted_once() -> None:
    faults = mutants.faults()
    assert len({fault.name for fault in faults}) == len(faults) >= 60
    sources = {package: mutants.sources(ROOT, package) for package in {fault.package for fault in faults}}
    for fault in faults:
        path, before, after = mutants.place_of(fault, sources[fault.package])
        assert before != after and mutants.tests_of(fault, ROOT), fault.name
        if path.suffix == ".py":
            compile(after, str(path), "exec")
