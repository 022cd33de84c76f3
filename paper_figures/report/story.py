"""The first part of the page: the finding, three figures, and a section for each question."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from paper_figures.report.markup import items, link, picture, prose

Record = Mapping[str, Any]


class Question(NamedTuple):
    """A question of the page, its anchor, and the exhibit that answers it."""

    anchor: str
    title: str
    name: str


GLANCE = "at_a_glance"  # the exhibit whose pictures stand on the first screen
QUESTIONS = (
    Question("one-step", "What does the factor do in one step?", "fig3_method"),
    Question("a-decode", "What does a whole decode look like?", "fig4_worked_decode"),
    Question("order", "Does the order matter?", "order_quality"),
    Question("rounding", "What does rounding do?", "saturation"),
    Question("scale", "What can a temperature reach?", "scale_path"),
    Question("statements", "Which statements of the paper hold?", "ledger"),
    Question("cost", "What does it cost?", "quality_per_forward"),
)


def finding(records: Mapping[str, Record]) -> str:
    """Return the answer to the page's title; empty where it was not drawn."""
    story = records.get(GLANCE, {}).get("story")
    if not story:
        return ""
    rest = "".join(f"<p>{prose(line)}</p>" for line in story["text"])
    return f'<p class="finding">{prose(story["claim"])}</p>\n{rest}'


def glance(records: Mapping[str, Record], out: Path) -> str:
    """Return the figures of the first screen, side by side."""
    drawn = records.get(GLANCE, {}).get("pictures", [])
    return f'<div class="glance">\n{"".join(picture(entry, out) for entry in drawn)}</div>' if drawn else ""


def sections(records: Mapping[str, Record], out: Path) -> str:
    """Return a section for each question whose exhibit was drawn: a claim, a picture or a page to drag, a caveat."""
    told = (question for question in QUESTIONS if records.get(question.name, {}).get("story"))
    return "\n".join(_section(question, records[question.name], out) for question in told)


def told_pictures(records: Mapping[str, Record]) -> dict[str, str]:
    """Return stem of a picture that stands in this part -> anchor of its section."""
    shown = {entry["stem"]: "glance" for entry in records.get(GLANCE, {}).get("pictures", [])}
    told = ((question.anchor, records.get(question.name, {}).get("story")) for question in QUESTIONS)
    return shown | {story["stem"]: anchor for anchor, story in told if story}


def _section(question: Question, record: Record, out: Path) -> str:
    story, title = record["story"], f"{question.anchor}-title"
    still = next(entry for entry in record["pictures"] if entry["stem"] == story["stem"])
    parts = [
        f'<h2 id="{title}">{escape(question.title)}</h2>',
        f'<p class="claim">{prose(story["claim"])}</p>',
        items(story["text"]) if len(story["text"]) > 2 else "".join(f"<p>{prose(line)}</p>" for line in story["text"]),
        _shown(record, still, out),
        f'<p class="caveat">{prose(story["caveat"])} {link(f"#{question.name}", "All of it, with data")}</p>',
    ]
    body = "\n".join(filter(None, parts))
    return f'<section id="{question.anchor}" class="story" aria-labelledby="{title}">\n{body}\n</section>'


def _shown(record: Record, still: Mapping[str, str], out: Path) -> str:
    """Return the picture; on screens a page to drag in its place, where the exhibit has one."""
    drag = record.get("interactive")
    if not drag:
        return picture(still, out, folded=True)
    html = (out / "pages" / f"{drag['stem']}.html").read_text(encoding="utf-8")
    inside = html.replace("&", "&amp;").replace("'", "&#39;")
    frame = f"<iframe class='drag' loading='lazy' title='{escape(drag['title'])}' srcdoc='{inside}'></iframe>"
    return f'{frame}\n<div class="still">{picture(still, out, folded=True)}</div>'
