"""`rws experiment NAME`: run one of the experiments, or resume it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cyclopts import App

from paper_figures.commands.figures import make
from paper_figures.exhibits import NAMES, load_exhibit
from paper_figures.studies import STUDIES, every_study, options_class, study_module
from paper_figures.studies.options import with_own_rewards
from rws_decode.canvas.schedule import block_plan
from rws_decode.cli.options import as_command, group, json_option, option, read_options
from rws_decode.cli.progress import tell
from rws_decode.commands.shown import print_json

GROUP = "Study"
RESUMES = True

experiment = App("experiment", help="Run one of the paper's comparisons, or resume it.")
_STUDIES = every_study()
for _name, _study in _STUDIES.items():
    experiment.command(f"{__name__}:{_name}", name=_name, help=_study)


def __getattr__(name: str) -> Callable[..., int]:
    """Return the command of a study, which reads its options; only the one that is called is made."""
    if name not in _STUDIES:
        raise AttributeError(name)
    command = as_command(lambda given: _run_all(name, given.study, given.draw, given.json), study_options(name))
    command.__doc__ = f"{_STUDIES[name][:1].upper()}{_STUDIES[name][1:].removesuffix('.')}."
    return command


def study_options(name: str) -> type:
    """Return the class of what the command of a study reads: its own options as `study`, and what becomes of them."""

    @dataclass(frozen=True)
    class Options:
        study: Any = group(options_class(name))
        draw: bool = option(False, "then draw its figures and tables, and their page, into --out")
        json: bool = json_option("print the summary as JSON on standard output")

        @classmethod
        def from_given(cls, given: Mapping[str, Any]) -> Options:
            options = read_options(cls, given)
            return replace(options, study=with_own_rewards(options.study, given))

    return Options


def _run_all(name: str, options: Any, draw: bool, as_json: bool) -> int:
    """Run the experiment named and print its summary; return 1 if no unit has a result, as all failed, else 0.

    Why the first failed is told on standard error. Of several --steps each has its run, and --json prints a list.
    ValueError for input that cannot be used.
    """
    exhibits = _exhibits(name) if draw else []
    several = getattr(options, "steps", None)
    if not isinstance(several, tuple):
        runs = [options]
    else:
        for number in several:
            block_plan(options.length, number, options.block)
        runs = [replace(options, steps=n, out=str(Path(options.out) / f"steps-{n}")) for n in dict.fromkeys(several)]
    results, statuses = [], []
    for each in runs:
        result, status = _run(name, each, exhibits)
        message = result.pop("message")
        if not as_json:
            print(message if each is options else f"# {each.steps} steps\n\n{message}\n", flush=True)
        results.append(result if each is options else {"steps": each.steps, **result})
        statuses.append(status)
    if as_json:
        print_json(results if isinstance(several, tuple) else results[0])
    return max(statuses)


def _run(name: str, options: Any, exhibits: list[str]) -> tuple[dict[str, Any], int]:
    """Run an experiment, or foretell it, and return its summary and its status."""
    if options.dry_run:
        from paper_figures.studies.study import Foretold

        with TemporaryDirectory() as out:  # nothing is written to its folder
            try:
                return study_module(name).run(replace(options, out=out)), 0
            except Foretold as end:
                return end.plan, 0
    result = study_module(name).run(options)
    units = result["units"]
    failed, all_failed = units["failed"], units["failed"] == units["asked"]
    if failed:
        from paper_figures.runner.results import read_failures

        folder = Path(result["folder"])
        failures = read_failures(folder.parent, folder.name.removeprefix("units-"))
        why = [failure["error"]["message"] for failure in failures]
        many = f"all {failed}" if all_failed else f"{failed} of {units['asked']}"
        tell(f"experiment {name}: {many} units failed, the first by: {why[0] if why else '?'}")
    if exhibits and not all_failed:
        out = Path(options.out)
        tell(f"{len(make(exhibits, out, out))} files drawn below {out}; open {out / 'index.html'}")
    return result, int(all_failed)


def _exhibits(study: str) -> list[str]:
    """Return the figures and tables that show a study's results; ValueError where there are none."""
    inputs = {name: load_exhibit(name).NEEDS for name in NAMES}
    if found := [name for name, needs in inputs.items() if needs == (study,)]:
        return found
    drawn = dict.fromkeys(need for needs in inputs.values() for need in needs if need in STUDIES)
    raise ValueError(f"--draw is given: no figure is drawn from {study}, but from {', '.join(drawn)}")
