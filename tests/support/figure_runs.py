"""Real runs of every experiment that figures read, as small as they can be, once per session."""

import io
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from filelock import FileLock
from json_files import write_json
from matplotlib.figure import Figure
from scipy.stats import bootstrap

from paper_figures.plan import PLAN, make_missing
from paper_figures.runner.claims_run import NAME, SCHEMA, claims_sources

LEDGER = Path(__file__).parents[1] / "theory" / "ledger.json"
_SHAPE = "--length 8 --steps 4 --block 8"
_JUDGED = f"--rewards mini exact --judges mini-judge {_SHAPE}"
# No reward scale is searched: one study does that, and seconds do not depend on it.
_GIVEN = f"--prompts 3 --reward-scale 8 {_JUDGED}"
_METHODS = f"--methods rws constant shuffled default {_JUDGED}"
TINY = {
    "commit-order": _SHAPE,
    "temperature": f"--prompts 3 --scales 1 8 {_SHAPE}",
    "reward-bench": f"--prompts 3 --reward-scale 8 {_SHAPE}",
    "keywords": f"--prompts 3 --validation 2 --grid 1 8 {_JUDGED}",
    "mt-bench": _GIVEN,
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
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "figure-runs"
    results = {"schema": SCHEMA[0], "version": SCHEMA[1], "sources": claims_sources(), "seconds": 0.0}
    results |= {"claims": json.loads(LEDGER.read_text(encoding="utf-8"))}

    def few(*data: Any, n_resamples: int, **options: Any) -> Any:
        return bootstrap(*data, n_resamples=99, **options)

    with FileLock(f"{folder}.lock"):
        if not (folder / NAME).is_dir():
            write_json(folder / NAME / "results.json", results)  # as `make_claims` writes it
        with mock.patch("paper_figures.statistics.intervals.stats.bootstrap", few):
            make_missing(folder, PLAN, plan=TINY)
    return folder


@pytest.fixture
def sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save figures as `sketch` has them: for tests of all else that is written."""
    monkeypatch.setattr("paper_figures.exhibits.shared.exhibit._printed", sketch)


def sketch(figure: Figure) -> dict[str, bytes]:
    """Return a figure as PNG without its layout, and a stub of a PDF."""
    png = io.BytesIO()
    figure.set_layout_engine("none")
    figure.savefig(png, format="png")
    return {"png": png.getvalue(), "pdf": b"%PDF"}


@pytest.fixture(scope="session")
def figure_page(figure_runs: Path) -> Path:
    """Return the page of all figures and tables, which processes share; pictures are not laid out, PDFs stubs."""
    from command_lines import figures as main

    page = figure_runs.parent / "figure-page" / "index.html"
    with FileLock(f"{figure_runs.parent / 'figure-page'}.lock"):
        if not page.is_file():
            with mock.patch("paper_figures.exhibits.shared.exhibit._printed", sketch):
                assert main(["--runs", str(figure_runs), "--out", str(page.parent), "--workers", "0"]) == 0
    return page
