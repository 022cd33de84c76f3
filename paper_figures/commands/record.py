"""`rws record`: make a run of a study the record that ships with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rws_theory.commands.options import json_option, option
from rws_theory.commands.progress import tell


@dataclass(frozen=True)
class RecordOptions:
    """Which run is recorded, and where."""

    runs: Path = option(help="the folder that `experiment STUDY --out` was given", metavar="DIR")
    study: str = option("evidence", "which study", choices=("evidence", "laws"))
    record: Path | None = option(None, "where the record goes (default: the package's own)", metavar="DIR")
    json: bool = json_option()


def run(options: RecordOptions) -> int:
    """Write the record of a run's answers and frontiers; ValueError where there is no whole run.

    `--json`: `files`, each with its bytes.
    """
    folder = options.runs / options.study
    tell(f"record: reading {folder} ...")

    from paper_figures.recorded import FOLDERS, pack
    from paper_figures.studies.evidence import read_rows
    from rws_decode.common.files import read_json

    rows = read_rows(options.runs, options.study)
    about = read_json(folder / "about.json")
    files = {path.name: path.stat().st_size for path in pack(rows, about, options.record or FOLDERS[options.study])}
    print(
        json.dumps({"files": files}) if options.json else "\n".join(f"{n}: {size:,} bytes" for n, size in files.items())
    )
    return 0
