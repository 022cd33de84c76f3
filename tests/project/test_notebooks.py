"""Notebooks run, are paired with their sources, and keep nothing of the machine they ran on."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
import pytest
import torch
from jupyter_client import AsyncKernelManager, BlockingKernelClient
from jupyter_core.utils import run_sync

from rws_decode import CallablePredictor, Page, Shape, Temperature, decode

FOLDER = Path(__file__).parents[2] / "notebooks"
sys.path.insert(0, str(FOLDER))

import refresh  # noqa: E402
from refresh import differences, execute, main, pairs, reasons, stale, strip  # noqa: E402

NAMES = [source.stem for source, _ in pairs()]
CONCLUSIONS = {
    "01_ranks_that_reverse": [
        "with the sign of (b) mended, is false of **3 of 4** pairs; with the sign as printed, of 4.",
        "proved to be listed",
        "**true of all of them**",
        "None of 600 refutes the corrected statement",
    ],
    "02_tilting_is_not_scaling": [
        "with $r$ for **3 of 3** rewards; with $c$ for **1 of 3** (on the likely word)",
        "**0.3808** against **0.2100**",
        "completion was **the same** at all",
        "from 4/7 to 1/3, and the output's reward from 1 to 0 (proved",
        "RWS is ahead in **0**; behind in **0**",
    ],
    "03_one_decode_step_by_step": [
        "in one step is **where**, not what",
        "the same** tokens in the same order",
        "agrees at every step",
    ],
    "04_temperature_against_reward": [
        "3 answers over all temperatures, 3 over all reward scales, 3 of them shared",
        "**1** that only temperature reaches and **3** that only RWS reaches, **proved**",
    ],
    "05_what_rounding_does": [
        "log-odds of **6.2** in bfloat16, 16.6 in float32",
        "makes the text **more** left to right",
        "the interval leaves out 0",
    ],
    "06_reading_your_own_traces": ["recorded values: **yes**", "for 1 of 1 the crossing is **proved**"],
    "08_does_the_order_matter": [
        "the order **does not matter**",
        "Two tokens at a time it does",
        "its conditionals are of **no** distribution",
    ],
    "09_what_can_be_proved": [
        "the distance from the law is **0** in every",
        "of **no** joint law",
        "yet a is **never**",
        "**31 of 31** exact intervals are certified",
        "above a threshold **never falls**",
        "The first reward **never falls**, the second from\n   0.200 (1/5) to 0.059 (1/17)",
    ],
    "07_the_papers_tables_and_ours": [
        "**450**, the only one below 900",
        "needs 321 prompts",
        "Of 22 claims about the tables, **11**",
    ],
    "10_did_the_reward_matter": [
        "Of both paths **RWS 8** is nearest",
        "is 3.7 nats **nearer**",
        "keeps **97%** of the gain",
        "more than all three controls in **1 of 16**",
        "**2** texts of the frontier have more reward than that of RWS 8",
        "**4 of 4** measures can find a margin",
        "the reward was **seldom** seen to matter",
    ],
    "11_what_is_an_order_worth": [
        "One word a step: **0** in every order",
        "confidence order is **2.9 times** as far from p",
        "**16%** of its divergence is left",
        "It is then nearer than random order",
        "+0.05 [-0.53, +0.62] nats",
        "**hold** 0",
    ],
    "12_a_real_network_antibodies": [
        "**58 of 64** residues",
        "by **+0.04**, and s_R = 4 by +0.00",
        "**2 of 2** scales RWS writes what the constant",
        "by **+3.09**, to -8.25",
        "**0** of\n   these chains are read as human",
    ],
}


@pytest.fixture(scope="module", autouse=True)
def _quiet_kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # Kernels share the cores with other tests, and leave no history in the user's home.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        yield


@pytest.fixture(scope="module")
def kernel() -> Iterator[AsyncKernelManager]:
    """Yield one kernel for the lessons, so that libraries are loaded once."""
    manager = AsyncKernelManager(kernel_name="python3")
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


def forget_names(kernel: AsyncKernelManager) -> None:
    """Leave a kernel as one that has just begun, but for the libraries that it has loaded."""
    client = BlockingKernelClient(connection_file=kernel.connection_file)
    client.load_connection_file()
    client.start_channels()
    client.execute_interactive("get_ipython().reset()", silent=True, timeout=60)
    client.stop_channels()


@pytest.mark.parametrize("name", NAMES)
def test_it_is_paired_and_was_executed(name: str) -> None:
    assert stale(FOLDER / f"{name}.py", FOLDER / f"{name}.ipynb") is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_it_runs_and_comes_to_its_conclusion(name: str, kernel: AsyncKernelManager) -> None:
    notebook = execute(FOLDER / f"{name}.py", kernel=kernel)
    forget_names(kernel)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert "image/png" in json.dumps(code)
    conclusion = code[-1].outputs[-1].data["text/markdown"]
    assert [words for words in CONCLUSIONS[name] if words not in conclusion] == []
    assert reasons(FOLDER / f"{name}.py", FOLDER / f"{name}.ipynb", notebook) == []


@pytest.mark.parametrize("name", NAMES)
def test_it_tells_nothing_about_a_machine(name: str) -> None:
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    shown = json.dumps([cell.get("outputs", []) for cell in notebook.cells if "outputs" in cell])
    shown = re.sub(r'"image/png": "[^"]*"', "", shown)
    assert not re.search(r"/(home|root|tmp|usr|work)/|[A-Z]:\\\\|\d{4}-\d\d-\d\d|stderr", shown)
    assert strip(nbformat.reads(text, as_version=4)) == notebook


def test_a_changed_source_is_stale(tmp_path: Path) -> None:
    source, notebook = tmp_path / "01.py", tmp_path / "01.ipynb"
    source.write_text("# %%\n1 + 1\n")
    assert stale(source, notebook) == "missing"
    stripped = strip(jupytext.read(source))
    nbformat.write(stripped, notebook)
    assert stale(source, notebook) == "not executed"
    stripped.cells[0].execution_count = 1
    nbformat.write(stripped, notebook)
    assert stale(source, notebook) is None
    source.write_text("# %%\n1 + 2\n")
    assert stale(source, notebook) == "its cells differ from the source"


def _shown(*texts: str, picture: bytes | None = None) -> nbformat.NotebookNode:
    """A notebook with one cell that shows these texts, and a picture."""
    outputs = [nbformat.v4.new_output("display_data", {"text/markdown": text}) for text in texts]
    if picture is not None:
        outputs.append(nbformat.v4.new_output("display_data", {"image/png": picture.hex(), "text/plain": "<Figure>"}))
    cell = nbformat.v4.new_code_cell("1 + 1", execution_count=1, outputs=outputs)
    return strip(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# one"), cell]))


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
    ],
)
def test_texts_are_equal_but_for_rounding(kept: str, executed: str, same: bool) -> None:
    changes = differences(_shown(kept), _shown(executed))
    assert (changes == []) == same
    assert all(line.startswith("cell 1: kept ") and "executed" in line for line in changes)


@pytest.mark.parametrize(
    ("kept", "executed", "same"),
    [
        ('[0.00012,8.25,"Infinity"]', "[-0.0003,8.251,15.9]", True),
        ("[0.5,8.25]", "[0.5]", False),
        ("stays the same", "changes", False),
    ],
)
def test_of_what_a_page_draws_words_and_counts_are_compared(kept: str, executed: str, same: bool) -> None:
    changes = differences(*(_shown(Page(f"<p>{text}</p>")._repr_html_()) for text in (kept, executed)))
    assert (changes == []) == same
    assert differences(_shown("0.00012"), _shown("-0.0003")) != []


def test_a_difference_is_shown_where_it_is() -> None:
    long = "agreed " * 40
    (line,) = differences(_shown(long + "on 2.5 nats"), _shown(long + "on 2.6 nats"))
    assert "on 2.5 nats" in line and "on 2.6 nats" in line and len(line) < 160


def test_pictures_count_by_being_there() -> None:
    assert differences(_shown("a", picture=b"one"), _shown("a", picture=b"other")) == []
    assert differences(_shown("a", picture=b"one"), _shown("a")) != []
    assert differences(_shown("a", "b"), _shown("a")) != []


def test_the_command_writes_what_was_stale_and_fails_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, source in (("01_sum", "# %%\n1 + 1\n"), ("02_data", "# %%\nread()\n")):
        (tmp_path / f"{name}.py").write_text(source)
    says = {"01_sum": "2", "02_data": "0.50 and 7"}
    ran = []

    def run(source: Path, timeout: int = 300) -> nbformat.NotebookNode:
        ran.append(source.stem)
        notebook = jupytext.read(source)
        notebook.cells[0].execution_count = 1
        notebook.cells[0].outputs = [nbformat.v4.new_output("stream", name="stdout", text=says[source.stem])]
        return strip(notebook)

    monkeypatch.setattr(refresh, "execute", run)

    def command(*argv: str) -> tuple[int, str]:
        return main(argv, tmp_path), capsys.readouterr().err

    assert command("--check")[0] == 1 and not list(tmp_path.glob("*.ipynb"))
    assert command()[0] == 1 and len(list(tmp_path.glob("*.ipynb"))) == 2
    before = {path: path.read_bytes() for path in tmp_path.glob("*.ipynb")}
    assert command()[0] == command("--check")[0] == 0
    says["02_data"] = "0.50 and 8"  # the source is the same: what it reads is not
    status, err = command("--check")
    assert status == 1 and "02_data.ipynb: is stale: cell 0: kept '0.50 and 7', executed '0.50 and 8'" in err
    assert {path: path.read_bytes() for path in tmp_path.glob("*.ipynb")} == before
    ran.clear()
    assert command("01")[0] == 0 and ran == ["01_sum"]
    status, err = command()
    assert status == 1 and "02_data.ipynb: was stale" in err and "1 of 2 notebooks were up to date" in err
    assert "and 8" in (tmp_path / "02_data.ipynb").read_text() and command()[0] == 0
    with pytest.raises(SystemExit) as refused:
        main(["3"], tmp_path)
    assert refused.value.code == 2 and "01_sum, 02_data" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_cell_that_fails_keeps_the_notebook_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "01_fails.py").write_text("# %%\nprint(1)\n\n# %%\n1 / 0\n")
    (tmp_path / "01_fails.ipynb").write_text("{}")
    assert main([], tmp_path) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err and (tmp_path / "01_fails.ipynb").read_text() == "{}"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_trace_of_another_model_is_read_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = torch.randn(12, 50, generator=torch.Generator().manual_seed(0))
    predictor = CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=49)
    (trace,) = decode(predictor, [[1, 2]], Temperature(3.0), Shape(length=10, steps=5, block=10))
    monkeypatch.setenv("RWS_TRACE", str(trace.save(tmp_path / "mine.parquet")))
    code = [cell for cell in execute(FOLDER / "06_reading_your_own_traces.py").cells if cell.cell_type == "code"]
    conclusion = code[-1].outputs[-1].data["text/markdown"]
    assert conclusion.count("**yes**") == 3 and "no second trace was given" in conclusion
    assert "for 10 tokens in 5 steps" in conclusion
    texts = "".join(output.get("text", "") for cell in code for output in cell.outputs)
    assert " ".join(map(str, trace.candidate[0].tolist())) in texts
