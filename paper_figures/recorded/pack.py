"""Pack a run of the evidence study into the files of its record."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.studies.summaries.evidence import KEY, answers_of, frontiers_of
from rws_decode.common.files import write_bytes, write_json

# What the same command does not repeat; the record's `about` has the seconds of the whole run.
_LEFT_OUT = ["seconds"]


def pack(rows: pd.DataFrame, about: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the answers and frontiers among a study's rows, and what is known about the run; return the paths.

    Rows are sorted by what tells them apart, so that the same run gives the same bytes.
    """
    answers = answers_of(rows).drop(columns=_LEFT_OUT).sort_values(list(KEY), ignore_index=True)
    frontiers = frontiers_of(rows).sort_values(["world", "prompt"], ignore_index=True)
    written = [
        write_bytes(folder / f"{name}.parquet", _parquet(frame))
        for name, frame in (("answers", answers), ("frontiers", frontiers))
    ]
    counts = {"answers": len(answers), "frontiers": len(frontiers)}
    return [*written, write_json(folder / "about.json", {**about, **counts})]


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, compression="zstd", index=False, compression_level=19)
    return buffer.getvalue()
