"""`rws convert`: write a published LLaDA, Dream or A2D checkpoint under transformers' names, once."""

from __future__ import annotations

from dataclasses import dataclass

from rws_theory.commands.options import option
from rws_theory.commands.progress import loading


@dataclass(frozen=True)
class ConvertOptions:
    """Which checkpoint is converted, and where it goes."""

    source: str = option(help="the published checkpoint: a directory or hub id", metavar="SOURCE", positional=True)
    target: str = option(help="the new directory, which appears whole or not at all", metavar="TARGET", positional=True)
    revision: str | None = option(None, "branch, tag or commit of a hub id (default: its main branch)")


def run(options: ConvertOptions) -> int:
    """Convert and print the new directory; ValueError for a source that is refused or a target that exists."""
    loading("convert", options.source)

    from rws_decode.extra.convert import convert

    print(convert(options.source, options.target, revision=options.revision))
    return 0
