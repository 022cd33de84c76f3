"""Read the results of experiments for figures; models and data are named without their folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.exhibits.exhibit import MissingRun
from paper_figures.exhibits.names import guide_name, with_guide_names
from paper_figures.plan import command
from paper_figures.table import Row
from rws_decode.common.files import parse_json
from rws_theory.printed import printed_in

_KINDS = {"settings": dict, "selection": dict | None, "units": str | dict}


@dataclass(frozen=True)
class Results:
    """What a study's results.json holds (`paper_figures.studies.study`).

    settings: its options; prompts: source, and how many test and validate; selection: guide -> reward scale chosen,
    None if they were given; rows: table -> rows as measured; inputs: its files, below the runs; units: the name of
    their folder.
    """

    experiment: str
    settings: Mapping[str, Any]
    prompts: Mapping[str, Any]
    selection: Mapping[str, float] | None
    rows: Mapping[str, Sequence[Row]]
    inputs: tuple[str, ...]
    units: str

    def table(self, table: str, needed: str = "") -> Sequence[Row]:
        """Return a table's rows; needed: ValueError with these words where there are none."""
        rows = self.rows.get(table, ())
        if needed and not rows:
            raise ValueError(f"the run of {self.experiment} has no table {table}: {needed}")
        return rows

    def named(self, table: str, needed: str = "") -> list[dict[str, Any]]:
        """Return the same rows with their guide's `name`."""
        return with_guide_names(self.table(table, needed), self.settings["rewards"])


def read_run(runs: Path, experiment: str) -> Results:
    """Return the results of a study below `runs`; MissingRun, with the command that makes them, if they are missing.

    ValueError as `read_results_json` has it.
    """
    results = read_named(runs, experiment, ("settings", "prompts", "selection", "units", "tables"))
    try:
        rows = {name: [{**row} for row in table["rows"]] for name, table in results["tables"].items()}
    except (AttributeError, KeyError, TypeError):
        path, made_by = runs / experiment / "results.json", command(experiment, runs)
        raise ValueError(f"{path} has a table without rows: make it again with {made_by}") from None
    files = (f"{experiment}/results.json", *(f"{experiment}/{name}.csv" for name in rows))
    settings, prompts, selection, units = (results[name] for name in ("settings", "prompts", "selection", "units"))
    return Results(experiment, settings, prompts, selection, rows, files, units)


def read_named(runs: Path, experiment: str, parts: Sequence[str]) -> dict[str, Any]:
    """Return what `read_results_json` does, with short names for the paths in its settings."""
    results = read_results_json(runs, experiment, parts)
    return renamed(results, short_names(results.get("settings")))


def read_results_json(runs: Path, experiment: str, parts: Sequence[str]) -> dict[str, Any]:
    """Return an experiment's results.json as it is; MissingRun, with the command, if there is none.

    ValueError for a file that is not a JSON object, of another schema or version, or lacks one of its `parts`, or has
    nothing in the first.
    """
    path, made_by = runs / experiment / "results.json", command(experiment, runs)
    if not path.is_file():
        raise MissingRun(f"{path} is missing: make it with {made_by}")
    try:
        results = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(results, dict):
        raise ValueError(f"{path} is not a JSON object: make it again with {made_by}")
    schema_found = (results.get("schema"), results.get("version"))
    if schema_found != (None, None) and schema_found != _schema(experiment):
        schema, version = schema_found
        raise ValueError(f"{path} is {schema} of version {version}, not read here: make it again with {made_by}")
    if absent := [part for part in parts if part not in results]:
        raise ValueError(f"{path} has no {absent[0]}: make it again with {made_by}")
    if not results[parts[0]]:
        raise ValueError(f"{path} has nothing in {parts[0]}: run {made_by} --retry-failed")
    for part, kind in _KINDS.items():
        if part in results and not isinstance(results[part], kind):
            raise ValueError(f"{path} has {str(results[part])[:60]!r} as {part}: make it again with {made_by}")
    return results


def _schema(experiment: str) -> tuple[str, int]:
    """Return the schema, with its version, that results of an experiment have."""
    from paper_figures.runner import claims_run
    from paper_figures.studies import study

    return claims_run.SCHEMA if experiment == claims_run.NAME else study.SCHEMA


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return JSON-ready data in which every path of `names`, in values and in keys, has its short name.

    >>> renamed({"/a/mini": ["reward /a/mini", 1]}, {"/a/mini": "mini"})
    {'mini': ['reward mini', 1]}
    """
    if not names:
        return value
    if isinstance(value, Mapping):
        return {renamed(name, names): renamed(item, names) for name, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if isinstance(value, str):
        for path in sorted(names, key=len, reverse=True):  # a folder may lie in another
            value = value.replace(path, names[path])
    return value


def short_names(settings: Any) -> dict[str, str]:
    """Return absolute path -> short name for every path in a run's options: its last part, or as many as tell it apart.

    A page must not show in which folders models and data were.

    >>> short_names({"model": "/a/llada", "data": "text:/b/prompts.txt", "rewards": ["mini"]})
    {'/a/llada': 'llada', '/b/prompts.txt': 'prompts.txt'}
    >>> short_names({"rewards": ["/a/one/final", "/a/two/final"]})
    {'/a/one/final': 'one/final', '/a/two/final': 'two/final'}
    """
    paths = sorted({path for value in _strings(settings) if (path := _path_in(value))})
    ends = {path: ["/".join(Path(path).parts[-count:]) for count in range(1, len(Path(path).parts))] for path in paths}
    shared = Counter(end for candidates in ends.values() for end in candidates)
    return {path: next((end for end in candidates if shared[end] == 1), path) for path, candidates in ends.items()}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(item)


def _path_in(value: str) -> str | None:
    """Return the absolute path that an option is or has after a colon; None without one."""
    return next((part for part in (value, value.partition(":")[2]) if len(part) > 1 and Path(part).is_absolute()), None)


def lookup(rows: Sequence[Row], **match: Any) -> Row | None:
    """Return the row with all of these values; None if there is none, ValueError if there are several."""
    matching = [row for row in rows if all(row.get(name) == value for name, value in match.items())]
    if len(matching) > 1:
        raise ValueError(f"results hold {len(matching)} rows of {match}: one is needed")
    return matching[0] if matching else None


def with_mean(rows: Sequence[Row], **match: Any) -> Row | None:
    """Return the row with all of these values if it has a mean, else None."""
    row = lookup(rows, **match)
    return row if row and row["mean"] is not None else None


def setting(run: Results) -> str:
    """Return two sentences: what was run, and how it differs from the paper's run.

    The paper's own is LLaDA on RewardBench or MT-Bench prompts, with six reward models.
    """
    given, prompts = run.settings, run.prompts
    model = given["model"]
    parts = [f"model {model}, {prompts['test']} test prompts of {prompts['source']}"]
    if "length" in given:
        parts.append(f"answers of {given['length']} tokens in {given['steps']} steps, blocks of {given['block']}")
    if run.selection:
        scales = ", ".join(f"{guide_name(guide)} {scale:g}" for guide, scale in run.selection.items())
        parts.append(f"s_R chosen on {prompts['validation']} validation prompts ({scales})")
    elif given.get("reward_scale"):
        parts.append(f"s_R given ({', '.join(f'{scale:g}' for scale in given['reward_scale'])})")
    paper = {row["model"] for row in printed_in("table1_win_rate")["rows"]}
    others = {
        "model": "llada" not in model.lower(),
        "prompts": not str(prompts["source"]).startswith(("reward-bench", "mt-bench")),
        "reward models": not {guide_name(guide) for guide in given["rewards"]} <= paper,
    }
    differ = [name for name, other in others.items() if other]
    apart = f"Not the paper's {', '.join(differ)}: shapes can be compared, levels cannot."
    same = "Model family, kind of prompts and reward models are the paper's; its sample of prompts is not known."
    return f"Here: {'; '.join(parts)}. {apart if differ else same}"
