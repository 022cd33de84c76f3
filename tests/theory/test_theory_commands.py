"""What `python -m rws_theory` prints: help, texts, JSON, and how it ends where something stops it."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_lines import theory as main

import rws_theory.claims
import rws_theory.selection
from rws_theory import SelectionPath
from rws_theory.claims import CHECKS, Claim
from rws_theory.selection import Bracket, Piece

LEDGER = Path(__file__).with_name("ledger.json")

PAIR = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]  # they cross at ten logarithms of the golden ratio


def saved(folder: Path, logits: Any, name: str = "logits.npy") -> str:
    np.save(folder / name, np.asarray(logits), allow_pickle=False)
    return str(folder / name)


def printed_by(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    assert main(words) == 0
    return tuple(capsys.readouterr())  # type: ignore[return-value]


def path_of(file: str, low: str = "1", high: str = "2", k: str = "1") -> list[str]:
    return ["path", file, f"--k={k}", f"--scale-min={low}", f"--scale-max={high}"]


def test_crossings_are_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed_by(capsys, "crossings", "[1.1, 0.6, 0.3]", " [1.0, 0.4, 0.4]") == (
        "3 logits each; at scale 1, a is more confident than b\n"
        "a: total gap 1.3, smallest gap 0.5\n"
        "b: total gap 1.2, smallest gap 0.6\n"
        "crossing at r = 4.8121182506, proved to lie in [4.812118250593723, 4.812118250598343], multiplicity 1\n"
        "1 crossing; at most 1 possible\n"
        "these are all (proved by an integer polynomial and ball arithmetic)\n",
        "",
    )
    out, _ = printed_by(capsys, "crossings", "[1, 0]", "[2, 0]")
    assert out.startswith("2 logits each; at scale 1, a is less confident than b\na: total gap 1, smallest gap 1\n")
    out, _ = printed_by(capsys, "crossings", "[1, 0]", "[0, 1]")
    assert out.startswith("2 logits each; a and b are equally confident at every scale\n")
    assert "no crossing at any scale (proved by float64 sums with an error bound)\n" in out


def test_crossings_of_arrays_are_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = saved(tmp_path, [11, 6, 3], "a.npy"), saved(tmp_path, np.array([10, 4, 4], dtype=np.float16), "b.npy")
    out, err = printed_by(capsys, "crossings", a, b, "--json")
    result = json.loads(out)
    keys = ["dimension", "sigma", "delta", "sign_at_one", "crossings", "count", "bound", "complete", "identical"]
    assert list(result) == keys and err == "" and out.count("\n") == 1
    assert result["dimension"] == 3 and result["count"] == result["bound"] == 1
    assert result["complete"] and not result["identical"]
    (only,) = result["crossings"]
    assert list(only) == ["lower", "upper", "multiplicity"] and only["multiplicity"] == 1
    assert only["lower"] < math.log((1 + math.sqrt(5)) / 2) < only["upper"]
    out, _ = printed_by(capsys, "crossings", "[1.0, -Infinity]", "[2.0, 1.0]", "--json")
    assert "Infinity" not in out and json.loads(out)["delta"] == [None, 1.0]


def test_decimals_are_exact_ends_those_of_float64_and_clusters_told(capsys: pytest.CaptureFixture[str]) -> None:
    # In float64 0.1 + 0.2 is not 0.3; in decimals the two pairs of gaps are the same.
    out, _ = printed_by(capsys, "crossings", "[0.3, 0.2, 0.0]", "[0.6, 0.5, 0.3]", "--json")
    result = json.loads(out)
    assert result["identical"] is True and result["sigma"] == [0.4, 0.4] and result["delta"] == [0.1, 0.1]
    out, _ = printed_by(capsys, "crossings", "[1.0, 0.0]", "[1.0, 1e-999]", "--json")
    assert json.loads(out)["identical"] is True
    pair = ("[0, -5e-312, -8e-312]", "[0, -6e-312, -6e-312]")  # ten logarithms of the golden ratio, times 1e311
    result = json.loads(printed_by(capsys, "crossings", *pair, "--json")[0])
    assert result["crossings"] == [{"lower": sys.float_info.max, "upper": None, "multiplicity": 1}]
    assert result["sigma"] == [1.3e-311, 1.2e-311] and result["complete"] is True
    pair = ("[0, -2e-312, -7e-312, -7e-312]", "[0, -3e-312, -3e-312, -13e-312]")
    assert printed_by(capsys, "crossings", *pair)[0].splitlines()[3:] == [
        "near-tangency at r = inf, in [1.7976931348623157e+308, inf], not resolved",
        "1 crossing; at most 2 possible",
        "not all are resolved (proved by an integer polynomial and ball arithmetic)",
    ]


PATH = SelectionPath(
    k=2,
    pieces=(Piece(0.5, 1 / 3, (0, 2)), Piece(1 / 3, 2.0, (1, 2)), Piece(2.0, 3.0, ())),
    brackets=(Bracket(0.25, 0.375, True), Bracket(2.0, 3.0, False)),
    certified=False,
    certificate="float64 error bound",
    evaluations=17,
)


def test_an_unproved_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given: list[Any] = []

    def path(*arguments: Any) -> SelectionPath:
        given.extend(arguments)
        return PATH

    monkeypatch.setattr(rws_theory.selection, "selection_path", path)
    words = path_of(saved(tmp_path, [[1.0, 2.0]]), "0.5", "3", k="2")
    text, _ = printed_by(capsys, *words)
    assert "not proved in [2.0, 3.0]\nnot certified everywhere" in text and "positions none" in text
    assert given[0].tolist() == [[1.0, 2.0]] and given[1:] == [2, 0.5, 3.0]
    pieces = [{"lower": each.lower, "upper": each.upper, "selected": [*each.selected]} for each in PATH.pieces]
    assert json.loads(printed_by(capsys, *words, "--json")[0]) == {"k": 2, "pieces": pieces, "certified": False}


def test_the_path_of_a_file_is_certified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(tmp_path, PAIR)
    out, err = printed_by(capsys, *path_of(file, "0.01", "32"), "--json")
    path = json.loads(out)
    assert not err and (path["k"], path["certified"]) == (1, True)
    first, second = path["pieces"]
    assert (first["lower"], first["selected"], second["upper"], second["selected"]) == (0.01, [0], 32.0, [1])
    assert first["upper"] == second["lower"] == pytest.approx(10 * math.log((1 + math.sqrt(5)) / 2), rel=1e-12)
    out, _ = printed_by(capsys, *path_of(file, high="1"))  # one scale is a range
    assert out.splitlines()[0] == "scales 1 to 1: positions 0"
    assert out.splitlines()[-1].startswith("certified at every scale (by ")


def test_printed_claims_are_the_ledger(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    true, false = printed_by(capsys, "claims", "TAB-memory", "D-gaps")[0].strip().split("\n\n")
    assert true.startswith("D-gaps: TRUE   (Appendix D.1)\n") and "counterexample" not in true
    heads = [line.split()[0] for line in false.splitlines()]
    assert heads == ["TAB-memory:", "says:", "found:", "counterexample:", "instead:"]
    recorded = json.loads(LEDGER.read_text(encoding="utf-8"))
    out, err = printed_by(capsys, "claims", "--json", "TAB-memory", "D-gaps")
    assert out == json.dumps([row for row in recorded if row["id"] in ("TAB-memory", "D-gaps")], indent=1) + "\n"
    assert err == "claims: 2 of 2\n"
    monkeypatch.setattr(rws_theory.claims, "claims", lambda ids: [Claim(**row) for row in recorded if ids is None])
    assert printed_by(capsys, "claims")[0].splitlines()[-3:] == [
        "Statements of the paper (60): 22 true, 18 true with correction, 17 false, 2 inconsistent unless, 1 not about"
        " RWS.",
        "Our remarks on its tables (3): 3 false.",
        "Our results (11): 11 true.",
    ]
    out, err = printed_by(capsys, "claims", "--json")
    assert out == LEDGER.read_text(encoding="utf-8")
    assert err == f"claims: {len(CHECKS)} of {len(CHECKS)}\n"
