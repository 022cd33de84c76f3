"""`python -m paper_figures experiment NAME`: run one of the experiments, or go on with it."""

from __future__ import annotations

import argparse
import json
from importlib import import_module

from paper_figures.studies import EXPERIMENTS

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one subcommand per experiment to a parser."""
    names = parser.add_subparsers(dest="experiment", metavar="NAME", required=True)
    for name, experiment in EXPERIMENTS.items():
        one = names.add_parser(name, help=experiment.summary, description=experiment.summary)
        import_module(experiment.module).add_arguments(one)
        one.add_argument("--json", action="store_true", help="print the summary as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Run the experiment named and print its summary; ValueError for input that cannot be used."""
    result = import_module(EXPERIMENTS[args.experiment].module).run(args)
    message = result.pop("message")
    print(json.dumps(result, allow_nan=False) if args.json else message)
    return 0
