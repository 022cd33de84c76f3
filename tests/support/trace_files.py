"""A short run whose trace tests change, and what the file of a trace is made of."""

from dataclasses import replace

import numpy as np
from grouped import grouped
from tiny_models import bert_predictor

from rws_decode import RWS, CallableReward, Trace, decode
from rws_decode.trace.data import NOT_NEEDED, STEP_MAP_LACKS
from rws_decode.trace.file import SCHEMA, trace_bytes

__all__ = ["NOT_NEEDED", "PREDICTOR", "SCHEMA", "STEP_MAP_LACKS", "TRACE", "run", "trace_bytes", "unneeded"]

REWARD = CallableReward(lambda prompt, answer: float(len(answer)), mean=20, std=10, name="length")
PREDICTOR = bert_predictor()


def run() -> Trace:
    (trace,) = decode(PREDICTOR, ["the cat sat"], RWS(8.0), **grouped(length=12, steps=5, block=12, reward=REWARD))
    return trace


TRACE = run()


def unneeded(trace: Trace, step: int, *more: str) -> Trace:
    """Return the trace as it is where no reward was needed at a step; more: arrays that are not known there."""
    names = ("factor", "reward_raw", "reward_normalised", *more)
    arrays = {name: getattr(trace, name).copy() for name in names}
    use = trace.reward_use.copy()
    use[step] = NOT_NEEDED
    for array in arrays.values():
        array[step] = np.nan
    return replace(trace, reward_use=use, **arrays)
