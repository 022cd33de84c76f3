"""Read the results of studies: the answers and their scores as two tables, or the rows of all units as they are.

`parts` describes the files. They are the same for every study, and those of earlier versions are read as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.runner.parts import UNIT_FIELDS, Manifest, read_manifest, read_parts
from rws_decode.common.files import read_json
from rws_decode.common.later import pd

# Units that measure a text which another unit has decoded.
_MEASURES = ("score", "perplexity", "execute")
# The labels by which studies name the scale of an arm. A study uses at most one of them.
_ARM_SCALES = ("reward_scale", "number", "at")
_FIRST = ("experiment", "strategy", "scale", "guide", "split", "example", "turn", "prompt", "history", "text")
_SCORE_COLUMNS = (
    *("experiment", "measure", "judge", "prompt", "history", "text", "score", "normalised_score"),
    *("perplexity", "nll", "causal_tokens", "passed", "status", "detail", "how", "problem", "seconds", "unit", "code"),
)


class ResultsWarning(UserWarning):
    """A file among the results that cannot be used, or results that contradict each other."""


def origins(folder: str | Path) -> dict[str, list[Path]]:
    """Return each experiment's folders of results below `folder`, or of `folder` itself, the last written to first."""
    folder = Path(folder)
    direct = [path for path in folder.glob("units-*") if path.is_dir()]
    folders = direct or [path for path in folder.glob("*/units-*") if path.is_dir()]
    table: dict[str, list[Path]] = {}
    for path in sorted(folders, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True):
        table.setdefault(path.parent.name, []).append(path)
    return table


def chosen(folder: str | Path, code: str | None) -> list[Path]:
    """Return one folder of results per experiment: that of the origin that `code` begins.

    If `code` is None, it is that of the last whole run, or the last written to where no run is whole.
    """
    table = origins(folder)
    if not table:
        raise ValueError(f"{folder}: no results of experiments here")
    if code is None:
        return [next(filter(whole_run, paths), paths[0]) for _, paths in sorted(table.items())]
    folders = [path for _, paths in sorted(table.items()) for path in paths if path.name.startswith(f"units-{code}")]
    if len({path.name for path in folders}) != 1:
        names = sorted({path.name.removeprefix("units-") for paths in table.values() for path in paths})
        raise ValueError(f"code is {code!r}: it must begin one of {', '.join(names)}")
    return folders


def whole_run(folder: Path) -> Manifest | None:
    """Return the last whole run of an experiment if its results are in this one of its folders, else None."""
    manifest = read_manifest(folder.parent)
    return manifest if manifest is not None and manifest.results == folder.name else None


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """The results of studies as tables: a row for each answer, and a row for each score of a text.

    `answers` has the columns that the study keeps of an answer, and these:

    - `strategy`, the name of the arm: `default`, `rws`, `constant`, ... `strategy_json` is the decoder's rule.
    - `scale`, the number of the arm: s_R of rws and of the controls made from it, c of a temperature, and 1 for an arm
      without one, whose logits stay as they are. It is one number for all prompts. `mean_factor` is the mean factor of
      the answer: for the arm "constant", its own.
    - `prompt`, `history` (the turns before the prompt, a tuple) and `text`, the answer.

    `scores` has `measure` (score, perplexity or execute), `judge` (the model; none for execute), `prompt`, `history`,
    `text`, and the numbers, such as `score` and `normalised_score`. A text that several answers share is scored once:
    `answers.merge(scores, on=["experiment", "prompt", "history", "text"])` gives each answer its scores. Studies that
    score as they decode, such as evidence, keep these numbers in `answers`.

    `others` holds the rows that are neither, such as the timings.
    """

    answers: pd.DataFrame
    scores: pd.DataFrame
    others: pd.DataFrame

    def __repr__(self) -> str:
        arms = len(self.answers.groupby(["strategy", "scale"])) if len(self.answers) else 0
        judges = self.scores["judge"].nunique() if "judge" in self.scores else 0
        return (
            f"Results({len(self.answers)} answers of {arms} arms, {len(self.scores)} scores by {judges} judges, "
            f"{len(self.others)} other rows)"
        )


def read_results(folder: str | Path, code: str | None = None, *, every_run: bool = False) -> Results:
    """Return the answers and their scores below a folder. `Results` describes the columns.

    Arguments, warnings and errors are those of `read_unit_rows`.
    """
    rows: Any = read_unit_rows(folder, code, every_run=every_run)
    if not len(rows):
        return Results(rows, rows, rows)
    measured = rows["strategy"].isin(_MEASURES)
    written = ~measured & (rows["text"].notna() if "text" in rows else False)
    return Results(_answers(rows[written]), _scores(rows[measured]), _tidy(rows[~measured & ~written]))


def _answers(rows: Any) -> pd.DataFrame:

    scale: Any = rows["scale"].astype(float)
    for label in _ARM_SCALES:
        if label in rows:
            given: Any = pd.to_numeric(rows[label])
            scale = given.astype(float).fillna(scale)
    arms = {"scale": scale.fillna(1.0)}
    if "method" in rows:
        arms["strategy"] = rows["method"].fillna(rows["strategy"])
    unread = ["method", *_ARM_SCALES, *([] if rows["judges"].map(len).any() else ["judges"])]
    rows = _tidy(rows.assign(**arms).drop(columns=unread, errors="ignore"))
    return rows[[*(name for name in _FIRST if name in rows), *(name for name in rows if name not in _FIRST)]]


def _scores(rows: Any) -> pd.DataFrame:
    judge = rows["judges"].map(lambda judges: judges[0] if len(judges) else None).fillna(rows["causal"])
    rows = rows.assign(measure=rows["strategy"], judge=judge, text=rows.get("answer"))
    return _tidy(rows[[name for name in _SCORE_COLUMNS if name in rows]])


def _tidy(rows: Any) -> pd.DataFrame:
    """Return rows without columns that are empty, counted from 0, with histories that can be merged on."""
    if not len(rows):
        return rows.reset_index(drop=True)
    rows = rows.dropna(axis="columns", how="all").reset_index(drop=True)
    return rows.assign(history=rows["history"].map(tuple))


def read_unit_rows(folder: str | Path, code: str | None = None, *, every_run: bool = False) -> pd.DataFrame:
    """Return the rows of the last whole run of each experiment as one table, with the unit's fields as columns.

    Rows of answers and of their measures stand below each other; `read_results` parts them.

    folder: what `run_units` was given, or one experiment's folder in it. every_run: all rows, also those of other runs,
    which may be of other prompts, lengths or scales; so it is where no run is whole yet. code: the digest of code and
    libraries whose results are wanted, or its first digits; without it, as in `chosen`: results of different code are
    never mixed, nor those of model files that changed: the last written are kept. Columns: `unit`, the hash;
    `code`; those of `Unit.columns`; those of the rows. Rows are ordered by experiment and hash, and so do not depend on
    how the work was divided.

    Guarantee: each unit once. Where two parts hold one unit (a worker died after it wrote, or two runs shared the
    folder), one is kept, and a ResultsWarning says so if their rows differ (columns that end in "seconds" aside). A
    file that is corrupt or foreign is left out and named by a ResultsWarning. ValueError where there are no results.
    """
    all_rows = []
    for origin_folder in chosen(folder, code):
        rows, lines = rows_of(origin_folder)
        for line in lines:
            warnings.warn(line, ResultsWarning, stacklevel=2)
        run = None if every_run else whole_run(origin_folder)
        all_rows += [row for name in sorted(rows) if run is None or name in run for row in rows[name]]
    return pd.DataFrame(all_rows)


def rows_of(folder: Path) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the rows of each unit in one origin's folder, and a line for whatever was left out or differs."""
    parts, lines = read_parts(folder)
    parts = sorted(parts, key=lambda part: part.path.stat().st_mtime_ns, reverse=True)
    folders: dict[str, tuple[Path, list[dict[str, Any]]]] = {}
    newest: dict[str, str] = {}
    outdated = set()
    for part in parts:
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in part.units}
        for row in part.table.to_pylist():
            fields = row.pop(UNIT_FIELDS)
            if newest.setdefault(fields, row["unit"]) == row["unit"]:
                rows[row["unit"]].append({"unit": row.pop("unit"), "code": folder.name.removeprefix("units-")} | row)
            else:
                outdated.add(row["unit"])
        for name, unit_rows in rows.items():
            if name not in folders:
                folders[name] = (part.path, unit_rows)
            elif name not in outdated and list(map(_lasting, unit_rows)) != list(map(_lasting, folders[name][1])):
                lines.append(
                    f"{part.path}: unit {name[:12]} differs from that in {folders[name][0].name}, which is kept"
                )
    if outdated:
        lines.append(f"{folder}: {len(outdated)} units of earlier model files are left out")
    return {name: unit_rows for name, (_, unit_rows) in folders.items() if name not in outdated}, lines


def _lasting(row: Mapping[str, Any]) -> str:
    """Return what another run of the unit repeats, all that has a value and is not a duration; nan equals nan."""
    return repr(
        sorted((name, value) for name, value in row.items() if value is not None and not name.endswith("seconds"))
    )


def read_failures(folder: str | Path, code: str | None = None, *, every_run: bool = False) -> list[dict[str, Any]]:
    """Return the records of units that failed and have no result: {"unit", "fields", "error", "crashes"}, by hash.

    error: {"type", "message", "traceback"}. Arguments as in `read_results`. ValueError for a file that is no record.
    """
    failures = []
    for origin_folder in chosen(folder, code):
        run = None if every_run else whole_run(origin_folder)
        finished = {name for part in read_parts(origin_folder)[0] for name in part.units}
        for path in sorted(origin_folder.glob("*.failed.json")):
            name = path.name.removesuffix(".failed.json")
            if name not in finished and (run is None or name in run):
                try:
                    failures.append(_failure(read_json(path)))
                except ValueError as error:
                    raise ValueError(f"{path}: not the record of a failed unit ({error}); remove it") from error
    return failures


def _failure(record: Any) -> dict[str, Any]:
    fields = record.get("fields") if isinstance(record, dict) else None
    if not isinstance(fields, dict) or not isinstance(fields.get("experiment"), str) or "unit" not in record:
        raise ValueError("its unit or fields are missing")
    return record
