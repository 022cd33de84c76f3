"""The command `python -m rws_theory path`: its JSON, its text and its one-line errors."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rws_theory.__main__ import main

PAIR = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]


def saved(folder: Path, logits: object, name: str = "logits.npy") -> str:
    path = folder / name
    np.save(path, np.asarray(logits), allow_pickle=False)
    return str(path)


def status_of(words: list[str]) -> object:
    try:
        return main(words)
    except SystemExit as stop:
        return stop.code


def test_json_is_the_path_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(tmp_path, PAIR)
    assert main(["path", file, "--k", "1", "--scale-min", "0.01", "--scale-max", "32", "--json"]) == 0
    printed = capsys.readouterr()
    path = json.loads(printed.out)
    assert not printed.err and set(path) == {"k", "pieces", "certified"}
    assert path["k"] == 1 and path["certified"] is True
    assert [p["selected"] for p in path["pieces"]] == [[0], [1]]
    assert path["pieces"][0]["lower"] == 0.01 and path["pieces"][-1]["upper"] == 32.0
    assert path["pieces"][0]["upper"] == path["pieces"][1]["lower"]
    assert path["pieces"][0]["upper"] == pytest.approx(10 * math.log((1 + math.sqrt(5)) / 2), rel=1e-12)


def test_text_names_pieces_brackets_and_the_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(tmp_path, PAIR)
    assert main(["path", file, "--k", "1", "--scale-min", "0.01", "--scale-max", "32"]) == 0
    out = capsys.readouterr().out
    assert "scales 0.01 to 4.8121182506: positions 0" in out and "the set changes in [4.81211825" in out
    assert out.splitlines()[-1].startswith("certified at every scale (by float64 error bound, from ")
    assert main(["path", file, "--k", "0", "--scale-min", "1", "--scale-max", "2"]) == 0
    assert "positions none" in capsys.readouterr().out


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rws_theory", "path", saved(tmp_path, PAIR)]
    done = subprocess.run(
        [*command, "--k", "2", "--scale-min", "1", "--scale-max", "2", "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0 and json.loads(done.stdout)["pieces"] == [
        {"lower": 1.0, "upper": 2.0, "selected": [0, 1]}
    ]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"--k": "3"}, "k must be an integer from 0 to the number of positions, 2, got 3"),
        ({"--k": "-1"}, "k must be"),
        ({"--k": "one"}, "--k"),
        ({"--scale-min": "0"}, "--scale-min and --scale-max must satisfy 0 < X <= Y < inf, got 0.0 and 32.0"),
        ({"--scale-min": "nan"}, "--scale-min and --scale-max"),
        ({"--scale-max": "inf"}, "--scale-min and --scale-max"),
        ({"--scale-max": "0.001"}, "--scale-min and --scale-max"),
    ],
)
def test_bad_options_exit_with_2_and_one_line(
    options: dict[str, str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"--k": "1", "--scale-min": "0.01", "--scale-max": "32"} | options
    status = status_of(["path", saved(tmp_path, PAIR), *(f"{name}={value}" for name, value in given.items())])
    printed = capsys.readouterr()
    assert status == 2 and not printed.out
    assert complaint in printed.err and printed.err.count("\n") == 1


def test_bad_files_exit_with_2_and_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.npy").write_bytes(b"no array")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    files = [
        saved(tmp_path, [1.0, 2.0], "vector.npy"),
        saved(tmp_path, [[1.0, math.nan]], "nan.npy"),
        saved(tmp_path, [["a"]], "words.npy"),
        *(str(tmp_path / name) for name in ("broken.npy", "objects.npy", "missing.npy", "logits.txt")),
    ]
    for file in files:
        status = status_of(["path", file, "--k", "1", "--scale-min", "1", "--scale-max", "2"])
        printed = capsys.readouterr()
        assert status == 2 and not printed.out and printed.err.count("\n") == 1, file
        assert "logits" in printed.err.lower()
