"""Write the page OUT/index.html: what was found, a section for each question, and all figures and tables folded.

`page.html` is its template, `page.css` the style. The page needs no network, and its policy lets a browser fetch
nothing. The only scripts that run are those of the pages to drag, told by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from paper_figures.exhibits import NAMES, by_heading
from paper_figures.report.runs import copied_files, runs_behind, setting, time_text
from paper_figures.runner.versions import provenance
from paper_figures.table import GROUPS
from rws_decode.common.files import read_json, write_text

Record = Mapping[str, Any]

_PARTS = ("title", "pictures", "tables", "conclusions", "inputs", "story", "interactive", "runs")
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
# Cells with more letters, or longer than that, are text and wrap; others are numbers and stay on one line.
_LETTERS, _LONG = 20, 44
_NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?( ?%)?$")


class Question(NamedTuple):
    """A question of the page, its anchor, and the exhibit that answers it."""

    anchor: str
    title: str
    name: str


GLANCE = "at_a_glance"  # the exhibit whose pictures stand on the first screen
QUESTIONS = (
    Question("a-decode", "What does a whole decode look like?", "fig4_worked_decode"),
    Question("scale", "What can a temperature reach?", "scale_path"),
    Question("one-step", "What does the factor do in one step?", "fig3_method"),
    Question("order", "Does the order matter?", "order_quality"),
    Question("rounding", "What does rounding do?", "saturation"),
    Question("statements", "Which statements of the paper hold?", "ledger"),
    Question("cost", "What does it cost?", "quality_per_forward"),
)


def write_page(runs: Path, out: Path) -> list[Path]:
    """Write OUT/index.html from the records of all exhibits below `out`; return it and the files copied for it.

    Pictures, tables and texts are part of the page. Every link is relative and stays below `out`: results and traces
    that were recorded elsewhere are copied to OUT/traces.
    """
    records = read_records(out)
    copied, links = copied_files(records.values(), runs, out)
    headings = {heading: [name for name in names if name in records] for heading, names in by_heading().items()}
    glance = records.get(GLANCE, {"story": None, "pictures": []})
    shown = [each for each in QUESTIONS if each.name in records and records[each.name]["story"]]
    page = environment(out).get_template("page.html")
    text = page.render(
        records=records,
        headings={heading: names for heading, names in headings.items() if names},
        absent=[name for name in NAMES if name not in records],
        glance=glance,
        told=shown,
        above={entry["stem"]: "glance" for entry in glance["pictures"]}
        | {records[each.name]["story"]["stem"]: each.anchor for each in shown},
        setting=setting(records),
        policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'{_scripts(records, out)}",
        runs=runs_behind(records),
        links=links,
        here=provenance(),
    )
    return [*copied, write_text(out / "index.html", text)]


def environment(out: Path) -> Environment:
    """Return what fills in the page's template; pictures and pages to drag are those below `out`."""

    def png_of(stem: str) -> dict[str, Any]:
        data = (out / "figures" / f"{stem}.png").read_bytes()
        # Width and height stand in the header, which comes first in a PNG.
        width, height = (int.from_bytes(data[place : place + 4]) for place in (16, 20))
        return {"data": base64.b64encode(data).decode("ascii"), "width": width, "height": height}

    def srcdoc_of(stem: str) -> Markup:
        html = (out / "pages" / f"{stem}.html").read_text(encoding="utf-8")
        return Markup(html.replace("&", "&amp;").replace("'", "&#39;"))

    loader = PackageLoader("paper_figures", "report")
    made = Environment(loader=loader, undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.globals |= {"png_of": png_of, "srcdoc_of": srcdoc_of, "columns_of": columns_of, "spans_of": _spans}
    made.globals |= {"verdicts_of": _verdicts}
    made.filters |= {"prose": prose, "told": _told, "time": time_text, "short": short_title}
    made.filters["key"] = lambda name: name.replace(" ", "-").lower()
    return made


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
    drag = record["interactive"]
    needed = [path.parent / f"{entry['stem']}.png" for entry in record["pictures"]]
    needed += [path.parent.parent / "pages" / f"{drag['stem']}.html"] if drag else []
    return record if all(file.is_file() for file in needed) else None


def _scripts(records: Mapping[str, Record], out: Path) -> str:
    """Return the part of the policy that lets the scripts of the pages to drag run, and no other."""
    stems = [drag["stem"] for record in records.values() if record["story"] and (drag := record["interactive"])]
    texts = ((out / "pages" / f"{stem}.html").read_text(encoding="utf-8") for stem in stems)
    hashes = {
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for text in texts
        for script in _SCRIPT.findall(text)
    }
    allowed = " ".join(f"'sha256-{digest}'" for digest in sorted(hashes))
    return f"; script-src {allowed}" if hashes else ""


class HtmlColumn(NamedTuple):
    """A table's column: its label, its group ("paper", "here" or ""), what its cells are, and its whole name."""

    label: str
    group: str
    kind: str
    name: str


def columns_of(entry: Record) -> list[HtmlColumn]:
    """Return the columns of a record's table.

    >>> columns_of({"columns": ["paper: perplexity"], "rows": [["1.5"], [None]]})
    [HtmlColumn(label='perplexity', group='paper', kind='number', name='printed in the paper: perplexity')]
    """
    columns = []
    for column, cells in zip(entry["columns"], zip(*entry["rows"], strict=True), strict=True):
        group, colon, label = column.partition(": ") if ": " in column else ("", "", column)
        columns.append(HtmlColumn(label, group, _kind(cells), f"{GROUPS.get(group, group)}{colon}{label}"))
    return columns


def _kind(cells: Sequence[Any]) -> str:
    """Return what a column holds: "number", "text", "long text", or "" for short entries.

    >>> _kind(["1.5", None, "-2"]), _kind(["a reward model that did not guide"]), _kind(["+0.1 [-1, +2] p 0.5"])
    ('number', 'text', '')
    """
    texts = [str(cell) for cell in cells if cell is not None]
    if texts and all(map(_NUMBER.match, texts)):
        return "number"
    if any(len(text) > _LONG or sum(map(str.isalpha, text)) > _LETTERS for text in texts):
        return "long text" if max(map(len, texts)) > 2 * _LONG else "text"
    return ""


def _spans(columns: Sequence[HtmlColumn]) -> list[tuple[str, str, int]]:
    """Return each group beside its neighbours, its title, and over how many columns it stands."""
    runs = [(group, len(list(members))) for group, members in groupby(columns, key=lambda column: column.group)]
    return [(group, GROUPS.get(group, group), count) for group, count in runs]


def _verdicts(record: Record) -> list[str]:
    (table,) = record["tables"]
    return list(dict.fromkeys(row[table["columns"].index("verdict")] for row in table["rows"]))


def prose(text: str) -> Markup:
    """Return text as HTML, with code between backticks.

    >>> str(prose("`--prompts 8` & more"))
    '<code>--prompts 8</code> &amp; more'
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def short_title(title: str) -> str:
    """Return the figure's or table's number that begins a title; the whole title if there is none.

    >>> short_title("Table 8: temperature against reward"), short_title("Controls: what remains")
    ('Table 8', 'Controls: what remains')
    """
    name = title.partition(":")[0]
    return name if name.startswith(("Figure ", "Table ", "Appendix ")) else title


def _told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_told, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_told(item)}" for name, item in value.items()) or "none"
    if isinstance(value, bool):  # before numbers, as 1 == True
        return "yes" if value else "no"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
