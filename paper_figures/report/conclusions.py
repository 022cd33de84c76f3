"""The beginning of the page: what holds, what does not, what the reward does, and a linked line for each exhibit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any

from paper_figures.contents import by_heading
from paper_figures.report.markup import items, link, prose, verdict
from paper_figures.runner.claims_run import is_ours

__all__ = ["conclusions", "setting", "short_title"]

Record = Mapping[str, Any]

_FOLDED = "<details>\n<summary>{}</summary>\n{}\n</details>"
# What comes before the paper's own figures and tables, and of the ledger every line, since each is of a part.
_LEDGER = "ledger"
_QUESTION = ("reward_controls", "reward_frontier", "order_quality", "table8_pattern")
_APART = ("controls", "cross_judging", "saturation")
_OPEN = (_QUESTION[0], _LEDGER)  # the first exhibits of the groups that are not folded
# What the shipped worlds are.
_WORLDS = {"english": "an n-gram model of public-domain English"}


def conclusions(records: Mapping[str, Record]) -> str:
    """Return the first conclusion of every exhibit that was made, under headings.

    Whether the reward matters and what holds are open; the rest is folded.
    """
    rest = {
        heading: [name for name in names if name not in (_LEDGER, *_QUESTION, *_APART)]
        for heading, names in by_heading().items()
    }
    of_paper = [name for heading, names in rest.items() if heading.endswith("of the paper") for name in names]
    groups = {
        "Does the reward matter?": list(_QUESTION),
        "What of the paper holds": [_LEDGER],
        "What the reward does, apart from sharpening and rounding, on few prompts": list(_APART),
        "A line for every figure and table of the paper": of_paper,
        "Beyond the paper": [name for names in rest.values() for name in names if name not in of_paper],
    }
    sections = []
    for heading, names in groups.items():
        if heading.startswith("A line") and (wrong := _wrong(records.get(_LEDGER))):
            title = f"<h3>The {len(wrong)} statements that are false, and what holds instead</h3>"
            sections.append(_FOLDED.format(title, items(wrong)))
        lines = [line for name in names if name in records for line in _lines(name, records[name])]
        if lines:
            counts = _counts(records[_LEDGER]) if _LEDGER in names else ""
            title, said = f"<h3>{escape(heading)}</h3>", f"{counts}{items(lines, raw=True)}"
            sections.append(_FOLDED.format(title, said) if names[0] not in _OPEN else f"{title}\n{said}")
    return "\n".join(sections)


def _claims(ledger: Record) -> list[dict[str, str | None]]:
    """Return the rows of the ledger's claims that the paper makes."""
    (table,) = ledger["tables"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    return [row for row in rows if not is_ours(row["where"] or "")]


def _wrong(ledger: Record | None) -> list[str]:
    """Return the paper's false statements, each with its place and what holds instead."""
    statement, instead = "the paper's statement", "instead"
    return [
        f"{row['where']}: {row[statement]}" + (f" Instead: {row[instead]}" if row[instead] else "")
        for row in (_claims(ledger) if ledger else [])
        if row["verdict"] == "false"
    ]


def _counts(ledger: Record) -> str:
    """Return how many claims of the paper have each verdict, most frequent first."""
    verdicts = Counter(str(row["verdict"]) for row in _claims(ledger))
    badges = " ".join(verdict(name, f"{number} {name}") for name, number in verdicts.most_common())
    return f'<p class="counts">{badges}</p>\n'


def _lines(name: str, record: Record) -> list[str]:
    title = short_title(record["title"])
    lines = record["conclusions"] if name == _LEDGER else record["conclusions"][:1]
    # A line that begins with its exhibit's name need not say it twice.
    whole = [line.removeprefix(f"{title}: ") for line in lines]
    return [f"{link(f'#{name}', title)}: {prose(line)}" for line in whole[:1]] + [prose(line) for line in whole[1:]]


def short_title(title: str) -> str:
    """Return the figure's or table's number that begins a title; the whole title if there is none.

    >>> short_title("Table 8: temperature against reward"), short_title("Controls: what remains")
    ('Table 8', 'Controls: what remains')
    """
    name = title.partition(":")[0]
    return name if name.startswith(("Figure ", "Table ", "Appendix ")) else title


def setting(records: Mapping[str, Record]) -> str:
    """Return a sentence with the models, reward models and numbers of prompts of all runs."""
    runs = {name: facts for record in records.values() for name, facts in record.get("runs", {}).items()}
    settings = [facts["settings"] for facts in runs.values() if facts["settings"]]
    if not settings:
        return ""
    models = _named([options["model"] for options in settings if "model" in options])
    rewards = _named(
        [name for options in settings for name in [*options.get("rewards", []), *_single(options.get("reward"))]]
    )
    counts = [facts["prompts"]["test"] for facts in runs.values() if facts["prompts"] and "test" in facts["prompts"]]
    prompts = f", {_span(counts)} prompts in each study that was run for this page" if counts else ""
    more = " Whether the reward matters is asked on hundreds of prompts." if _QUESTION[0] in records else ""
    return f"Ours are of the model {models}, guided by the reward models {rewards}{prompts}.{more}{_whose(settings)}"


def _whose(settings: list[Mapping[str, Any]]) -> str:
    """Return a sentence on what the shipped models are, if nothing else was decoded; else ""."""
    from rws_decode.checkpoints.files import shipped

    models = {options["model"] for options in settings if "model" in options}
    if not models or not models <= {*shipped("BertForMaskedLM"), *_WORLDS}:
        return ""
    worlds, others = sorted(models & _WORLDS.keys()), sorted(models - _WORLDS.keys())
    made_up = "is a small model" if len(others) == 1 else "are small models"
    said = [f"{_named(others)} {made_up} of a made-up language of stories"] if others else []
    said += [f"{world} is {_WORLDS[world]}" for world in worlds]
    return f" {', and '.join(said)}, shipped with this project: nothing here was measured on LLaDA, the paper's model."


def _single(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else []


def _named(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]])) or "not named"


def _span(counts: list[int]) -> str:
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
