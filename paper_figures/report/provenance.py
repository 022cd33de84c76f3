"""What a run's files say of it: options, sizes, code; never host names or paths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paper_figures.exhibits.shared.results import renamed, short_names
from paper_figures.plan import CLAIMS, FULL, PLAN, command, parsed
from rws_decode.common.files import read_json

_FACTS = ("settings", "prompts", "selection", "seconds", "sources")


def run_facts(runs: Path, experiment: str) -> dict[str, Any] | None:
    """Return what an experiment's results.json says of its run, without its tables; None if there is none.

    Parts: settings, prompts, selection, seconds and sources, None if the file has no such part; command, the one of
    the plan, small or full, whose options the run has; smaller, the sizes below the experiment's own defaults.
    """
    try:
        results = read_json(runs / experiment / "results.json")
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{runs / experiment / 'results.json'} is not JSON: {error}") from error
    if not isinstance(results, dict) or not isinstance(results.get("settings"), dict | None):
        raise ValueError(f"{runs / experiment / 'results.json'} does not say what options a run had")
    facts = {part: results.get(part) for part in _FACTS}
    settings = facts["settings"] or {}
    planned = [plan for plan in (PLAN, FULL) if experiment in plan and _as_planned(experiment, settings, plan)]
    # The folder is named as it is by default: which one it was is nobody's business.
    facts["command"] = command(experiment, Path("out/runs"), planned[0]) if planned else None
    facts["smaller"] = _smaller(experiment, settings)
    return renamed(facts, short_names(settings))


def _as_planned(experiment: str, settings: Mapping[str, Any], plan: Mapping[str, str]) -> bool:
    if experiment == CLAIMS:
        return True
    options = parsed(experiment, Path("out/runs"), plan)
    return all(_plain(getattr(options, name, value)) == value for name, value in settings.items())


def _smaller(experiment: str, settings: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return size -> [here, by default] of whole numbers that are below the experiment's defaults, the seed aside."""
    if not settings or experiment not in PLAN:
        return {}
    defaults = parsed(experiment, Path("out/runs"), FULL)
    sizes = {name: value for name, value in settings.items() if type(value) is int and name != "seed"}
    usual = {name: int(default) for name in sizes if isinstance(default := getattr(defaults, name, None), int)}
    return {name: [sizes[name], default] for name, default in usual.items() if sizes[name] < default}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def notes(experiment: str, facts: Mapping[str, Any]) -> list[str]:
    """Return what a reader must know about a run: other code than this checkout's, small sizes, other options.

    A size is small if it is below the experiment's default; both numbers are given.
    """
    remarks, sources = [], facts["sources"] or {}
    if "work" not in sources:
        remarks.append("the results do not say which code made them")
    elif sources["code"] != _digest_here(sources["work"]):
        remarks.append("made by other code than this checkout's")
    if facts["smaller"]:
        below = facts["smaller"].items()
        sizes = ", ".join(f"{name.replace('_', ' ')} {here} of {full}" for name, (here, full) in below)
        remarks.append(f"small sizes: {sizes}")
    if facts["command"] is None:
        remarks.append("other options than those of `paper_figures.plan`")
    return remarks


def _digest_here(work: str) -> str | None:
    """Return the digest of the code behind a module of this checkout; None if the module is not here."""
    from paper_figures.runner.digests import code_digest

    try:
        return code_digest(work)
    except ValueError:
        return None
