"""The console command `rws`: every command of the three packages, and those that other packages add."""

import os
import subprocess
import sys
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from command_lines import decoding, figures, outcome, rws, theory

import rws_theory
from rws_decode.cli.app import ENTRY_POINTS, GROUPS, entry_points

NAMES = [*entry_points()]
ROOT = Path(__file__).parents[2]
RWS = [sys.executable, "-c", "import sys; from rws_decode.__main__ import rws; sys.exit(rws())"]
LOGITS = ["crossings", "[1.1,0.6,0.3]", "[1.0,0.4,0.4]", "--json"]
STORY = ["generate", "--prompt", "write a story .", "--length", "8", "--steps", "4", "--block", "8", "--json"]
GREET = """GROUP = "Courtesy"


def greet(name: str, /, *, loud: bool = False) -> int:
    '''Greet somebody.'''
    print("good day,", name.upper() if loud else name)
    return 3
"""


def test_bare_or_asked_for_help_or_version_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(rws, [], capsys)
    assert (status, err) == (0, "") and outcome(rws, ["--help"], capsys) == (0, out, "")
    lines = out.splitlines()
    assert [line for line in lines if line in GROUPS] == [*GROUPS] and max(map(len, lines)) <= 80
    assert sorted(line.split()[0] for line in lines if line[:2] == "  " and line[2] != " ") == sorted(NAMES)
    for main in (rws, theory, decoding, figures):
        assert outcome(main, ["--version"], capsys) == (0, f"{rws_theory.__version__}\n", "")
    assert outcome(theory, [], capsys)[0] == 0


@pytest.mark.parametrize(
    ("main", "words"), [(theory, LOGITS), (decoding, STORY), (figures, LOGITS)], ids=["theory", "decoding", "figures"]
)
def test_its_output_is_that_of_the_module(main: Any, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(main, words, capsys)
    assert status == 0 and out.startswith("{") and outcome(rws, words, capsys) == (status, out, err)


def test_the_figures_command_is_the_module_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = outcome(figures, ["--help"], capsys)
    assert status == 0 and "--runs DIR" in out
    output = outcome(rws, ["figures", "--help"], capsys)[1]
    assert output.split() == out.replace("python -m paper_figures", "rws").split()


@pytest.mark.long
def test_shells_complete_it(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    for shell in ("bash", "zsh", "fish"):
        subprocess.run([*RWS, "--install-completion", "--shell", shell], env=environment, check=True, stdout=-1)
    scripts = [path for path in tmp_path.rglob("*") if path.is_file() and "mt-bench" in path.read_text()]
    (bash,) = (path for path in scripts if "complete -F" in path.read_text())
    assert len(scripts) == 3
    for words, offered in (
        ("rws gen", "generate"),
        ("rws generate --rank", "--ranking"),
        ("rws generate --ranking top", "topk"),
        ("rws experiment mt", "mt-bench"),
    ):
        script = (
            f"source {bash}; COMP_WORDS=({words}); COMP_CWORD={len(words.split()) - 1}; _rws; echo ${{COMPREPLY[@]}}"
        )
        assert subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout == f"{offered}\n"


def test_words_that_the_model_does_not_know_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    for prompt, warning in {
        "Why is the sky blue?": "note: mini does not know these words and reads each as unknown: is sky blue?\n",
        " ".join(f"word{n}" for n in range(12)): " word6 word7 and 4 more\n",
        "write a short science story with meteor , lenses , crater and brave .": "",
        "--write a story .": ": --write\n",  # as an option looks
    }.items():
        status, _, err = outcome(decoding, ["generate", "--prompt", prompt, "--length", "8", *STORY[-5:]], capsys)
        assert status == 0 and warning in err and bool(err) == bool(warning)
    assert decoding(["generate", "--prompt=--write", "--length", "8", *STORY[-5:]]) == 0


@pytest.mark.parametrize("main", [rws, decoding])
def test_a_package_adds_a_command(main: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """One that runs, one whose name is taken, and one that is not there."""
    (tmp_path / "users_greet.py").write_text(GREET)
    monkeypatch.syspath_prepend(tmp_path)
    points = {"greet": "users_greet:greet", "generate": "users_greet:greet", "gone": "users_gone:gone"}
    theirs = [EntryPoint(name, value, ENTRY_POINTS) for name, value in points.items()]
    ours, every = [*entry_points().values()], metadata.entry_points
    monkeypatch.setattr(
        metadata,
        "entry_points",
        lambda **query: [*theirs, *ours] if query == {"group": ENTRY_POINTS} else every(**query),
    )
    assert outcome(main, ["greet", "you", "--loud"], capsys) == (3, "good day, YOU\n", "")
    assert "--lout. Did you mean --loud?" in outcome(main, ["greet", "you", "--lout"], capsys)[2]
    sys.modules.pop("users_greet")
    status, out, err = outcome(main, [], capsys)
    assert status == 0 and out.count("Greet somebody.") == 1 and "\nCourtesy\n" in out
    assert "users_greet" not in sys.modules and "Decode the answer" in out
    assert err.count("\n") == 1 and "gone (users_gone:gone)" in err
    assert "(is greet meant?)" in outcome(main, ["gret"], capsys)[2]
    status, _, err = outcome(main, ["gone"], capsys)
    assert status == 2 and "users_gone" in err and err.count("\n") == 1


def test_it_is_installed_and_help_waits_for_no_large_library() -> None:
    script = Path(sys.executable).with_name("rws")
    if script.exists():
        completed = subprocess.run([script, *LOGITS], capture_output=True, text=True, check=True, timeout=120)
        assert completed.stdout.startswith('{"dimension": 3')
    code = f"""
import sys
from rws_decode.__main__ import rws
for words in {[[], *([name, "--help"] for name in NAMES), ["experiment", "controls", "-h"]]}:
    assert rws(words) == 0
    large = {{"torch", "transformers", "tokenizers", "safetensors", "rdkit", "numpy", "scipy", "flint", "pandas"}}
    large = (large | {{"matplotlib", "pyarrow"}}) & set(sys.modules)
    # The file of a study has its tables too, which NumPy computes.
    assert not large - ({{"numpy"}} if words[:1] == ["experiment"] else set()), (words, large)
    assert words or "cyclopts" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)


def test_an_interrupt_says_that_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    words = f"experiment commit-order --out {tmp_path / 'out'} --examples 3 --length 4 --steps 2 --block 4"
    status, _, err = outcome(rws, words.split(), capsys)
    assert status == 130
    assert err.splitlines()[-1] == "rws experiment: interrupted; the same command continues where it stopped"
