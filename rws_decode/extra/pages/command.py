"""`rws view`: a page to scrub, or an animated picture, of a run or of two in lock-step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rws_decode.checkpoints.files import locate_model
from rws_decode.cli.options import group, option
from rws_decode.cli.progress import tell
from rws_decode.commands.options import LoadingOptions
from rws_decode.common.files import check_trace_file

GROUP = "Inspect"


@dataclass(frozen=True)
class ViewOptions:
    """The traces of a run, or of two, and the file: its suffix says whether it is a page or an animated picture."""

    traces: tuple[Path, ...] = option(
        help="trace of a run; a second one is shown beside it", metavar="TRACE", positional=True
    )
    out: Path = option(
        help="the page, FILE.html, or an animated picture, FILE.gif",
        metavar="FILE",
        flags=("-o", "--out"),
        writes="file",
    )
    model: str | None = option(
        None, "mask predictor of both runs: proves where the confidences cross that part them", metavar="NAME"
    )
    loading: LoadingOptions = group(LoadingOptions)

    def __post_init__(self) -> None:
        if not 1 <= len(self.traces) <= 2:
            raise ValueError(f"{len(self.traces)} traces are given: one run is shown, or two beside each other")
        if self.model is not None and len(self.traces) == 1:
            raise ValueError("--model proves why two runs diverge: a second trace is missing")
        if any(self.out.resolve() == trace.resolve() for trace in self.traces):
            raise ValueError(f"--out is {self.out}, a trace: the page needs a file of its own")
        if self.out.suffix.lower() not in (".html", ".gif"):
            raise ValueError(f"--out is {self.out}: FILE.html, a page, or FILE.gif, an animated picture, is needed")
        for trace in self.traces:
            check_trace_file(trace)
        if self.model is not None:
            locate_model(self.model)


def view(options: ViewOptions) -> None:
    """Write a page to scrub, or an animated picture, of a run or of two."""
    from rws_decode.trace.trace import load_trace

    first, *others = [load_trace(trace) for trace in options.traces]
    predictor = None if options.model is None else options.loading.load(options.model, first.mask_id)
    other = others[0] if others else None
    if options.out.suffix.lower() == ".gif":
        tell(f"picture: {first.animate(other, predictor).save(options.out)}")
    else:
        tell(f"page: {first.view(other, predictor).save(options.out)}")
