"""The page that shows every figure and table beside what the paper printed: OUT/index.html, read without a network."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any

from paper_figures.contents import NAMES
from paper_figures.page import PAGE
from paper_figures.provenance import provenance
from rws_decode.files import write_bytes, write_text

__all__ = ["write_page"]


def write_page(runs: Path, out: Path) -> list[Path]:
    """Write OUT/index.html from the records of all exhibits below `out`; return it and the traces copied for it.

    Every link is relative and stays below `out`: traces that were recorded elsewhere are copied to OUT/traces.
    """
    records: dict[str, dict[str, Any]] = {}
    for name in NAMES:
        if (path := out / "figures" / f"{name}.json").is_file():
            records[name] = json.loads(path.read_text(encoding="utf-8"))
    copied, links = _traces(records.values(), runs, out)
    sections = "\n".join(_section(name, record) for name, record in records.items())
    page = Template(PAGE).substitute(
        contents=" ".join(f'<a href="#{name}">{escape(record["title"])}</a>' for name, record in records.items()),
        conclusions="\n".join(
            f"<h3>{escape(record['title'])}</h3>\n{_items(record['conclusions'])}" for record in records.values()
        ),
        sections=sections,
        runs="\n".join(_settings(record) for record in records.values() if record["settings"]),
        traces=_items((f'<a href="{escape(link)}">{escape(link)}</a>' for link in links), raw=True),
        provenance=_pairs(provenance()),
    )
    return [*copied, write_text(out / "index.html", page)]


def _traces(records: Iterable[Mapping[str, Any]], runs: Path, out: Path) -> tuple[list[Path], list[str]]:
    copied, links = [], []
    inside = runs.resolve().is_relative_to(out.resolve())
    for name in dict.fromkeys(name for record in records for name in record["inputs"]):
        source = runs / name
        if not source.is_file() and not (inside and source.is_dir()):
            continue  # an older record's runs, which this call was not given, or a folder of many traces elsewhere
        target = source if inside else out / "traces" / name
        if not inside:
            copied.append(write_bytes(target, source.read_bytes()))
        links.append(Path(os.path.relpath(target.resolve(), out.resolve())).as_posix())
    return copied, links


def _section(name: str, record: Mapping[str, Any]) -> str:
    pictures = "\n".join(_picture(picture) for picture in record["pictures"])
    sheets = "\n".join(_table(sheet) for sheet in record["sheets"])
    return f'<section id="{escape(name)}">\n<h2>{escape(record["title"])}</h2>\n{pictures}\n{sheets}\n</section>'


def _picture(picture: Mapping[str, str]) -> str:
    stem = f"figures/{escape(picture['stem'])}"
    return (
        f'<figure>\n<div class="wide" tabindex="0"><img src="{stem}.png" alt="{escape(picture["alt"])}"></div>\n'
        f"<figcaption>{escape(picture['caption'])} "
        f'<a href="{stem}.png">PNG</a> <a href="{stem}.pdf">PDF</a></figcaption>\n</figure>'
    )


def _table(sheet: Mapping[str, Any]) -> str:
    stem = f"tables/{escape(sheet['stem'])}"
    groups = [column.partition(": ")[0] if ": " in column else "" for column in sheet["columns"]]
    labels = [
        column.partition(": ")[2] if group else column for column, group in zip(sheet["columns"], groups, strict=True)
    ]
    head = "".join(_th(label, group) for label, group in zip(labels, groups, strict=True))
    if any(groups):
        head = f"{_spans(groups)}</tr>\n<tr>{head}"
    body = "\n".join(
        "<tr>" + "".join(_td(cell, group) for cell, group in zip(row, groups, strict=True)) + "</tr>"
        for row in sheet["rows"]
    )
    return (
        f'<div class="wide" tabindex="0">\n<table>\n<caption>{escape(sheet["caption"])} <a href="{stem}.csv">CSV</a> '
        f'<a href="{stem}.md">Markdown</a></caption>\n<thead>\n<tr>{head}</tr>\n</thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _spans(groups: Sequence[str]) -> str:
    cells = [(group, len(list(run))) for group, run in groupby(groups)]
    titles = {"paper": "printed in the paper", "here": "measured here", "": ""}
    return "".join(
        f'<th colspan="{count}"{_class(group)} scope="colgroup">{escape(titles.get(group) or group)}</th>'
        for group, count in cells
    )


def _class(group: str) -> str:
    return f' class="{group}"' if group in ("paper", "here") else ""


def _th(label: str, group: str) -> str:
    return f'<th{_class(group)} scope="col">{escape(label)}</th>'


def _td(cell: Any, group: str) -> str:
    return f"<td{_class(group)}>{'&ndash;' if cell is None else escape(str(cell))}</td>"


def _settings(record: Mapping[str, Any]) -> str:
    took = "" if record["seconds"] is None else f" ({record['seconds']:.0f} s of decoding)"
    return f"<h3>{escape(record['title'])}{took}</h3>\n{_pairs(record['settings'])}"


def _pairs(facts: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<div><dt>{escape(str(name))}</dt><dd>{escape(_value(value))}</dd></div>" for name, value in facts.items()
    )
    return f"<dl>{rows}</dl>"


def _value(value: Any) -> str:
    if isinstance(value, str) and Path(value).is_absolute():
        return Path(value).name  # a model's directory: which machine it lay on is nobody's business
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _items(lines: Iterable[str], raw: bool = False) -> str:
    return "<ul>\n" + "\n".join(f"<li>{line if raw else escape(line)}</li>" for line in lines) + "\n</ul>"
