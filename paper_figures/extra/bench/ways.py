"""The ways to decode that are timed on one device: the loops in use, and ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch

from paper_figures.extra.bench.plain_loop import PlainRun, plain_loop, plain_rws
from paper_figures.extra.bench.roofline import TimedCall, measured
from rws_decode.extra.compact import CompactSavings, decode_compact
from rws_decode.extra.compact.graphs import Replays
from rws_decode.extra.compact.llama import Body
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Shape
from rws_decode.strategies.factors import RWS, Confidence
from rws_decode.strategies.protocol import FactorStrategy

MEASURED = "measured"
_USUAL = CompactSavings()
# No call of the reward is left out.
_ASKING = replace(_USUAL, certain=False, reuse=False)


@dataclass(frozen=True)
class Answering:
    """What is decoded: the models, a batch of prompts of one length, and the shape of the answer."""

    predictor: MaskPredictor
    reward: RewardModel
    prompts: tuple[str, ...]
    shape: Shape
    reward_scale: float

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Return length, steps and block, as the plain loops take them."""
        shape = self.shape.resolved()
        return shape.length, shape.steps, shape.block

    def shortened(self) -> Answering:
        """Return the same canvas in as few steps as there are blocks, for a cheap run that warms up."""
        length, _, block = self.sizes
        return replace(self, shape=replace(self.shape, steps=length // block))


@dataclass(frozen=True)
class Way:
    """A way to decode.

    compared: the way that has to give the same tokens, None where none has to; replayed: which of `Answering`'s models
    have their forwards recorded and replayed.
    """

    name: str
    run: Callable[[Answering], Any]
    compared: str | None = None
    replayed: tuple[str, ...] = ()


def all_ways() -> list[Way]:
    """Return all ways; the last one leaves no call of the reward out.

    >>> [way.name for way in all_ways()]
    ['plain', 'default', 'naive rws', 'rws', 'rws every 1']
    """
    both = ("predictor", "reward")
    return [
        Way("plain", plain),
        Way("default", lambda job: _ours(job, Confidence()), "plain", ("predictor",)),
        Way("naive rws", naive),
        Way("rws", lambda job: _ours(job, RWS(job.reward_scale)), "naive rws", both),
        Way("rws every 1", lambda job: _ours(job, RWS(job.reward_scale), _ASKING), "naive rws", both),
    ]


def plain(job: Answering, *, count_ties: bool = False) -> PlainRun:
    """Decode by the published loop."""
    ids = torch.tensor([job.predictor.encode_prompt(prompt) for prompt in job.prompts], device=job.predictor.device)
    with torch.inference_mode():
        return plain_loop(job.predictor, ids, *job.sizes, count_ties=count_ties)


def naive(job: Answering, *, count_ties: bool = False) -> PlainRun:
    """Decode by RWS as its algorithm reads."""
    models = job.predictor, job.reward
    with torch.inference_mode():
        return plain_rws(*models, job.prompts, job.reward_scale, *job.sizes, count_ties=count_ties)


def _ours(job: Answering, strategy: FactorStrategy, savings: CompactSavings = _USUAL) -> Any:
    reward = job.reward if strategy.needs_reward else None
    return decode_compact(job.predictor, list(job.prompts), strategy, job.shape, reward=reward, savings=savings)


def time_ways(
    job: Answering,
    ways: Sequence[Way],
    repeats: int,
    device: torch.device,
    *,
    began: float,
    budget: float,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, tuple[list[TimedCall], str]]:
    """Run the ways in turn, `repeats` times; return the runs of each and its status: "measured", or why not.

    Each is first run in few steps on the same canvas, which does not count. budget: seconds since `began`, a
    `time.perf_counter()`, after which no further run starts.
    """
    runs: dict[str, list[TimedCall]] = {way.name: [] for way in ways}
    status, likely = {way.name: MEASURED for way in ways}, dict.fromkeys(runs, 0.0)

    def run(way: Way, answering: Answering) -> TimedCall | None:
        spent = time.perf_counter() - began
        if spent + likely[way.name] > budget:
            if not runs[way.name]:
                status[way.name] = f"not run: the budget of {budget:g} seconds was spent"
            return None
        try:
            timed = measured(lambda: way.run(answering), device)
            if timed.peak_bytes is None:
                return timed
            # PyTorch does not count what recordings compute in; where this run made one, part of it is counted twice.
            idle = sum(replays.idle_bytes for replays in _replays(answering, way.replayed))
            return timed._replace(peak_bytes=timed.peak_bytes + idle)
        except (RuntimeError, ValueError) as error:  # Out of memory, above all: the other ways are measured still.
            status[way.name] = f"failed: {' '.join(f'{type(error).__name__}: {error}'.split())[:300]}"
            runs[way.name].clear()
            return None

    # Recordings of another batch would count as memory of this one.
    for replays in _replays(job, ("predictor", "reward")):
        replays.forget()
    if device.type == "cuda":
        with suppress(RuntimeError):  # The allocator refuses for good once a recording has failed.
            torch.cuda.empty_cache()
    for way in ways:
        first = run(way, job.shortened())
        likely[way.name] = 0.0 if first is None else first.seconds * job.sizes[1] / job.shortened().sizes[1]
    for repeat in range(repeats):
        for turn in range(len(ways)):
            way = ways[(turn + repeat) % len(ways)]
            timed = run(way, job) if status[way.name] == MEASURED else None
            if timed is not None:
                runs[way.name].append(timed)
                likely[way.name] = timed.seconds
                tell(f"batch {len(job.prompts)}, {way.name}: {timed.seconds:.2f} s")
    return {name: (timed, status[name]) for name, timed in runs.items()}


def _replays(job: Answering, names: Sequence[str]) -> list[Replays]:
    """Return the recordings of some of the models, by their names in `Answering`."""
    bodies = [getattr(getattr(job, name), "body", None) for name in names]
    return [body.replays for body in bodies if isinstance(body, Body)]
