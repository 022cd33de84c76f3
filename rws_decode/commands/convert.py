"""`python -m rws_decode convert`: write a published LLaDA or Dream checkpoint under transformers' names, once."""

from __future__ import annotations

import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `convert` to a parser."""
    parser.add_argument("source", metavar="SOURCE", help="the published checkpoint: a directory or hub id")
    parser.add_argument("target", metavar="TARGET", help="the new directory; it appears whole or not at all")
    parser.add_argument("--revision", help="branch, tag or commit of a hub id (its main branch)")


def run(args: argparse.Namespace) -> int:
    """Convert and print the new directory; ValueError for a source that is refused or a target that exists."""
    from rws_decode.checkpoints.convert import convert

    print(convert(args.source, args.target, revision=args.revision))
    return 0
