"""Files of `bench --shape`, as paper_figures reads them: one measured here, and one as a GPU would write it."""

from __future__ import annotations

import copy
import json
from typing import Any

import torch
from handmade_runs import Row

from paper_figures.bench.device_run import SCHEMA, provenance
from paper_figures.bench.floor import Ceilings
from paper_figures.bench.kernels import kernel_table
from paper_figures.bench.tables import ratios
from paper_figures.bench.whole import NOTES, BenchSettings, measure

BYTES_ADDED = 14_812 * 2**20


def measured_here() -> Row:
    """Return what the bench measures for the shape `tiny` on this machine, as its file has it."""
    shape: Row = {"prompt": 4, "length": 8, "steps": 4, "block": 4, "batches": (1, 2), "every": (2,), "repeats": 1}
    plan = BenchSettings("tiny", "float32", **shape, ways=("plain", "default", "naive", "rws", "every"))
    cpu, ceilings = torch.device("cpu"), Ceilings(1e10, 1e11, "float32")
    content: Row = {"schema": SCHEMA, "complete": True, "provenance": provenance(cpu, "python -m made-up", "abc123")}
    content |= {"settings": {"device": "cpu", "shape": "tiny", "dtype": "float32", "length": 8}, "notes": list(NOTES)}
    content |= {"checks": [{"name": "one", "passed": True, "detail": ""}], "ceilings": vars(ceilings)}
    content["kernels"] = kernel_table(cpu, rows=2, vocabulary=64, factors=(1, 16), bandwidth=1e10, repeats=1)
    return json.loads(json.dumps(content | measure(plan, cpu, ceilings)))


def as_on_gpu(content: Row, **changed: Any) -> Row:
    """Return a file as a GPU would write it: its numbers are the tiny ones', but for memory and shares."""
    content = copy.deepcopy(content)
    content["provenance"] |= {"cuda": "12.8", "device": "Some GPU", "driver": "570.1"} | changed
    content["settings"] |= {"shape": "llada-8b", "device": "cuda", "length": 256, "steps": 128, "block": 32}
    for row in content["overhead"]:
        row["added_bytes"] = BYTES_ADDED
    for row in content["ways"]:
        row["memory_bytes"] = 2**30
    aimed = {(row["name"], row["batch"]): row for row in ratios(content["ways"], content["floor"])}
    for row in content["ratios"]:
        row |= aimed[row["name"], row["batch"]]
    for row in content["kernels"]["ways"]:
        if row["goal"]:
            row |= {"status": "measured", "ms": 1.0, "share": 0.7}
    return content
