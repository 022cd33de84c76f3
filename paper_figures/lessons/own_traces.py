"""Reading traces, as lesson 6 does: a reader's own or two of `mini`, drafts in words, and why two runs parted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rws_decode import Shape, compare, load_predictor, load_reward

if TYPE_CHECKING:
    from rws_decode.extra.diff.difference import TraceDiff


def paths(folder: str | os.PathLike[str]) -> tuple[Path, Path | None]:
    """Return the trace files to read: a run and, where there is one, another of the same prompt.

    They are those named by RWS_TRACE and RWS_TRACE_BESIDE. Where the first is not set, `mini` writes two to the folder:
    RWS at s_R = 8 and the default.
    """
    if own := os.environ.get("RWS_TRACE"):
        beside = os.environ.get("RWS_TRACE_BESIDE")
        return Path(own), Path(beside) if beside else None
    mini, shape = load_predictor("mini"), Shape(length=64, steps=32, block=32)
    runs = compare(mini, mini.examples[6]["prompt"], ["rws:8", "default"], shape, reward=load_reward("mini"))
    first, second = (run[0].save(Path(folder) / f"{place}.parquet") for place, run in enumerate(runs.values()))
    return first, second


def why_parted(difference: TraceDiff | None, explained: TraceDiff | None) -> str:
    """Return why two runs parted, in words; explained: their difference with the model at hand, None without it."""
    if difference is None:
        return "no second trace was given (`RWS_TRACE_BESIDE`)."
    parting = difference.parting
    if parting is None:
        return "the runs do not part."
    if not parting.reversals:
        return f"they part at step {parting.step} ({parting.why}); no two positions changed places there."
    places = ", ".join(f"{pair.later} with {pair.earlier}" for pair in parting.reversals)
    said = f"they part at step {parting.step}, where these positions changed places: {places}. "
    if explained is None or explained.parting is None:
        return f"{said}At which factor the files do not say."
    proved = sum(bool(pair.certified) for pair in explained.parting.reversals)
    of = len(parting.reversals)
    return (
        f"{said}At which factor the files do not say; the model does: for {proved} of {of} the crossing is **proved**."
    )
