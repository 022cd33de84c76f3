"""Mistakes that a newcomer makes: each is one line that says what was wrong and what would be right."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path

import pytest

from rws_decode.__main__ import main

# A command, and what the line it ends with says.
MISTAKES = {
    "rws_decode genrate --example 3": "invalid choice: 'genrate' (is generate meant? choose from generate, compare",
    "rws_theory crossing [1] [1]": "(is crossings meant?",
    "paper_figures experimnt controls": "(is experiment meant?",
    "rws_decode generate": "one of the arguments --prompt --infill --input-ids --example is required",
    "rws_decode generate --promt hello": "unrecognized arguments: --promt (is --prompt meant?)",
    "rws_decode generate --example 3 --stratgy=rws": "unrecognized arguments: --stratgy (is --strategy meant?)",
    "rws_decode generate --example 3 --colour red": "unrecognized arguments: --colour\n",
    "rws_decode generate --example 3 --strategy rws": "-scale and --reward are missing: --strategy rws needs them",
    "rws_decode generate --example 3 --strategy rws --reward mini": "-scale is missing: --strategy rws needs it",
    "rws_decode generate --example 3 --strategy RWS": "invalid choice: 'RWS' (is rws meant? choose from default, ",
    "rws_decode generate --model mni --example 3": "model is 'mni': neither a shipped name (english, mini)",
    "rws_decode generate --example 999": "--example is 999: mini ships 112 examples, choose 0 to 111",
    "rws_decode generate --example 3 --length 50 --block 32": "block is 32: it must divide length, which is 50",
    "rws_decode generate --example 3 --device cuda:77": "device is 'cuda:77': not a device of this machine",
    "paper_figures experiment controls": "the following arguments are required: --out",
    "paper_figures experiment controls --ouut here": "unrecognized arguments: --ouut (is --out meant?)",
    "paper_figures experiment rewardbench --out here": "(is reward-bench meant? choose from reward-bench",
    "rws_decode generate --example 3 --reward nosuch": "reward is 'nosuch': neither a shipped name (exact, era, ",
    "rws_decode generate --example 3 --strategy shuffled --run nowhere.parquet": "no trace at nowhere.parquet",
    "rws_decode replay nowhere.parquet": "no trace at nowhere.parquet",
    "rws_decode replay nowhere.parquet --model mni": "no trace at nowhere.parquet",
    "rws_decode view nowhere.parquet -o page.html": "no trace at nowhere.parquet",
    "rws_decode diff nowhere.parquet nothing.parquet": "no trace at nowhere.parquet",
    "paper_figures summarize nowhere": "nowhere: no results of experiments here",
    "paper_figures judge pairs.jsonl --judge-model any --cache kept": "file is pairs.jsonl: no such file",
    "rws_theory path logits.npy --k 2 --scale-min 1 --scale-max 2": "'logits.npy'",
    "paper_figures table1": "NAME is 'table1' (is table1_win_rate meant?): one of ",
    "paper_figures ledger --workers 0": "is missing: make it with python -m paper_figures ledger --runs out/runs",
}


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(command)
    try:
        status = import_module(f"{program}.__main__").main(words)
    except SystemExit as ended:
        status = ended.code
    output = capsys.readouterr()
    assert status == 2 and output.out == "" and list(tmp_path.iterdir()) == []
    assert (
        MISTAKES[command] in output.err
        and output.err.startswith(f"python -m {program}")
        and output.err.count("\n") == 1
    )


def test_words_that_the_model_does_not_know_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--length", "8", "--steps", "4", "--block", "8"]
    assert main(["generate", "--prompt", "Why is the sky blue?", *small]) == 0
    assert capsys.readouterr().err == "note: mini does not know these words and reads each as unknown: is sky blue?\n"
    assert main(["generate", "--prompt", " ".join(f"word{n}" for n in range(12)), *small]) == 0
    assert " word6 word7 and 4 more\n" in capsys.readouterr().err
    assert (
        main(["generate", "--prompt", "write a short science story with meteor , lenses , crater and brave .", *small])
        == 0
    )
    assert capsys.readouterr().err == ""


def test_an_option_may_be_shortened_and_a_prompt_may_look_like_one(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--len", "8", "--steps", "4", "--block", "8", "--json"]
    assert main(["generate", "--prompt", "--write a story .", *small]) == 0
    assert main(["generate", "--prompt=--write", *small]) == 0
