"""Write the page OUT/index.html: what was found, a section for each question, and all figures and tables folded.

`page.html` holds the text and the places that are filled in, `page.css` the style. The page needs no network, and its
policy lets a browser fetch nothing. The only scripts that run are those of the pages to drag, told by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from paper_figures.contents import NAMES, by_heading
from paper_figures.report.appendix import appendix
from paper_figures.report.markup import items, link
from paper_figures.report.runs_section import copied_files, runs_section
from paper_figures.report.setting import setting
from paper_figures.report.story import QUESTIONS, finding, glance, sections
from rws_decode.common.files import read_json, write_text

_PARTS = ("title", "pictures", "tables", "passages", "conclusions", "inputs")
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def write_page(runs: Path, out: Path) -> list[Path]:
    """Write OUT/index.html from the records of all exhibits below `out`; return it and the files copied for it.

    Pictures, tables and texts are part of the page. Every link is relative and stays below `out`: results and traces
    that were recorded elsewhere are copied to OUT/traces.
    """
    records = read_records(out)
    copied, links = copied_files(records.values(), runs, out)
    headings = {heading: [name for name in names if name in records] for heading, names in by_heading().items()}
    page = Template(_source("page.html")).substitute(
        style=style(),
        policy=escape(f"default-src 'none'; img-src data:; style-src 'unsafe-inline'{_scripts(records, out)}"),
        setting=escape(setting(records)),
        contents=_contents(headings, records),
        finding=finding(records),
        glance=glance(records, out),
        sections=sections(records, out),
        appendix=appendix(headings, records, out),
        provenance=runs_section(records, links),
    )
    return [*copied, write_text(out / "index.html", page)]


def style() -> str:
    """Return the page's style sheet, which becomes part of the page."""
    return _source("page.css")


def _source(name: str) -> str:
    return files("paper_figures.report").joinpath(name).read_text(encoding="utf-8")


def read_records(out: Path) -> dict[str, dict[str, Any]]:
    """Return name -> record of the exhibits below `out`, in the page's order.

    Records of other names are ignored, and so are records that cannot be read or lack a part or a picture.
    """
    records = {name: _record(out / "figures" / f"{name}.json") for name in NAMES}
    return {name: record for name, record in records.items() if record is not None}


def _record(path: Path) -> dict[str, Any] | None:
    try:
        record = read_json(path)
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or any(part not in record for part in _PARTS):
        return None
    drag = record.get("interactive")
    needed = [path.parent / f"{entry['stem']}.png" for entry in record["pictures"]]
    needed += [path.parent.parent / "pages" / f"{drag['stem']}.html"] if drag else []
    return record if all(file.is_file() for file in needed) else None


def _contents(headings: Mapping[str, list[str]], records: Mapping[str, Mapping[str, Any]]) -> str:
    told = [link(f"#{each.anchor}", each.title) for each in QUESTIONS if records.get(each.name, {}).get("story")]
    groups = {
        heading: [link(f"#{name}", records[name]["title"]) for name in names] for heading, names in headings.items()
    }
    appended = (
        f"<div><h3>{escape(title)}</h3>\n{items(links, raw=True)}</div>" for title, links in groups.items() if links
    )
    absent = [name for name in NAMES if name not in records]
    note = f"<p>Not drawn: {', '.join(absent)}.</p>" if absent else ""
    ends = [link("#appendix", "Appendix: every figure and table"), link("#provenance", "Where the numbers come from")]
    return (
        f"{items([*told, *ends], raw=True)}\n<details>\n<summary>Contents of the appendix</summary>\n"
        f'<div class="groups">\n{"".join(appended)}\n</div>\n{note}</details>'
    )


def _scripts(records: Mapping[str, Mapping[str, Any]], out: Path) -> str:
    """Return the part of the policy that lets the scripts of the pages to drag run, and no other."""
    stems = [drag["stem"] for record in records.values() if record.get("story") and (drag := record.get("interactive"))]
    texts = ((out / "pages" / f"{stem}.html").read_text(encoding="utf-8") for stem in stems)
    hashes = {
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for text in texts
        for script in _SCRIPT.findall(text)
    }
    allowed = " ".join(f"'sha256-{digest}'" for digest in sorted(hashes))
    return f"; script-src {allowed}" if hashes else ""
