"""The planted faults of `make mutants`: each has one place in the source, and tests that should find it."""

from __future__ import annotations

from pathlib import Path

import mutants
import pytest


def test_each_fault_can_be_planted_once() -> None:
    faults = mutants.faults()
    assert len({fault.name for fault in faults}) == len(faults) >= 60
    sources = {package: mutants.sources(mutants.ROOT, package) for package in {fault.package for fault in faults}}
    for fault in faults:
        path, before, after = mutants.place_of(fault, sources[fault.package])
        assert before != after, fault.name
        if path.suffix == ".py":
            compile(after, str(path), "exec")
        assert mutants.tests_of(fault, mutants.ROOT)


def test_a_text_that_is_not_there_once_is_refused(tmp_path: Path) -> None:
    fault = mutants.Fault("twice", "rws_theory", ("test_mutants",), (("a = 1", "a = 2"),))
    for texts in ({}, {tmp_path / "a.py": "a = 1\na = 1\n"}, {tmp_path / "a.py": "a = 1", tmp_path / "b.py": "a = 1"}):
        with pytest.raises(ValueError, match=r"^twice: its texts occur .* times in rws_theory, not once"):
            mutants.place_of(fault, texts)
