"""Pictures, tables, passages and lists of a record as HTML; pictures are embedded, so the page is one file."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from paper_figures.table import Table, to_html

# A table with more rows scrolls in a box of its own, its head staying in sight.
_ROWS = 24


def picture(record: Mapping[str, str], out: Path, folded: bool = False) -> str:
    """Return a figure with its caption and links; its PNG below `out` becomes part of the page.

    A folded caption opens when the reader asks how to read the figure.
    """
    stem = f"figures/{record['stem']}"
    data = (out / f"{stem}.png").read_bytes()
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))  # of the header, which comes first in a PNG
    source = base64.b64encode(data).decode("ascii")
    return (
        f'<figure>\n{_box(record["caption"], "Figure")}<img src="data:image/png;base64,{source}" '
        f'width="{width}" height="{height}" alt="{escape(record["alt"])}"></div>\n'
        f"<figcaption>{_folded(figure_text(record)) if folded else figure_text(record)}</figcaption>\n</figure>"
    )


def figure_text(record: Mapping[str, str]) -> str:
    """Return a figure's caption and the links to its files."""
    return f"{prose(record['caption'])} {_files('figures/' + record['stem'], ('png', 'pdf'))}"


def _folded(text: str) -> str:
    return f"<details><summary>How to read this figure</summary>{text}</details>"


def table(record: Mapping[str, Any]) -> str:
    """Return a table with its caption and links."""
    rows = [dict(zip(record["columns"], row, strict=True)) for row in record["rows"]]
    made = Table(record["stem"], rows, rows, record["caption"])
    caption_id = f"{made.name}-caption"
    html, stacked = to_html(made, caption_id, {"verdict": lambda text: verdict(text, text)})
    box = _box(made.caption, "Table", "tall" if len(rows) > _ROWS and not stacked else "")
    return (
        f'<figure class="table">\n<figcaption id="{escape(caption_id)}">{prose(made.caption)} '
        f"{_files(f'tables/{made.name}', ('csv', 'md', 'tex'))}</figcaption>\n{box}{html}</div>\n</figure>"
    )


def passage(record: Mapping[str, str]) -> str:
    """Return text as it stands, which wraps, with its caption and link."""
    files = _files(f"texts/{record['stem']}", ("txt",))
    return (
        f'<figure class="passage">\n<figcaption>{prose(record["caption"])} {files}</figcaption>'
        f'\n<pre tabindex="0" role="group" aria-label="Text">{escape(record["text"])}</pre>\n</figure>'
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
    """Return text as HTML, with code between backticks.

    >>> prose("`--prompts 8` & more")
    '<code>--prompts 8</code> &amp; more'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def link(target: str, text: str) -> str:
    """Return a link to a place of the page or to a file beside it."""
    return f'<a href="{escape(target)}">{escape(text)}</a>'


def verdict(name: str, text: str) -> str:
    """Return text in the colours of a verdict.

    >>> verdict("true with correction", "5 true with correction")
    '<span class="verdict true-with-correction">5 true with correction</span>'
    """
    return f'<span class="verdict {escape(name.replace(" ", "-").lower())}">{escape(text)}</span>'


def _files(stem: str, suffixes: Sequence[str]) -> str:
    names = {"png": "PNG", "pdf": "PDF", "csv": "CSV", "md": "Markdown", "tex": "LaTeX", "txt": "Text"}
    links = (link(f"{stem}.{suffix}", names[suffix]) for suffix in suffixes)
    return f'<span class="files">{" ".join(links)}</span>'


def _box(caption: str, what: str, kind: str = "") -> str:
    """Return the opening tag of a box that scrolls sideways, also by keyboard, named after its caption."""
    name = escape(f"{what}: {' '.join(caption.split()[:10])}")
    return f'<div class="{f"wide {kind}".strip()}" tabindex="0" role="group" aria-label="{name}">'


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value(item)}" for name, item in value.items()) or "none"
    if isinstance(value, bool):  # before numbers, as 1 == True
        return "yes" if value else "no"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
