"""`rws replay`: repeat a run from its trace."""

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
class ReplayOptions:
    """The trace, and the model that replays it."""

    file: str = option(help="trace of the run", metavar="FILE", positional=True)
    model: str | None = option(
        None, "decode again with this mask predictor (default: select again from the recorded values)", metavar="NAME"
    )
    loading: LoadingOptions = group(LoadingOptions)
    json: bool = json_option()

    def __post_init__(self) -> None:
        check_trace_file(self.file)
        if self.model is not None:
            locate_model(self.model)


def replay(options: ReplayOptions) -> None:
    """Repeat a run from its trace and say where it differs.

    JSON: `same`, whether the tokens and their steps are those recorded; `diverged_at`, the first step that differs, or
    null; `tokens`, those of the replay; `steps_run`, steps of the record.
    """
    from rws_decode.trace.trace import load_trace

    trace = load_trace(options.file)
    if options.model is not None:
        loading("replay", options.model)

    from rws_decode.replay.replay import first_difference, replay, replay_with

    if options.model is None:
        outcome = replay(trace)
        tokens, diverged_at = outcome.tokens, outcome.diverged_at
    else:
        again = replay_with(trace, options.loading.load(options.model, trace.mask_id))
        tokens, diverged_at = again.tokens, first_difference(trace, again)
    result = {
        "same": diverged_at is None,
        "diverged_at": diverged_at,
        "tokens": tokens.tolist(),
        "steps_run": trace.steps_run,
    }
    if options.json:
        print(json.dumps(result, allow_nan=False))
    elif diverged_at is None:
        print(f"the replay commits the same tokens in all {trace.steps_run} steps")
    else:
        until = f"step {diverged_at} of {trace.steps_run}"
        print(f"the replay differs from the record from {until} on (steps count from 0)")
