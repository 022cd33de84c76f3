"""`rws convert`: write a published LLaDA, Dream or A2D checkpoint under transformers' names, once."""

from __future__ import annotations

from rws_decode.cli.progress import loading

GROUP = "Maintain"


def convert(source: str, target: str, /, *, revision: str | None = None) -> None:
    """Write a LLaDA, Dream or A2D checkpoint under transformers' names.

    Parameters
    ----------
    source
        the published checkpoint: a directory or hub id
    target
        the new directory, which appears whole or not at all
    revision
        branch, tag or commit of a hub id (default: its main branch)
    """
    loading("convert", source)

    from rws_decode.extra.convert.checkpoint import convert as write

    print(write(source, target, revision=revision))
