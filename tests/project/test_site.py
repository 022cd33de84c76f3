"""The documentation as a site, built as `make docs` does: whole, linked, and readable without a network."""

import os
import re
import runpy
import subprocess
import sys
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag

import pytest
from chromium import Chromium
from filelock import FileLock

import rws_decode
import rws_theory

ROOT = Path(__file__).parents[2]
LESSON = "repository/notebooks/02_tilting_is_not_scaling.ipynb"
EQUATIONS = re.findall(r"^ {4}.*\((T\d+)\)$", (ROOT / "docs/theory.md").read_text(encoding="utf-8"), re.MULTILINE)


class Links(HTMLParser):
    """What a page points at: `links` of words, `loads` of scripts, styles, pictures and fonts; and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a":
            self.links += [given["href"]] if "href" in given else []
        elif tag != "link" or given.get("rel") not in ("canonical", "prev", "next"):
            self.loads += [given[name] for name in ("src", "href", "data") if name in given]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the folder of the site, built once for all processes that run tests; a warning ends the command."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    with FileLock(f"{folder}.lock"):
        if not (folder / "search" / "search_index.js").is_file():  # the last that is written
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    return {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_document_is_in_the_navigation_and_what_that_leads_to_is_there() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    listed = re.findall(r"[:-] (\S+\.md)$", nav, re.MULTILINE)
    hooks = runpy.run_path(str(ROOT / "docs" / "site_hooks.py"))
    lessons = [f"notebooks/{path.name}.md" for path in (ROOT / "notebooks").glob("*.ipynb")]
    named = (*hooks["DOCUMENTS"], *hooks["CARDS"], *lessons)
    added = [name if name.endswith(".md") else f"{name}.md" for name in named]
    documents = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "extra"]  # added by a hook
    written = [path.relative_to(ROOT / "docs").as_posix() for path in documents]
    assert sorted(listed) == sorted([*written, *(f"repository/{name}" for name in added)])


@pytest.mark.long
def test_nothing_is_loaded_from_a_network(site: Path, pages: dict[Path, Links]) -> None:
    assert {load for page in pages.values() for load in page.loads if re.match(r"(\w+:)?//", load)} == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"""(?:url\(|@import) *["']?(?:\w+:)?//[^)"']*""", styles) == []


@pytest.mark.long
def test_a_lesson_has_its_outputs_and_its_formulas(site: Path) -> None:
    text = (site / f"{LESSON}.html").read_text(encoding="utf-8")
    assert "<mi>c</mi>" in text and "srcdoc=" in text and "0.2367" in text and "@kept" not in text


@pytest.mark.long
def test_every_equation_has_an_anchor_and_the_reference_links_to_it(site: Path, pages: dict[Path, Links]) -> None:
    assert set(EQUATIONS) <= pages[site / "theory.html"].anchors
    cited = {urldefrag(link)[1] for page in pages.values() for link in page.links if "theory.html#" in link}
    assert len(cited & set(EQUATIONS)) > 30 and "14-n-gram-models" in cited


@pytest.mark.long
def test_the_reference_has_every_public_name_on_pages_that_can_be_read(site: Path) -> None:
    inventory = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    rows = [line.split(" ") for line in inventory.splitlines()]
    names = {(row[1], row[3].split("#")[0], row[0].rpartition(".")[2]) for row in rows if row[0][0] != "_"}
    documented = {name for role, _, name in names if role != "py:module"}
    public = {*rws_theory.__all__, *dir(rws_decode)} - {"__version__", "plots", "Strategy"}
    assert sorted(public - documented) == []
    sizes = Counter(page for role, page, _ in names if role in ("py:class", "py:function"))
    assert {page: size for page, size in sizes.items() if size > 60} == {}


@pytest.mark.long
def test_the_search_works_from_a_file(site: Path, browser: Chromium) -> None:
    tab = browser.open((site / "index.html").as_uri(), width=1200)
    tab.evaluate(
        "(box => { box.focus(); box.value = 'frontier'; box.dispatchEvent(new Event('keyup', {bubbles: true})); })"
        "(document.querySelector('input.md-search__input'))"
    )
    tab.until("document.querySelectorAll('.md-search-result__item').length > 2")
    assert [url for url in tab.requests if not url.startswith("file:")] == [] and tab.failures == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["index", "guides/decode", LESSON, "evidence", "theory", "api/decode"])
def test_no_page_is_wider_than_a_phone(name: str, site: Path, browser: Chromium) -> None:
    tab = browser.open((site / f"{name}.html").as_uri(), width=390)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
