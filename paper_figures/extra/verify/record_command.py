"""`rws record`: make a run of a study the record that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rws_decode.cli.progress import tell
from rws_decode.commands.shown import print_json

GROUP = "Maintain"


def record(
    *, runs: Path, study: Literal["evidence", "laws"] = "evidence", record: Path | None = None, json: bool = False
) -> None:
    """Make a run of the evidence study the record that ships.

    `--json`: `files`, each with its bytes.

    Parameters
    ----------
    runs
        the folder that `experiment STUDY --out` was given
    study
        which study
    record
        where the record goes (default: the package's own)
    json
        print the result as JSON on standard output
    """
    folder = runs / study
    tell(f"record: reading {folder} ...")

    from paper_figures.recorded import FOLDERS, pack
    from paper_figures.studies.evidence import read_rows
    from rws_decode.common.files import read_json

    rows = read_rows(runs, study)
    about = read_json(folder / "about.json")
    files = {path.name: path.stat().st_size for path in pack(rows, about, record or FOLDERS[study])}
    if json:
        print_json({"files": files})
    else:
        print("\n".join(f"{name}: {size:,} bytes" for name, size in files.items()))
