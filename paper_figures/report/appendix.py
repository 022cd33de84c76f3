"""The appendix of the page: every exhibit, folded, with its conclusions, pictures, tables and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from paper_figures.exhibits.findings import shows_nothing
from paper_figures.report.markup import figure_text, items, link, passage, picture, prose, table, verdict
from paper_figures.report.story import told_pictures

Record = Mapping[str, Any]

_FEW = 100  # prompts: with fewer an exhibit is an illustration
_FILTERED = "ledger"  # the exhibit whose rows are filtered by verdict


def appendix(headings: Mapping[str, list[str]], records: Mapping[str, Record], out: Path) -> str:
    """Return all exhibits under their headings, each folded; pictures that stand above are not repeated."""
    above = told_pictures(records)
    return "\n".join(
        f"<h3>{escape(heading)}</h3>\n" + "\n".join(_exhibit(name, records[name], out, above) for name in names)
        for heading, names in headings.items()
        if names
    )


def _exhibit(name: str, record: Record, out: Path, above: Mapping[str, str]) -> str:
    parts = [
        _few(record),
        _said(record["conclusions"]),
        *(_picture(entry, out, above) for entry in record["pictures"]),
        *(table(entry) for entry in record["tables"]),
        *(passage(entry) for entry in record["passages"]),
    ]
    body = "\n".join(filter(None, parts))
    if name == _FILTERED:
        body = f'<div class="filtered">\n{_filters(record)}\n{body}\n</div>'
    return (
        f'<details class="exhibit">\n<summary><h4 id="{name}-title">{escape(record["title"])}</h4></summary>\n'
        f'<section id="{name}" aria-labelledby="{name}-title">\n{body}\n</section>\n</details>'
    )


def _few(record: Record) -> str:
    """Say that an exhibit of few prompts is an illustration."""
    counts = [
        facts["prompts"]["test"] for facts in record.get("runs", {}).values() if "test" in (facts["prompts"] or {})
    ]
    if not counts or min(counts) >= _FEW:
        return ""
    prompts = f"{min(counts)} prompt{'s' if min(counts) > 1 else ''}"
    return f'<p class="note">An illustration, of {prompts}.</p>'


def _picture(entry: Mapping[str, str], out: Path, above: Mapping[str, str]) -> str:
    if entry["stem"] not in above:
        return picture(entry, out)
    where = link(f"#{above[entry['stem']]}", "The figure stands above")
    return f"<p>{where}. {figure_text(entry)}</p>"


def _said(lines: Sequence[str]) -> str:
    """Return an exhibit's conclusions; those that no difference is shown are counted, not listed."""
    told = [line for index, line in enumerate(lines) if not index or not shows_nothing(line)]
    left = len(lines) - len(told)
    if not told:
        return ""
    rest = told[1:]
    if left:
        rest.append(
            f"{left} further comparison{'s show' if left > 1 else ' shows'} no difference; the tables have them."
        )
    return f'<p class="headline">{prose(told[0])}</p>' + (f"\n{items(rest)}" if rest else "")


def _filters(record: Record) -> str:
    """Return radio buttons that keep the rows of one verdict; style alone hides the others."""
    (rows,) = record["tables"]
    verdicts = dict.fromkeys(row[rows["columns"].index("verdict")] for row in rows["rows"])
    names = {"all": "all", **{str(each).replace(" ", "-").lower(): str(each) for each in verdicts}}
    buttons = "".join(
        f'<label><input type="radio" name="verdict" id="keep-{key}"{" checked" if key == "all" else ""}> '
        f"{verdict(title, title) if key != 'all' else 'all'}</label>"
        for key, title in names.items()
    )
    return f"<fieldset><legend>Show statements that are</legend>{buttons}</fieldset>"
