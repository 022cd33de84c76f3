"""Real runs of every experiment that figures read, on the shipped models, as small as they can be: once per session.

The claims are those of tests/theory/ledger.json: tests/theory/test_claims.py checks that these are what checking gives.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from filelock import FileLock

from paper_figures.plan import PLAN, make_missing
from paper_figures.runner.claims_run import NAME, SCHEMA, claims_sources
from rws_decode.common.files import write_json

LEDGER = Path(__file__).parents[1] / "theory" / "ledger.json"
_SHAPE = "--length 8 --steps 4 --block 8"
_FEW = "--prompts 3 --validation 2 --grid 1 8"
_TWO = f"{_FEW} --rewards mini exact --judges mini-judge {_SHAPE}"
# No reward scale is searched: three studies do that, and seconds do not depend on it.
_GIVEN = f"--prompts 3 --reward-scale 8 --rewards mini exact --judges mini-judge {_SHAPE}"
_METHODS = f"--methods rws constant shuffled default --rewards mini exact --judges mini-judge {_SHAPE}"
TINY = {
    "commit-order": _SHAPE,
    "temperature": f"--prompts 3 --scales 1 8 {_SHAPE}",
    "reward-bench": f"{_FEW} {_SHAPE}",
    "keywords": _TWO,
    "mt-bench": _TWO,
    "humaneval": _GIVEN,
    "diversity": _GIVEN,
    "precision": f"--prompts 2 --scales 1 8 {_SHAPE}",
    "scale-path": f"--prompts 1 {_SHAPE}",
    "frequency": f"--prompts 2 --reward-scale 8 {_METHODS} --timing-prompts 1 --repetitions 1",
    "overhead": f"--prompts 2 --reward-scale 8 {_METHODS} --repetitions 1",
    "claims": "",
}


@pytest.fixture(scope="session")
def figure_runs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the folder of the runs, which the processes that run tests share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "figure-runs"
    with FileLock(f"{folder}.lock"):
        if not (folder / NAME).is_dir():
            _keep_claims(folder)
        make_missing(folder, PLAN, workers=1, plan=TINY)
    return folder


def _keep_claims(runs: Path) -> None:
    """Write RUNS/claims/results.json with the claims of the ledger that is kept, as `make_claims` writes it."""
    claims = json.loads(LEDGER.read_text(encoding="utf-8"))
    results = {"schema": SCHEMA[0], "version": SCHEMA[1], "sources": claims_sources(), "seconds": 0.0, "claims": claims}
    write_json(runs / NAME / "results.json", results)


@pytest.fixture(scope="session")
def figure_page(figure_runs: Path) -> Path:
    """Return the page with every figure and table of the runs, which the processes that run tests share."""
    from paper_figures.__main__ import main

    page = figure_runs.parent / "figure-page" / "index.html"
    with FileLock(f"{figure_runs.parent / 'figure-page'}.lock"):
        if not page.is_file():
            assert main(["--runs", str(figure_runs), "--out", str(page.parent), "--workers", "0"]) == 0
    return page
