"""`rws experiment NAME`: run one of the experiments, or resume it."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from paper_figures.commands.figures import make
from paper_figures.contents import CONTENTS, NAMES
from paper_figures.studies import STUDIES, options_class, study_module
from paper_figures.studies.options import with_own_rewards
from rws_decode.canvas.schedule import block_plan
from rws_theory.commands.line import Parser
from rws_theory.commands.options import add_options, given_options, read_options
from rws_theory.commands.progress import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one subcommand per experiment to a parser; only the one that is named is imported."""
    names = parser.add_subparsers(dest="experiment", metavar="NAME", required=True, parser_class=Parser)
    for name, summary in STUDIES.items():
        fill = partial(_fill, name)
        names.add_parser(name, help=summary, description=summary, fill=fill)


def _fill(name: str, parser: argparse.ArgumentParser) -> None:
    add_options(parser, options_class(name))
    parser.add_argument(
        "--draw", action="store_true", help="then draw its figures and tables, and their page, into --out"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Run the experiment named and print its summary; return 1 if no unit has a result, as all failed, else 0.

    Why the first failed is told on standard error. Of several --steps each has its run, and --json prints a list.
    ValueError for input that cannot be used.
    """
    options = with_own_rewards(read_options(options_class(args.experiment), args), given_options(args))
    exhibits = _exhibits(args.experiment) if args.draw else []
    several = getattr(options, "steps", None)
    if not isinstance(several, tuple):
        runs = [options]
    else:
        for number in several:
            block_plan(options.length, number, options.block)
        runs = [replace(options, steps=n, out=str(Path(options.out) / f"steps-{n}")) for n in dict.fromkeys(several)]
    results, statuses = [], []
    for each in runs:
        result, status = _run(args.experiment, each, exhibits)
        message = result.pop("message")
        if not args.json:
            print(message if each is options else f"# {each.steps} steps\n\n{message}\n", flush=True)
        results.append(result if each is options else {"steps": each.steps, **result})
        statuses.append(status)
    if args.json:
        print(json.dumps(results if isinstance(several, tuple) else results[0], allow_nan=False))
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
    """Return the figures and tables that are drawn from a study; ValueError where there are none."""
    of = {name: import_module(CONTENTS[name].module).NEEDS for name in NAMES}
    if found := [name for name, needs in of.items() if needs == (study,)]:
        return found
    drawn = dict.fromkeys(need for needs in of.values() for need in needs if need in STUDIES)
    raise ValueError(f"--draw is given: no figure is drawn from {study}, but from {', '.join(drawn)}")
