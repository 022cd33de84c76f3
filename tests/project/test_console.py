"""The console command `rws`: every command of the three packages, and those that other packages add."""

from __future__ import annotations

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
from rws_theory.__main__ import COMMANDS as THEORY
from rws_theory.__main__ import main as theory
from rws_theory.commands.line import Command

# Those that entry points add to the decoder's, and that no other table holds.
ADDED = ("bench",)
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


def test_bare_it_prints_a_help_with_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(rws, [], capsys)
    assert (status, err) == (0, "")
    assert outcome(rws, ["--help"], capsys) == (0, out, "")
    for name in (*DECODING, *THEORY, *FIGURES, *ADDED):
        assert f"\n    {name}" in out, name


@pytest.mark.parametrize("main", [rws, theory, decoding, figures])
def test_version_is_that_of_the_package(main: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(main, ["--version"], capsys) == (0, f"{rws_theory.__version__}\n", "")


@pytest.mark.parametrize("main", [theory, decoding])
def test_a_module_called_bare_prints_its_help(main: Any, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(main, [], capsys)
    assert (status, err) == (0, "") and out.startswith("usage: python -m rws_")


def test_no_name_is_taken_twice() -> None:
    assert len({*DECODING, *THEORY, *FIGURES, *ADDED}) == sum(map(len, (DECODING, THEORY, FIGURES, ADDED)))


@pytest.mark.parametrize(("main", "words"), [(theory, LOGITS), (decoding, STORY)], ids=["theory", "decoding"])
def test_its_output_is_that_of_the_module(main: Any, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(main, words, capsys)
    assert status == 0 and out.startswith("{") and outcome(rws, words, capsys) == (status, out, err)


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (decoding, ["generate", "--prompt", "a", "--length", "7", "--block", "2"]),
        (theory, ["crossings", "[1]", "[]"]),
        (figures, ["figures", "table1"]),
        (figures, ["experiment", "controls"]),
    ],
    ids=["generate", "crossings", "figures", "experiment"],
)
def test_bad_input_is_the_same_line(main: Any, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(rws, words, capsys)
    assert (status, out, err.count("\n")) == (2, "", 1) and err.startswith(f"rws {words[0]}")
    assert outcome(main, words, capsys)[2].split(": ", 1)[1] == err.split(": ", 1)[1]


def test_the_figures_command_is_the_module_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = outcome(figures, ["--help"], capsys)
    assert status == 0 and "--runs DIR" in out
    further = "".join(out.partition("commands:")[2].split())  # a line may end within a name
    assert all(name in further for name in FIGURES if name != "figures")
    assert (
        outcome(rws, ["figures", "--help"], capsys)[1].split() == out.replace("python -m paper_figures", "rws").split()
    )


@pytest.mark.parametrize(
    ("line", "offered"),
    [("rws gen", "generate "), ("rws generate --rank", "--ranking "), ("rws experiment rea", "reach ")],
)
def test_a_shell_completes_it(line: str, offered: str, tmp_path: Path) -> None:
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    asked |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "offered"), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", "from paper_figures.__main__ import rws; rws()"]
    subprocess.run(words, env=os.environ | asked, check=True, capture_output=True)
    assert (tmp_path / "offered").read_text(encoding="utf-8") == offered


# What is typed.


def test_words_that_the_model_does_not_know_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--length", "8", "--steps", "4", "--block", "8"]
    assert decoding(["generate", "--prompt", "Why is the sky blue?", *small]) == 0
    assert capsys.readouterr().err == "note: mini does not know these words and reads each as unknown: is sky blue?\n"
    assert decoding(["generate", "--prompt", " ".join(f"word{n}" for n in range(12)), *small]) == 0
    assert " word6 word7 and 4 more\n" in capsys.readouterr().err
    assert (
        decoding(
            ["generate", "--prompt", "write a short science story with meteor , lenses , crater and brave .", *small]
        )
        == 0
    )
    assert capsys.readouterr().err == ""


def test_an_option_may_be_shortened_and_a_prompt_may_look_like_one() -> None:
    small = ["--len", "8", "--steps", "4", "--block", "8", "--json"]
    assert decoding(["generate", "--prompt", "--write a story .", *small]) == 0
    assert decoding(["generate", "--prompt=--write", *small]) == 0


# Commands of entry points.


def test_the_benches_are_a_command_that_a_package_adds(capsys: pytest.CaptureFixture[str]) -> None:
    for name, option in zip(ADDED, ("--shape",), strict=True):
        assert name not in DECODING
        for main, prog in ((rws, "rws"), (decoding, "python -m rws_decode")):
            status, out, _ = outcome(main, [name, "--help"], capsys)
            assert status == 0 and out.startswith(f"usage: {prog} {name} ") and option in out
            assert outcome(main, [name, "--prompts", "0"], capsys)[2].startswith(f"{prog} {name}: --prompts is 0")


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


# As a process.


def test_it_is_installed_and_help_waits_for_no_large_library() -> None:
    script = Path(sys.executable).with_name("rws")
    if script.exists():
        completed = subprocess.run([script, *LOGITS], capture_output=True, text=True, check=True, timeout=120)
        assert completed.stdout.startswith('{"dimension": 3')
    words = [
        [],
        *([name, "--help"] for name in (*DECODING, *THEORY, *FIGURES, *ADDED)),
        ["experiment", "controls", "-h"],
    ]
    code = """
import sys
from paper_figures.__main__ import rws
for words in {words!r}:
    try:
        rws(words)
    except SystemExit as stop:
        assert stop.code == 0
    large = {{"torch", "transformers", "tokenizers", "numpy", "scipy", "flint", "pandas", "matplotlib", "pyarrow"}}
    large &= set(sys.modules)
    assert not large, (words, large)
"""
    subprocess.run([sys.executable, "-c", code.format(words=words)], cwd=ROOT, check=True, capture_output=True)
