"""The results of a whole run as one JSON file, OUT/EXPERIMENT/results.json: what figures and other programs read."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rws_decode.common.files import write_changed

if TYPE_CHECKING:
    from paper_figures.runner.stages import Outcome
    from paper_figures.studies.design.prompts import Prompts
    from paper_figures.table import Table

from rws_decode.common.files import parse_json

__all__ = ["SCHEMA", "settings_of", "write_run_results"]

SCHEMA = ("rws_decode.experiment.results", 3)

# Where and how units run, not what is run: no number follows from these.
_WHERE = frozenset(
    "out workers scheduler backend threads batch retry_failed json command experiment "
    "base_url yes".split()
)


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that results follow from, those not given left out.

    >>> settings_of(argparse.Namespace(out="runs", workers=2, seed=0, cfg=None, model="mini"))
    {'seed': 0, 'model': 'mini'}
    """
    return {name: value for name, value in vars(args).items() if name not in _WHERE and value is not None}


def write_run_results(args: argparse.Namespace, prompts: Prompts, done: Outcome, found: Sequence[Table]) -> Path:
    """Write the results of a run, unless the file holds the same, and return its path.

    Parts: experiment; settings, the options; prompts, their source and how many; selection, guide -> reward scale
    where these were chosen on validation prompts; sources, digests of code and models, and library versions; units,
    the name of their folder; seconds, those of all units added up; tables, name -> caption, rows and `shown`, the same
    as text.
    """
    from paper_figures.studies.design.single_stage import seconds_of, sources_of
    from paper_figures.studies.summaries.printed import measured_tables

    folder = done.folder.parent
    chosen = folder / "selection.json"
    guides = parse_json(chosen.read_text(encoding="utf-8"))["guides"] if chosen.is_file() else None
    results = {
        "schema": SCHEMA[0],
        "version": SCHEMA[1],
        "experiment": folder.name,
        "settings": settings_of(args),
        "prompts": {"source": prompts.source, "test": len(prompts.test), "validation": len(prompts.validation)},
        "selection": None if guides is None else {one["guide"]: one["chosen"] for one in guides},
        "sources": sources_of(done.origin),
        "units": done.folder.name,
        "seconds": seconds_of(done.frame),
        "tables": {
            one.name: {"caption": one.caption, "rows": list(one.rows), "shown": list(one.shown)}
            for one in measured_tables(found)
        },
    }
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    return write_changed(folder / "results.json", text + "\n")
