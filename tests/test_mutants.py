"""The list of surviving mutants is about the code as it is, and `make mutants` reads mutmut's results rightly."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import mutants
import pytest

KINDS = ("equivalent", "speed only", "tighter or looser than needed", "wording", "unreachable")
ROWS = json.loads(mutants.REASONS.read_text(encoding="utf-8"))


def lines_of(function: str) -> set[str]:
    """Return the stripped lines of `package.module.function` or `package.module.Class.method`."""
    parts = function.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        path = mutants.ROOT.joinpath(*parts[:cut])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if not file.is_file():
                continue
            text = file.read_text(encoding="utf-8")
            nodes: list[ast.stmt] = ast.parse(text).body
            for name in parts[cut:]:
                (node,) = (n for n in nodes if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == name)
                nodes = node.body
            return {line.strip() for line in text.splitlines()[node.lineno - 1 : node.end_lineno]}
    raise LookupError(function)


def test_every_survivor_is_a_change_of_code_that_there_is_with_a_reason_of_a_known_kind() -> None:
    for row in ROWS:
        assert set(row) == {"function", "before", "after", "reason"}
        assert set(row["before"].splitlines()) <= lines_of(row["function"]), row
        assert row["before"] != row["after"]
        kind, _, why = row["reason"].partition(": ")
        assert kind in KINDS and len(why) > 10, row
    keys = [(row["function"], row["before"], row["after"]) for row in ROWS]
    assert keys == sorted(set(keys))


MUTATED = '''
def x_double__mutmut_orig(x):
    """Doc."""
    return 2 * x


def x_double__mutmut_1(x):
    """Doc."""
    return 3 * x


def x_double__mutmut_2(x):
    """Doc."""
    return 2 / x


class Box:
    def xǁBoxǁopen__mutmut_orig(self, wide=True):
        return wide

    def xǁBoxǁopen__mutmut_1(self, wide=False):
        return wide
'''


def finished(work: Path, codes: dict[str, int | None]) -> None:
    folder = work / "theory" / "mutants" / "toy"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "box.py").write_text(MUTATED, encoding="utf-8")
    keys = {f"toy.box.{name}": code for name, code in codes.items()}
    (folder / "box.py.meta").write_text(json.dumps({"exit_code_by_key": keys}), encoding="utf-8")


def test_the_score_counts_and_each_survivor_asks_for_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reasons = tmp_path / "reasons.json"
    monkeypatch.setattr(mutants, "REASONS", reasons)
    reasons.write_text("[]")
    finished(tmp_path, {"x_double__mutmut_1": 1, "x_double__mutmut_2": 0, "xǁBoxǁopen__mutmut_1": 33})
    assert mutants.main(["--work", str(tmp_path), "--report", "--parts", "theory"]) == 1
    assert capsys.readouterr().out.endswith("killed: 1 of 3, 33.3%\n")
    asked = json.loads((tmp_path / "unexplained.json").read_text(encoding="utf-8"))
    assert asked == [
        {"function": "toy.box.double", "before": "return 2 * x", "after": "return 2 / x", "reason": ""},
        {
            "function": "toy.box.Box.open",
            "before": "def open(self, wide=True):",
            "after": "def open(self, wide=False):",
            "reason": "",
        },
    ]

    # With a reason for each the list is whole, but too few are killed; then enough are, one of them by the clock.
    reasons.write_text(json.dumps([{**row, "reason": "equivalent: told"} for row in asked]), encoding="utf-8")
    assert mutants.main(["--work", str(tmp_path), "--report", "--parts", "theory"]) == 1
    assert "survivors without a reason: 0" in capsys.readouterr().out
    finished(tmp_path, {"x_double__mutmut_1": 1, "x_double__mutmut_2": -24, "xǁBoxǁopen__mutmut_1": 1})
    assert mutants.main(["--work", str(tmp_path), "--report", "--parts", "theory"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("killed: 3 of 3, 100.0%\n") and "did not run: 2 of 2" in out

    # What has not run is no success.
    finished(tmp_path, {"x_double__mutmut_1": 1, "x_double__mutmut_2": None, "xǁBoxǁopen__mutmut_1": 1})
    assert mutants.main(["--work", str(tmp_path), "--report", "--parts", "theory"]) == 1
    assert "not run: 1" in capsys.readouterr().out


def test_once_more_are_those_without_a_reason_and_those_that_no_test_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = tmp_path / "reasons.json"
    halved = {"function": "toy.box.double", "before": "return 2 * x", "after": "return 2 / x", "reason": "wording: it"}
    reasons.write_text(json.dumps([halved]))
    monkeypatch.setattr(mutants, "REASONS", reasons)
    monkeypatch.setattr(mutants, "prepare", lambda part, work: work / part)
    ran: list[list[str]] = []
    monkeypatch.setattr(mutants, "mutmut", lambda folder, workers, names: ran.append(names) or 1)
    call = ["--work", str(tmp_path), "--parts", "theory"]
    stats = tmp_path / "theory" / "mutants" / "mutmut-stats.json"
    for codes, names in (
        ({"x_double__mutmut_1": 0, "x_double__mutmut_2": 0, "xǁBoxǁopen__mutmut_1": None}, ["x_double__mutmut_1"]),
        ({"x_double__mutmut_1": 1, "x_double__mutmut_2": -24, "xǁBoxǁopen__mutmut_1": 3}, ["x_double__mutmut_2"]),
    ):
        finished(tmp_path, codes)
        known = {"duration_by_test": {"t": 1.0}, "tests_by_mangled_function_name": {"f": ["t"]}, "git_commit": "c"}
        stats.write_text(json.dumps(known))
        assert mutants.main(call) == 1 and json.loads(stats.read_text()) == known
        assert mutants.main([*call, "--again"]) == 1
        assert ran[-2:] == [[], [f"toy.box.{name}" for name in names]]
        # Tests that changed reach other functions.
        unknown = {"duration_by_test": {}, "tests_by_mangled_function_name": {}}
        assert json.loads(stats.read_text()) == known | unknown
