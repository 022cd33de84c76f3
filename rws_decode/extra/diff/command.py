"""`rws diff`: where two runs diverge and why."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rws_decode.checkpoints.files import locate_model
from rws_decode.cli.options import group, json_option, option
from rws_decode.cli.progress import loading
from rws_decode.commands.options import LoadingOptions
from rws_decode.common.files import check_trace_file

GROUP = "Inspect"


@dataclass(frozen=True)
class DiffOptions:
    """The traces of two runs."""

    first: str = option(help="trace of the first run", metavar="A", positional=True)
    second: str = option(help="trace of the second run", metavar="B", positional=True)
    model: str | None = option(None, "mask predictor of both runs: proves where the confidences cross", metavar="NAME")
    loading: LoadingOptions = group(LoadingOptions)
    json: bool = json_option()

    def __post_init__(self) -> None:
        for trace in (self.first, self.second):
            check_trace_file(trace)
        if self.model is not None:
            locate_model(self.model)


def diff(options: DiffOptions) -> None:
    """Say from their traces where two runs diverge, and why."""
    from rws_decode.trace.trace import load_trace

    first, second = load_trace(options.first), load_trace(options.second)
    if options.model is not None:
        loading("diff", options.model)

    from rws_decode.extra.diff.diff import diff

    predictor = None if options.model is None else options.loading.load(options.model, first.mask_id)
    difference = diff(first, second, predictor)
    print(json.dumps(difference.as_json(), allow_nan=False) if options.json else difference)
