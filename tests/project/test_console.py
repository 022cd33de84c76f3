"""The console command `rws`: every command of the three packages, and those that other packages add."""

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rws_theory
from paper_figures.__main__ import COMMANDS as FIGURES
from paper_figures.__main__ import main as figures
from paper_figures.__main__ import rws
from rws_decode.__main__ import COMMANDS as DECODING
from rws_decode.__main__ import GROUP
from rws_decode.__main__ import main as decoding
from rws_decode.cli.app import Command
from rws_theory.__main__ import COMMANDS as THEORY
from rws_theory.__main__ import main as theory

ADDED = "bench"  # that an entry point adds to the decoder's, and that no other table holds
NAMES = [*DECODING, *THEORY, *FIGURES, ADDED]
ROOT = Path(__file__).parents[2]
LOGITS = ["crossings", "[1.1,0.6,0.3]", "[1.0,0.4,0.4]", "--json"]
STORY = ["generate", "--prompt", "write a story .", "--length", "8", "--steps", "4", "--block", "8", "--json"]


def outcome(main: Any, words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    capsys.readouterr()
    try:
        status: object = main(list(words))
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_bare_or_asked_for_help_or_version_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(rws, [], capsys)
    assert (status, err) == (0, "")
    assert outcome(rws, ["--help"], capsys) == (0, out, "")
    for name in NAMES:
        assert f"\n    {name}" in out, name
    assert len(set(NAMES)) == len(NAMES)  # no name is taken twice
    for main in (rws, theory, decoding, figures):
        assert outcome(main, ["--version"], capsys) == (0, f"{rws_theory.__version__}\n", "")
    for main in (theory, decoding):
        status, out, err = outcome(main, [], capsys)
        assert (status, err) == (0, "") and out.startswith("usage: python -m rws_")


@pytest.mark.parametrize(("main", "words"), [(theory, LOGITS), (decoding, STORY)], ids=["theory", "decoding"])
def test_its_output_is_that_of_the_module(main: Any, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(main, words, capsys)
    assert status == 0 and out.startswith("{") and outcome(rws, words, capsys) == (status, out, err)


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (decoding, "generate --prompt a --length 7 --block 2"),
        (theory, "crossings [1] []"),
        (figures, "figures table1"),
        (figures, "experiment controls"),
    ],
)
def test_bad_input_is_the_same_line(main: Any, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(rws, words.split(), capsys)
    assert (status, out, err.count("\n")) == (2, "", 1) and err.startswith(f"rws {words.split()[0]}")
    assert outcome(main, words.split(), capsys)[2].split(": ", 1)[1] == err.split(": ", 1)[1]


def test_the_figures_command_is_the_module_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = outcome(figures, ["--help"], capsys)
    further = "".join(out.partition("commands:")[2].split())  # a line may end within a name
    assert status == 0 and "--runs DIR" in out and all(name in further for name in FIGURES if name != "figures")
    asked = outcome(rws, ["figures", "--help"], capsys)[1]
    assert asked.split() == out.replace("python -m paper_figures", "rws").split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [("rws gen", "generate "), ("rws generate --rank", "--ranking "), ("rws experiment mt", "mt-bench ")],
)
def test_a_shell_completes_it(line: str, offered: str, tmp_path: Path) -> None:
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    asked |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "offered"), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", "from paper_figures.__main__ import rws; rws()"]
    subprocess.run(words, env=os.environ | asked, check=True, capture_output=True)
    assert (tmp_path / "offered").read_text(encoding="utf-8") == offered


def test_words_that_the_model_does_not_know_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    for prompt, told in {
        "Why is the sky blue?": "note: mini does not know these words and reads each as unknown: is sky blue?\n",
        " ".join(f"word{n}" for n in range(12)): " word6 word7 and 4 more\n",
        "write a short science story with meteor , lenses , crater and brave .": "",
        "--write a story .": ": --write\n",  # as an option looks
    }.items():
        # An option may be shortened.
        status, _, err = outcome(decoding, ["generate", "--prompt", prompt, "--len", "8", *STORY[-5:]], capsys)
        assert status == 0 and told in err and bool(err) == bool(told)
    assert decoding(["generate", "--prompt=--write", "--len", "8", *STORY[-5:]]) == 0


def test_the_benches_are_a_command_that_a_package_adds(capsys: pytest.CaptureFixture[str]) -> None:
    assert ADDED not in DECODING
    for main, prog in ((rws, "rws"), (decoding, "python -m rws_decode")):
        status, out, _ = outcome(main, [ADDED, "--help"], capsys)
        assert status == 0 and out.startswith(f"usage: {prog} {ADDED} ") and "--shape" in out
        assert outcome(main, [ADDED, "--prompts", "0"], capsys)[2].startswith(f"{prog} {ADDED}: --prompts is 0")


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a package of a user's add commands: one that runs, one that is taken, and two that cannot be used."""
    package, module = ModuleType("users_package"), ModuleType("users_package_greet")
    package.__dict__.update(
        GREET=Command("users_package_greet", "greet somebody"),
        TAKEN=Command("users_package_greet", "take a name of ours"),
        TEXT="users_package_greet",
    )
    module.__dict__.update(
        add_arguments=lambda parser: parser.add_argument("name"), run=lambda args: print(f"good day, {args.name}") or 3
    )
    monkeypatch.setitem(sys.modules, "users_package", package)
    monkeypatch.setitem(sys.modules, "users_package_greet", module)
    points = {"greet": "GREET", "generate": "TAKEN", "text": "TEXT", "gone": "GONE"}
    entry_points = [EntryPoint(name, f"users_package:{value}", GROUP) for name, value in points.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entry_points if group == GROUP else [])


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("main", [rws, decoding])
def test_a_package_adds_a_command(main: Any, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = outcome(main, ["greet", "you"], capsys)
    assert (status, out) == (3, "good day, you\n")
    status, out, err = outcome(main, [], capsys)
    assert status == 0 and "greet somebody" in out and "take a name of ours" not in out
    lines = err.splitlines()
    assert len(lines) == 2 and "note: command text (users_package:TEXT) is no" in lines[0]
    assert lines[1].startswith("note: command gone (users_package:GONE) cannot be loaded: ")
    assert "(is greet meant?" in outcome(main, ["gret"], capsys)[2]


def test_it_is_installed_and_help_waits_for_no_large_library() -> None:
    script = Path(sys.executable).with_name("rws")
    if script.exists():
        completed = subprocess.run([script, *LOGITS], capture_output=True, text=True, check=True, timeout=120)
        assert completed.stdout.startswith('{"dimension": 3')
    code = f"""
import sys
from paper_figures.__main__ import rws
for words in {[[], *([name, "--help"] for name in NAMES), ["experiment", "controls", "-h"]]}:
    try:
        rws(words)
    except SystemExit as stop:
        assert stop.code == 0
    large = {{"torch", "transformers", "tokenizers", "safetensors", "rdkit", "numpy", "scipy", "flint", "pandas"}}
    large = (large | {{"matplotlib", "pyarrow"}}) & set(sys.modules)
    assert not large, (words, large)
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
