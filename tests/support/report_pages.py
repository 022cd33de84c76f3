"""Pages to be checked: a small one of made-up exhibits, and what their HTML holds."""

from pathlib import Path
from typing import Any

import pytest
from html_elements import Elements
from json_files import write_json

from paper_figures.exhibits import Exhibit, Interactive, Picture, Story, figure, save, styled
from paper_figures.report.page import write_page
from paper_figures.report.provenance import run_facts
from paper_figures.table import Table
from rws_decode import Page as Dragged

SETTINGS = {"prompts": 4, "validation": 0, "model": "/somewhere/models/tiny", "rewards": ["mini"], "seed": 0}
SETTINGS |= {"traces": True}
VERDICTS = ("true", "false", "true with correction", "not about RWS", "not confirmed")


def elements_of(page: Path) -> Elements:
    return Elements(page.read_text(encoding="utf-8"))


def results(folder: Path, experiment: str = "keywords", **parts: Any) -> Path:
    """Write an experiment's results.json as far as a page reads it, beside a trace and a folder of traces."""
    models = {"predictor tiny": {"model.safetensors": "ab" * 32}, "reward mini": "some/hub@id"}
    sources = {"work": "rws_theory.claims", "code": "0" * 64, "libraries": {"torch": "2"}, "models": models}
    content = {"settings": SETTINGS, "prompts": {"test": 4, "validation": 2}, "selection": {"mini": 8.0}}
    content |= {"sources": sources, "seconds": 12.5}
    (folder / experiment / "units-1" / "traces").mkdir(parents=True, exist_ok=True)
    (folder / experiment / "trace.parquet").write_bytes(b"PAR1")
    return write_json(folder / experiment / "results.json", content | parts)


def claims_exhibit() -> Exhibit:
    statement = {"statement": "One is two.", "what was found": "words " * 30, "instead": "One is one."}
    rows = [{"claim": f"C{n}", "where": "Section 1", "verdict": name} | statement for n, name in enumerate(VERDICTS)]
    rows.append({"claim": "C9", "where": "Ours, on Table 1", "verdict": "false"} | statement)
    return Exhibit("The ledger", tables=(Table("ledger", rows, rows, "All claims."),), conclusions=("One of five.",))


def exhibits() -> dict[str, Exhibit]:
    """Return exhibits with all that a page can show, some of it wide, long, or in need of escaping."""
    picture = figure(6.6, 2.0)
    picture.subplots().plot([0, 1], [0, 1])
    alt = "A line that rises from the lower left corner to the upper right one."
    wide = [{"scale": str(n)} | {f"here: column {m}": f"{n}.{m}5 [-1.00, +1.00]" for m in range(12)} for n in range(30)]
    texts = [{"model": "<b>", "paper: a": "1.5", "here: words": "a word and & a third " * 9, "here: none": None}]
    inputs = ("keywords/results.json", "keywords/trace.parquet", "keywords/units-1/traces", "keywords/absent.csv")
    lines = ("Table 8: the headline, <i> & more.", *(f"Further line {n}." for n in range(9)))
    table = Exhibit(
        "Table 8: a table",
        tables=(Table("wide", wide, wide, "A wide table."), Table("texts", texts, texts, "Words.")),
        conclusions=lines,
        inputs=inputs,
    )
    drawn = Exhibit("Appendix D: a line", (Picture("line", picture, "A & B.", alt),), conclusions=("A line.",))
    step = figure(6.6, 2.0)
    step.subplots().plot([0, 1], [1, 0])
    method = Exhibit(
        "Figure 3: one step",
        (Picture("fig3_method", step, "One & only.", alt.replace("rises", "falls")),),
        conclusions=("A step.",),
        story=Story("A claim, <i> & more.", ("A sentence.",), "A caveat.", "fig3_method"),
        interactive=Interactive("fig3_curves", _DRAGGED, "A 'page' to drag"),
    )
    return {"fig3_method": method, "table8_temperature": table, "appendix_d": drawn, "ledger": claims_exhibit()}


_DRAGGED = Dragged(
    '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Drag</title></head>\n<body>\n'
    '<main><h1>Drag</h1><p id="said">still</p></main>\n'
    '<script>document.getElementById("said").textContent = "moved";</script>\n</body></html>'
)


def small_page(out: Path) -> Path:
    """Write the exhibits, runs below them and their page, and return the page."""
    results(out / "runs")
    with styled():
        for name, exhibit in exhibits().items():
            facts = run_facts(out / "runs", "keywords") if exhibit.inputs else None
            save(name, exhibit, out, {"keywords": facts} if facts else None)
    return write_page(out / "runs", out)[-1]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_page(tmp_path_factory.mktemp("work") / "out")


@pytest.fixture(params=["small", "figure_page"])
def page(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)
