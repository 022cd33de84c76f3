"""The planted faults of `make mutants`: each has one place in the source, and tests that should find it."""

from __future__ import annotations

import mutants


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
