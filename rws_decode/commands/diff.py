"""`python -m rws_decode diff`: where two runs part and why."""

from __future__ import annotations

import argparse
import json

from rws_decode.commands._options import add_loading, predictor_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `diff` to a parser."""
    parser.add_argument("first", metavar="A", help="trace of the first run")
    parser.add_argument("second", metavar="B", help="trace of the second run")
    parser.add_argument("--model", metavar="NAME", help="the runs' mask predictor: proves where the curves cross")
    add_loading(parser, mask=False)
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Compare and print; ValueError for input that cannot be used."""
    from rws_decode.trace.trace import load

    first, second = load(args.first), load(args.second)

    from rws_decode.trace.diff import diff

    predictor = None
    if args.model is not None:
        predictor = predictor_of(args, first.mask_id)
    found = diff(first, second, predictor)
    print(json.dumps(found.as_json(), allow_nan=False) if args.json else found)
    return 0
