"""Notebooks run, are paired with their sources, show little code, and keep nothing of the machine they ran on."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
import pytest
import torch
from jupyter_client import BlockingKernelClient
from jupyter_client.channels import HBChannel
from jupyter_core.utils import run_sync

from rws_decode import CallablePredictor, Page, Shape, Temperature, decode

FOLDER = Path(__file__).parents[2] / "notebooks"
sys.path.insert(0, str(FOLDER))

import refresh  # noqa: E402
from refresh import Kernel, differences, execute, main, pairs, reasons, stale, strip  # noqa: E402

NAMES = [source.stem for source, _ in pairs()]
# Lines of code, neither blank nor comments, that a reader meets.
MOST_IN_A_CELL, MOST_IN_A_NOTEBOOK = 20, 120


@pytest.fixture(scope="module", autouse=True)
def _quiet_kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # Kernels share the cores with other tests, and leave no history in the user's home. A heartbeat is an error here:
    # one that is stopped before it began opens files until none is left.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        patch.setattr(HBChannel, "start", None)
        yield


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    manager = Kernel(kernel_name="python3")
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


def run_in(kernel: Kernel, code: str) -> None:
    """Run some code in a kernel that has begun, beside its notebook."""
    client = BlockingKernelClient(connection_file=kernel.connection_file)
    client.load_connection_file()
    client.start_channels(hb=False)
    client.execute_interactive(code, silent=True, timeout=60)
    client.stop_channels()


def lesson_run(name: str, kernel: Kernel) -> nbformat.NotebookNode:
    """Execute a lesson, and leave the kernel as one that has just begun, but for the libraries that it has loaded."""
    notebook = execute(FOLDER / f"{name}.py", kernel=kernel)
    run_in(kernel, "get_ipython().reset()")
    return notebook


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_it_runs_and_gives_what_is_kept(name: str, kernel: Kernel) -> None:
    assert reasons(FOLDER / f"{name}.py", FOLDER / f"{name}.ipynb", lesson_run(name, kernel)) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_has_little_code_a_picture_first_its_conclusion_and_nothing_of_a_machine(name: str) -> None:
    assert stale(FOLDER / f"{name}.py", FOLDER / f"{name}.ipynb") is None
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert "**" in code[-1].outputs[-1].data["text/markdown"]  # its conclusion
    shown = re.sub(r'"image/png": "[^"]*"', "", json.dumps([cell.get("outputs", []) for cell in notebook.cells]))
    assert not re.search(r"/(home|root|tmp|usr|work)/|[A-Z]:\\\\|\d{4}-\d\d-\d\d|stderr", shown)
    assert strip(nbformat.reads(text, as_version=4)) == notebook
    lines = [len(re.findall(r"^ *[^#\s].*$", cell.source, re.MULTILINE)) for cell in code]
    assert max(lines) <= MOST_IN_A_CELL and sum(lines) <= MOST_IN_A_NOTEBOOK
    assert "ipywidgets" not in text  # what it shows needs no kernel
    outputs = [output.get("data", {"text": ""}) for cell in notebook.cells for output in cell.get("outputs", [])]
    # A line of text may name what the picture is of.
    first = outputs[1] if set(outputs[0]) <= {"text/markdown", "text/plain"} else outputs[0]
    assert "image/png" in first or first.get("text/html", "").startswith("<iframe")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_trace_of_another_model_is_read_without_it(kernel: Kernel, tmp_path: Path) -> None:
    table = torch.randn(12, 50, generator=torch.Generator().manual_seed(0))
    predictor = CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=49)
    (trace,) = decode(predictor, [[1, 2]], Temperature(3.0), Shape(length=10, steps=5, block=10))
    saved = str(trace.save(tmp_path / "mine.parquet"))
    (tmp_path / "begin.py").write_text(f"# %%\nimport os\nos.environ['RWS_TRACE'] = {saved!r}\n")
    execute(tmp_path / "begin.py", kernel=kernel)
    code = [cell for cell in lesson_run("06_reading_your_own_traces", kernel).cells if cell.cell_type == "code"]
    run_in(kernel, "import os; del os.environ['RWS_TRACE']")
    conclusion = " ".join(code[-1].outputs[-1].data["text/markdown"].split())
    assert conclusion.count("**yes**") == 3 and "no second trace was given" in conclusion
    assert "for 10 tokens in 5 steps" in conclusion
    texts = "".join(output.get("text", "") for cell in code for output in cell.outputs)
    assert " ".join(map(str, trace.candidate[0].tolist())) in texts


@pytest.mark.parametrize(
    ("kept", "executed", "same"),
    [
        ("falls from 0.3333 to 1.2e-05", "falls from 0.3334 to 1.2001e-05", True),
        ("0.3333 of 4", "0.3343 of 4", False),
        ("**2 of 4** pairs", "**3 of 4** pairs", False),
        ("8015581184", "8015581185", False),
        ("-0.25 nats", "+0.25 nats", False),
        ("rises, 1.5", "falls, 1.5", False),
        ("1.5 and 2.5", "1.5", False),
        ("1.5", "1.5 and 2.5", False),
        # Of what a page draws, words and counts alone.
        (Page('<p>[0.00012,8.25,"Infinity"]</p>'), Page("<p>[-0.0003,8.251,15.9]</p>"), True),
        (Page("<p>[0.5,8.25]</p>"), Page("<p>[0.5]</p>"), False),
        (Page("<p>stays the same</p>"), Page("<p>changes</p>"), False),
        ("0.00012", "-0.0003", False),
    ],
)
def test_texts_are_equal_but_for_rounding(kept: str | Page, executed: str | Page, same: bool) -> None:
    texts = (text if isinstance(text, str) else text._repr_html_() for text in (kept, executed))
    books = []
    for text in texts:
        shown = nbformat.v4.new_output("display_data", {"text/markdown": text})
        cell = nbformat.v4.new_code_cell("1 + 1", execution_count=1, outputs=[shown])
        books.append(strip(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# one"), cell])))
    changes = differences(*books)
    assert (changes == []) == same
    assert all(line.startswith("cell 1: kept ") and "executed" in line for line in changes)


def test_the_command_writes_what_was_stale_and_fails_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "02_data.py").write_text("# %%\nread()\n")
    says = ["0.50 and 7"]

    def run(source: Path, timeout: int = 300) -> nbformat.NotebookNode:
        notebook = jupytext.read(source)
        notebook.cells[0].execution_count = 1
        notebook.cells[0].outputs = [nbformat.v4.new_output("stream", name="stdout", text=says[-1])]
        return strip(notebook)

    monkeypatch.setattr(refresh, "execute", run)

    def command(*argv: str) -> tuple[int, str]:
        return main(argv, tmp_path), capsys.readouterr().err

    assert command("--check")[0] == 1 and not list(tmp_path.glob("*.ipynb"))
    assert command()[0] == 1 and command()[0] == command("--check")[0] == 0
    before = (tmp_path / "02_data.ipynb").read_bytes()
    says.append("0.50 and 8")  # the source is the same: what it reads is not
    status, err = command("--check")
    assert status == 1 and "02_data.ipynb: is stale: cell 0: kept '0.50 and 7', executed '0.50 and 8'" in err
    assert (tmp_path / "02_data.ipynb").read_bytes() == before
    assert command("02")[0] == 1 and "and 8" in (tmp_path / "02_data.ipynb").read_text() and command()[0] == 0
    with pytest.raises(SystemExit, match="2"):
        main(["3"], tmp_path)
