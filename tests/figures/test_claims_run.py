"""RUNS/claims/results.json holds what checking the claims gives, and is made again after a change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rws_theory.claims
from paper_figures.plan import CLAIMS, make_missing, missing
from paper_figures.runner import claims_run
from paper_figures.runner.claims_run import make_claims, up_to_date
from paper_figures.runner.executors import in_process

FEW = ("D-gaps", "TAB-memory")


def test_claims_are_kept_as_they_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = {name: rws_theory.claims.CHECKS[name] for name in FEW}
    monkeypatch.setattr(claims_run, "CHECKS", checks)
    assert make_missing(tmp_path, [CLAIMS]) == [CLAIMS] and missing(tmp_path, [CLAIMS]) == []
    results = json.loads((tmp_path / "claims" / "results.json").read_text(encoding="utf-8"))
    assert (results["schema"], results["version"]) == claims_run.SCHEMA and results["seconds"] >= 0
    assert results["claims"] == [checks[name]().as_dict() for name in FEW]


def test_claims_of_other_printed_numbers_are_checked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_run, "CHECKS", {"D-gaps": rws_theory.claims.CHECKS["D-gaps"]})
    path = make_claims(tmp_path, in_process())
    assert up_to_date(path)
    monkeypatch.setattr(claims_run, "printed_in", lambda name: {})
    assert not up_to_date(path) and missing(tmp_path, [CLAIMS]) == [CLAIMS]
