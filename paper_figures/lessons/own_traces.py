"""Reading traces, as lesson 6 does: a reader's own or two of `mini`, drafts in words, and why two runs parted."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rws_decode import Shape, Trace, TraceDiff, compare, load_predictor, load_reward
from rws_decode.checkpoints.files import shipped
from rws_decode.predictors import MaskPredictor
from rws_decode.trace.labels import strategy_label

_WIDTH = 110


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


def predictor_of(trace: Trace) -> MaskPredictor | None:
    """Return the predictor of a trace if it ships with the package, else None."""
    return load_predictor(trace.predictor) if trace.predictor in shipped("ForMaskedLM") else None


def settings_line(trace: Trace) -> str:
    """Return the settings that a trace's file keeps, in a line."""
    names = ("predictor", "reward_model", "length", "steps", "block", "ranking", "precision", "forwards")
    settings = ", ".join(f"{name} {getattr(trace, name)}" for name in names)
    return f"strategy {strategy_label(trace.strategy)}, {settings}"


def draft_lines(trace: Trace, steps: Sequence[int]) -> Iterator[str]:
    """Yield the text as it stood before each of these steps, and what the reward model would have read there."""
    for step in steps:
        words = trace.words(trace.candidate[step])
        yield f"\nbefore step {step}, the text so far, and the completion that was read:"
        yield textwrap.fill(" ".join(np.where(trace.masked[step], "____", words)), _WIDTH)
        yield textwrap.fill(" ".join(words), _WIDTH) if trace.whole_candidates else "(not kept)"


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
