"""The layers around the plain step, for strategies that count, look ahead, remember or undo."""

from __future__ import annotations

from dataclasses import replace

from rws_decode.step.counting import counting
from rws_decode.step.hypotheses import looking
from rws_decode.step.remembering import remembering
from rws_decode.step.revising import revising
from rws_decode.step.step import Decoder
from rws_decode.strategies.protocol import LookingStrategy, OwnCount, Remembering, RevisingStrategy


def layered(decoder: Decoder) -> Decoder:
    """Return the decoder with a layer around its step for each thing that its strategy does besides.

    A layer hands the step within it a decoder of its own, whose forward, completion or choice it has wrapped. The
    innermost wraps last: what is counted has been remembered and may look ahead.
    """
    layers = (
        (OwnCount, counting),
        (LookingStrategy, looking),
        (Remembering, remembering),
        (RevisingStrategy, revising),
    )
    for ability, layer in layers:
        if isinstance(decoder.strategy, ability):
            decoder = replace(decoder, run=layer(decoder.run))
    return decoder
