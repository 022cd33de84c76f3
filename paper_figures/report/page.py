"""Write the page OUT/index.html: every figure and table beside what the paper printed, in one file.

`page.html` holds the text and the places that are filled in, `page.css` the style. The page needs no network, and its
policy lets a browser fetch nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from paper_figures.contents import NAMES, by_heading
from paper_figures.report.conclusions import conclusions, setting
from paper_figures.report.markup import items, link, passage, picture, prose, table
from paper_figures.report.runs_section import copied_files, runs_section
from rws_decode.common.files import parse_json, write_text

__all__ = ["read_records", "style", "write_page"]

# So many further conclusions are read at once; more are unfolded.
_LINES = 4
_PARTS = ("title", "pictures", "tables", "passages", "conclusions", "inputs")


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
        setting=escape(setting(records)),
        contents=_contents(headings, records),
        conclusions=conclusions(records),
        sections="\n".join(_group(heading, names, records, out) for heading, names in headings.items() if names),
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
        record = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or any(part not in record for part in _PARTS):
        return None
    return record if all((path.parent / f"{entry['stem']}.png").is_file() for entry in record["pictures"]) else None


def _contents(headings: Mapping[str, list[str]], records: Mapping[str, Mapping[str, Any]]) -> str:
    groups = {
        heading: [link(f"#{name}", records[name]["title"]) for name in names] for heading, names in headings.items()
    }
    groups["This page"] = [link("#conclusions", "In plain words"), link("#provenance", "Where the numbers come from")]
    shown = (
        f"<div><h3>{escape(title)}</h3>\n{items(links, raw=True)}</div>" for title, links in groups.items() if links
    )
    absent = [name for name in NAMES if name not in records]
    note = f"<p>Not drawn: {', '.join(absent)}.</p>" if absent else ""
    return f'<div class="groups">\n{"".join(shown)}\n</div>\n{note}'


def _group(heading: str, names: list[str], records: Mapping[str, Mapping[str, Any]], out: Path) -> str:
    sections = "\n".join(_section(name, records[name], out) for name in names)
    return f"<h2>{escape(heading)}</h2>\n{sections}"


def _section(name: str, record: Mapping[str, Any], out: Path) -> str:
    title = f'<span id="{name}-title">{escape(record["title"])}</span>'
    up = f'<span class="up">{link("#contents", "Contents")}</span>'
    parts = [
        f"<h3>{title} {up}</h3>",
        _said(record["conclusions"]),
        *(picture(entry, out) for entry in record["pictures"]),
        *(table(entry) for entry in record["tables"]),
        *(passage(entry) for entry in record["passages"]),
    ]
    body = "\n".join(filter(None, parts))
    return f'<section id="{name}" class="exhibit" aria-labelledby="{name}-title">\n{body}\n</section>'


def _said(lines: list[str]) -> str:
    """Return an exhibit's conclusions: the headline, and the rest as a list, folded where it is long."""
    if not lines:
        return ""
    first, rest = f'<p class="headline">{prose(lines[0])}</p>', lines[1:]
    if len(rest) <= _LINES:
        return first + (f"\n{items(rest)}" if rest else "")
    return f"{first}\n<details>\n<summary>{len(rest)} further conclusions</summary>\n{items(rest)}\n</details>"
