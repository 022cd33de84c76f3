"""`rws playground`: the page on which a reader decodes in the browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rws_decode.cli.options import option
from rws_decode.cli.progress import tell

GROUP = "Inspect"


@dataclass(frozen=True)
class PlaygroundOptions:
    """The file of the page, and the model that runs in it."""

    out: Path = option(help="the page, FILE.html", metavar="FILE", flags=("-o", "--out"), writes="file")
    model: Literal["english", "mini"] = option(
        "english", "the model in the page: english, the 4-gram model, or mini, the network with its reward model"
    )

    def __post_init__(self) -> None:
        if self.out.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"--out is {self.out}: FILE.html, a page, is needed")


def playground(options: PlaygroundOptions) -> None:
    """Write a page on which anybody decodes in the browser: it needs no server, network or installation."""
    from rws_decode.extra.playground.page import playground_page

    tell(f"page: {playground_page(options.model).save(options.out)}")
