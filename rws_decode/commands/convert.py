"""`rws convert`: write a published LLaDA, Dream or A2D checkpoint under transformers' names, once."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from rws_theory.commands.options import add_options, option, read_options
from rws_theory.commands.progress import loading


@dataclass(frozen=True)
class ConvertOptions:
    """Which checkpoint is converted, and where it goes."""

    source: str = option(help="the published checkpoint: a directory or hub id", metavar="SOURCE", positional=True)
    target: str = option(help="the new directory, which appears whole or not at all", metavar="TARGET", positional=True)
    revision: str | None = option(None, "branch, tag or commit of a hub id (default: its main branch)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `convert` to a parser."""
    add_options(parser, ConvertOptions)


def run(args: argparse.Namespace) -> int:
    """Convert and print the new directory; ValueError for a source that is refused or a target that exists."""
    options = read_options(ConvertOptions, args)

    loading("convert", options.source)

    from rws_decode.predictors.convert import convert

    print(convert(options.source, options.target, revision=options.revision))
    return 0
