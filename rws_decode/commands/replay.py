"""`python -m rws_decode replay`: a run repeated from its trace."""

from __future__ import annotations

import argparse
import json

from rws_decode.commands._options import add_loading, predictor_of

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `replay` to a parser."""
    parser.add_argument("file", metavar="FILE", help="trace of the run")
    parser.add_argument(
        "--model", metavar="NAME", help="decode again with this mask predictor (else: select again from the values)"
    )
    add_loading(parser, mask=False)
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Replay and print; ValueError for input that cannot be used.

    JSON: `same`, whether the tokens and their steps are those recorded; `parted_at`, the first step at which they are
    not, or null; `tokens`, those of the replay; `steps_run`, steps of the record.
    """
    from rws_decode.trace.trace import load

    trace = load(args.file)

    from rws_decode.trace.diff import diff
    from rws_decode.trace.replay import replay, replay_with

    if args.model is None:
        outcome = replay(trace)
        tokens, parted = outcome.tokens, outcome.parted_at
    else:
        again = replay_with(trace, predictor_of(args, trace.mask_id))
        parting = diff(trace, again).parting
        tokens, parted = again.tokens, None if parting is None else parting.step
    result = {"same": parted is None, "parted_at": parted, "tokens": tokens.tolist(), "steps_run": trace.steps_run}
    if args.json:
        print(json.dumps(result, allow_nan=False))
    elif parted is None:
        print(f"the replay commits the same tokens in all {trace.steps_run} steps")
    else:
        print(f"the replay parts from the record at step {parted} of {trace.steps_run} (steps from 0)")
    return 0
