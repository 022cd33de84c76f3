"""The end of the page: its runs, their times, commands and options, and the files of their results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from paper_figures.report.markup import items, link, pairs, prose
from paper_figures.report.provenance import notes, provenance
from rws_decode.common.files import write_bytes

Record = Mapping[str, Any]
_COLUMNS = ("run", "time", "model", "prompts", "seed", "device", "notes", "shown in")
_SIZES = (
    "Small sizes are below an experiment's own. They make every figure in minutes; with so few prompts, intervals are "
    "wide."
)
_DIGITS = 16  # of a digest: enough to tell files apart


@dataclass(frozen=True)
class Run:
    """A run of an experiment, the facts of it, and the exhibits that were drawn from it."""

    experiment: str
    facts: Mapping[str, Any]
    exhibits: tuple[str, ...]


def runs_behind(records: Mapping[str, Record]) -> list[Run]:
    """Return the runs that the exhibits were drawn from; an experiment may have several."""
    runs: list[Run] = []
    for name, record in records.items():
        for experiment, facts in record.get("runs", {}).items():
            same = [run for run in runs if (run.experiment, run.facts) == (experiment, facts)]
            earlier = same[0].exhibits if same else ()
            runs = [run for run in runs if run not in same] if same else runs
            runs.append(Run(experiment, facts, (*earlier, name)))
    return sorted(runs, key=lambda run: run.experiment)


def copied_files(records: Iterable[Record], runs: Path, out: Path) -> tuple[list[Path], dict[str, list[str]]]:
    """Return the files copied to OUT/traces, and experiment -> links to results and traces, relative and below `out`.

    Nothing is copied if the runs are already below `out`. Folders of many traces elsewhere are left out.
    """
    copied: list[Path] = []
    links: dict[str, list[str]] = {}
    inside = runs.resolve().is_relative_to(out.resolve())
    for name in dict.fromkeys(name for record in records for name in record["inputs"]):
        source = runs / name
        if not source.is_file() and not (inside and source.is_dir()):
            continue  # an older record's runs, which this call was not given, or a folder of many traces elsewhere
        target = source if inside else out / "traces" / name
        if not inside:
            copied.append(write_bytes(target, source.read_bytes()))
        path = Path(os.path.relpath(target.resolve(), out.resolve())).as_posix()
        links.setdefault(name.partition("/")[0], []).append(path)
    return copied, links


def runs_section(records: Mapping[str, Record], links: Mapping[str, Sequence[str]]) -> str:
    """Return the section: a row per run, then each run's command, options and digests, files, and this checkout."""
    runs = runs_behind(records)
    seconds = [run.facts["seconds"] for run in runs if run.facts["seconds"] is not None]
    silent = len(runs) - len(seconds)
    unknown = f" ({silent} of unknown time)" if silent else ""
    total = f"In all {len(runs)} runs{unknown}: {_time(sum(seconds))} of work, added up over processes." if runs else ""
    shown = {name: short_title(record["title"]) for name, record in records.items()}
    named = [(f"run-{number}", run) for number, run in enumerate(runs, 1)]
    rows = "\n".join(_row(key, run, [link(f"#{name}", shown[name]) for name in run.exhibits]) for key, run in named)
    head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    table = (
        '<div class="wide" tabindex="0" role="group" aria-label="Table: the runs">\n'
        f'<table class="rows" aria-label="The runs">\n<thead>\n<tr>{head}</tr>\n</thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>"
    )
    details = "\n".join(_details(key, run) for key, run in named)
    files = [f"{escape(name)}: {_files(name, paths)}" for name, paths in links.items()]
    return "\n".join(
        [
            f"<p>{total} {_SIZES}</p>\n{table}" if runs else "<p>No run is behind this page.</p>",
            f"<h3>Each run: command, options, digests</h3>\n{details}" if runs else "",
            f"<h3>Results and traces</h3>\n{items(files, raw=True)}" if files else "",
            f"<h3>This page was made with</h3>\n{pairs(provenance())}",
        ]
    )


def _row(key: str, run: Run, exhibits: Sequence[str]) -> str:
    settings, prompts = run.facts["settings"] or {}, run.facts["prompts"] or {}
    count = prompts.get("test", settings.get("prompts", len(settings.get("examples", [])) or None))
    validation = f" + {prompts['validation']} to choose scales" if prompts.get("validation") else ""
    cells = [
        "not recorded" if run.facts["seconds"] is None else _time(run.facts["seconds"]),
        settings.get("model"),
        None if count is None else f"{count}{validation}",
        settings.get("seed"),
        settings.get("device"),
    ]
    texts = ["&ndash;" if cell is None else escape(str(cell)) for cell in cells]
    texts += ["; ".join(map(prose, notes(run.experiment, run.facts))) or "&ndash;", ", ".join(exhibits)]
    kinds = [*("" for _ in cells), ' class="long text"', ' class="long text"']
    row = "".join(
        f'<td{kind} data-label="{label}">{text}</td>'
        for kind, label, text in zip(kinds, _COLUMNS[1:], texts, strict=True)
    )
    return f'<tr><th scope="row">{link(f"#{key}", run.experiment)}</th>{row}</tr>'


def _details(key: str, run: Run) -> str:
    facts, parts = run.facts, []
    if facts["command"]:
        parts.append(f"<p>{prose('Made by `' + facts['command'] + '`')}</p>")
    if facts["selection"]:
        chosen = ", ".join(f"{guide} {scale:g}" for guide, scale in facts["selection"].items())
        parts.append(f"<p>Reward scales, chosen on validation prompts: {escape(chosen)}.</p>")
    if facts["settings"]:
        parts.append(f"<h4>Options</h4>\n{pairs(facts['settings'])}")
    if sources := facts["sources"]:
        parts.append(f"<h4>Digests (beginnings of SHA-256) and libraries</h4>\n{pairs(_digests(sources))}")
    name, body = escape(run.experiment), "\n".join(filter(None, parts))
    # A link to what is inside a folded part unfolds it.
    return f'<details>\n<summary>{name}</summary>\n<div id="{key}">\n{body}\n</div>\n</details>'


def _digests(sources: Mapping[str, Any]) -> dict[str, str]:
    """Return the beginnings of the digests of the code and of every model's weights, and library versions."""
    facts = {name: sources[name][:_DIGITS] for name in ("code", "printed") if name in sources}
    for model, files in sources.get("models", {}).items():
        # A hub id stands for its files.
        digests = files if isinstance(files, Mapping) else {model: str(files)}
        weights = [value for name, value in digests.items() if name.endswith(".safetensors")] or list(digests.values())
        facts[model] = ", ".join(value if "/" in value else value[:_DIGITS] for value in weights)
    return facts | dict(sources.get("libraries", {}))


def _files(experiment: str, paths: Sequence[str]) -> str:
    """Return links to files, each called as it is within its experiment's folder."""
    return ", ".join(link(path, path.rpartition(f"/{experiment}/")[2]) for path in paths)


def _time(seconds: float) -> str:
    """Return a time in seconds, or in minutes from two minutes on.

    >>> _time(12.4), _time(150)
    ('12 s', '2.5 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def short_title(title: str) -> str:
    """Return the figure's or table's number that begins a title; the whole title if there is none.

    >>> short_title("Table 8: temperature against reward"), short_title("Controls: what remains")
    ('Table 8', 'Controls: what remains')
    """
    name = title.partition(":")[0]
    return name if name.startswith(("Figure ", "Table ", "Appendix ")) else title
