"""Pictures, tables, passages and lists of a record as HTML; pictures are part of the page, so that it is one file."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from paper_figures.exhibits.exhibit import GROUPS, split_column

__all__ = ["items", "link", "pairs", "passage", "picture", "prose", "table", "verdict"]

# Cells with more letters, or longer than that, are read as text and wrap; others are numbers and stay on one line.
_LETTERS, _LONG = 20, 44
_NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?( ?%)?$")
# A table with so many columns of text is read row by row on a narrow screen, not sideways.
_TEXTS = 3
# A table with more rows scrolls in a box of its own, its head staying in sight.
_ROWS = 24


def picture(one: Mapping[str, str], out: Path) -> str:
    """Return a figure with its caption and links; its PNG below `out` becomes part of the page."""
    stem = f"figures/{one['stem']}"
    data = (out / f"{stem}.png").read_bytes()
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))  # of the header, which comes first in a PNG
    source = base64.b64encode(data).decode("ascii")
    return (
        f'<figure>\n{_box(one["caption"], "Figure")}<img src="data:image/png;base64,{source}" '
        f'width="{width}" height="{height}" alt="{escape(one["alt"])}"></div>\n'
        f"<figcaption>{prose(one['caption'])} {_files(stem, ('png', 'pdf'))}</figcaption>\n</figure>"
    )


def table(sheet: Mapping[str, Any]) -> str:
    """Return a table with its caption and links; columns of text wrap, columns of numbers are set flush right."""
    stem, caption = f"tables/{sheet['stem']}", f"{sheet['stem']}-caption"
    groups, labels = zip(*map(split_column, sheet["columns"]), strict=True)
    columns = [[row[place] for row in sheet["rows"]] for place in range(len(labels))]
    kinds = [_kind(column) for column in columns]
    head = "".join(
        f'<th scope="col"{_classes(group, kind)}>{escape(label)}</th>'
        for label, group, kind in zip(labels, groups, kinds, strict=True)
    )
    if any(groups):
        head = f"{_spans(groups)}</tr>\n<tr>{head}"
    body = "\n".join(f"<tr>{_row(row, labels, groups, kinds)}</tr>" for row in sheet["rows"])
    stacked = kinds.count("text") + kinds.count("long text") >= _TEXTS
    own = "rows" if stacked else ""
    return (
        f'<figure class="table">\n<figcaption id="{escape(caption)}">{prose(sheet["caption"])} '
        f"{_files(stem, ('csv', 'md', 'tex'))}</figcaption>\n"
        f"{_box(sheet['caption'], 'Table', 'tall' if len(sheet['rows']) > _ROWS and not stacked else '')}"
        f'<table aria-labelledby="{escape(caption)}"{_classes(own)}>\n<thead>\n<tr>{head}</tr>\n</thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>\n</figure>"
    )


def passage(one: Mapping[str, str]) -> str:
    """Return text as it stands, which wraps, with its caption and link."""
    files = _files(f"texts/{one['stem']}", ("txt",))
    return (
        f'<figure class="passage">\n<figcaption>{prose(one["caption"])} {files}</figcaption>'
        f'\n<pre tabindex="0" role="group" aria-label="Text">{escape(one["text"])}</pre>\n</figure>'
    )


def pairs(facts: Mapping[str, Any]) -> str:
    """Return names with their values."""
    rows = "".join(
        f"<div><dt>{escape(str(name))}</dt><dd>{escape(_value(value))}</dd></div>" for name, value in facts.items()
    )
    return f"<dl>{rows}</dl>"


def items(lines: Iterable[str], *, raw: bool = False) -> str:
    """Return a list of lines; raw: they are HTML already."""
    return "<ul>\n" + "\n".join(f"<li>{line if raw else prose(line)}</li>" for line in lines) + "\n</ul>"


def prose(text: str) -> str:
    """Return text in which what stands between backticks is set as code.

    >>> prose("`--prompts 8` & more")
    '<code>--prompts 8</code> &amp; more'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def link(target: str, text: str) -> str:
    """Return a link to a place of the page or to a file beside it."""
    return f'<a href="{escape(target)}">{escape(text)}</a>'


def verdict(name: str, text: str) -> str:
    """Return text in the colours of a verdict, which it names.

    >>> verdict("true with correction", "5 true with correction")
    '<span class="verdict true-with-correction">5 true with correction</span>'
    """
    return f'<span class="verdict {escape(name.replace(" ", "-").lower())}">{escape(text)}</span>'


def _files(stem: str, suffixes: Sequence[str]) -> str:
    names = {"png": "PNG", "pdf": "PDF", "csv": "CSV", "md": "Markdown", "tex": "LaTeX", "txt": "Text"}
    found = (link(f"{stem}.{suffix}", names[suffix]) for suffix in suffixes)
    return f'<span class="files">{" ".join(found)}</span>'


def _box(caption: str, what: str, kind: str = "") -> str:
    """Return the opening of a box that scrolls sideways, by keyboard too, named after the beginning of its caption."""
    name = escape(f"{what}: {' '.join(caption.split()[:10])}")
    return f'<div class="{f"wide {kind}".strip()}" tabindex="0" role="group" aria-label="{name}">'


def _kind(cells: Sequence[str | None]) -> str:
    """Return what a column holds: "number", "text", "long text", or "" for short entries.

    >>> _kind(["1.5", None, "-2"]), _kind(["a reward model that did not guide"]), _kind(["+0.1 [-1, +2] p 0.5"])
    ('number', 'text', '')
    """
    known = [str(cell) for cell in cells if cell is not None]
    if known and all(map(_NUMBER.match, known)):
        return "number"
    if any(len(cell) > _LONG or sum(map(str.isalpha, cell)) > _LETTERS for cell in known):
        return "long text" if max(map(len, known)) > 2 * _LONG else "text"
    return ""


def _spans(groups: Sequence[str]) -> str:
    cells = [(group, len(list(run))) for group, run in groupby(groups)]
    return "".join(
        f'<th colspan="{count}"{_classes(group)} scope="colgroup">{escape(GROUPS.get(group, group))}</th>'
        if group
        else f'<td colspan="{count}"></td>'
        for group, count in cells
    )


def _row(row: Sequence[Any], labels: Sequence[str], groups: Sequence[str], kinds: Sequence[str]) -> str:
    cells = []
    for place, (cell, label, group, kind) in enumerate(zip(row, labels, groups, kinds, strict=True)):
        tag, scope = ("td", "") if place else ("th", ' scope="row"')
        text = "&ndash;" if cell is None else escape(str(cell))
        if label == "verdict" and cell is not None:
            text = verdict(str(cell), str(cell))
        name = f"{GROUPS.get(group, group)}: {label}" if group else label
        cells.append(f'<{tag}{scope}{_classes(group, kind)} data-label="{escape(name)}">{text}</{tag}>')
    return "".join(cells)


def _classes(*names: str) -> str:
    known = " ".join(name for name in names if name)
    return f' class="{escape(known)}"' if known else ""


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value(one)}" for name, one in value.items()) or "none"
    if isinstance(value, bool):  # before numbers, as 1 == True
        return "yes" if value else "no"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
