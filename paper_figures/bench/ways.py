"""The ways to decode that the bench compares: the loops in use, ours, and ours with savings switched off and on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from rws_decode.gpu import CompactSavings, decode_compact
from rws_decode.plain_loop import PlainRun, plain_loop, plain_rws
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Shape
from rws_decode.strategies.factors import RWS, Confidence
from rws_decode.strategies.protocol import FactorStrategy
from rws_decode.strategies.reward_controls import RWSEvery

__all__ = ["FAMILIES", "SAVINGS", "Answering", "Way", "all_ways"]

FAMILIES = ("plain", "default", "naive", "rws", "every", "savings")
# The savings that can change what each decode does.
SAVINGS = {
    "default": ("graphs", "places", "block_only", "settled"),
    "rws": ("graphs", "places", "certain", "reuse", "settled"),
}
_REPLAYED = {"default": ("predictor",), "rws": ("predictor", "reward")}


@dataclass(frozen=True)
class Answering:
    """What is decoded: the models, a batch of prompts of one length, and the shape of the answer."""

    predictor: MaskPredictor
    reward: RewardModel
    prompts: tuple[str, ...]
    length: int
    steps: int
    block: int
    reward_scale: float
    memory: int

    @property
    def shape(self) -> dict[str, Any]:
        """Return length, steps and block, as all decoders take them."""
        return {"length": self.length, "steps": self.steps, "block": self.block}

    def shortened(self) -> Answering:
        """Return the same canvas in as few steps as there are blocks: what warms up costs little."""
        return replace(self, steps=self.length // self.block)


@dataclass(frozen=True)
class Way:
    """A way to decode.

    compared: the way that has to give the same tokens, None where none has to; replayed: which of `Answering`'s models
    have their forwards recorded and replayed.
    """

    name: str
    family: str
    compared: str | None
    run: Callable[[Answering], Any]
    replayed: tuple[str, ...] = ()


def all_ways(every: Sequence[int] = (2, 4, 8)) -> list[Way]:
    """Return all ways; every: steps from one call of the reward model to the next, beside 1.

    Those of every k-th step ask at each of these: they leave no call out.

    >>> [way.name for way in all_ways((2,))][:6]
    ['plain', 'default', 'naive rws', 'rws', 'rws every 1', 'rws every 2']
    """
    both = _REPLAYED["rws"]
    ways = [
        Way("plain", "plain", None, plain),
        Way("default", "default", "plain", lambda job: ours(job, Confidence()), _REPLAYED["default"]),
        Way("naive rws", "naive", None, naive),
        Way("rws", "rws", "naive rws", lambda job: ours(job, RWS(job.reward_scale)), both),
    ]
    asking = replace(CompactSavings(), certain=False, reuse=False)
    ways.append(Way("rws every 1", "every", "naive rws", lambda job: ours(job, RWS(job.reward_scale), asking), both))
    for number in (number for number in every if number > 1):
        ways.append(
            Way(
                f"rws every {number}",
                "every",
                None,
                lambda job, every=number: ours(job, RWSEvery(job.reward_scale, every), asking),
                both,
            )
        )
    for method, parts in SAVINGS.items():
        ways += _with_savings(method, parts)
    return ways


def plain(job: Answering, *, count_ties: bool = False) -> PlainRun:
    """Decode by the loop in use."""
    ids = torch.tensor([job.predictor.encode_prompt(prompt) for prompt in job.prompts], device=job.predictor.device)
    with torch.inference_mode():
        return plain_loop(job.predictor, ids, **job.shape, count_ties=count_ties)


def naive(job: Answering, *, count_ties: bool = False) -> PlainRun:
    """Decode by RWS as its algorithm reads."""
    with torch.inference_mode():
        return plain_rws(job.predictor, job.reward, job.prompts, job.reward_scale, **job.shape, count_ties=count_ties)


def ours(job: Answering, strategy: FactorStrategy, savings: CompactSavings | None = None) -> Any:
    """Decode by the compact decoder."""
    chosen = replace(CompactSavings() if savings is None else savings, memory=job.memory)
    reward = job.reward if strategy.needs_reward else None
    return decode_compact(job.predictor, list(job.prompts), strategy, Shape(**job.shape), reward=reward, savings=chosen)


def _with_savings(method: str, parts: Sequence[str]) -> list[Way]:
    compared = "naive rws" if method == "rws" else "plain"

    def way(name: str, savings: CompactSavings) -> Way:
        def run(job: Answering) -> Any:
            return ours(job, RWS(job.reward_scale) if method == "rws" else Confidence(), savings)

        return Way(f"{method} {name}", "savings", compared, run, _REPLAYED[method] if savings.graphs else ())

    ways = [way("without any", CompactSavings.nothing())]
    for part in parts:
        ways.append(way(f"without {part}", replace(CompactSavings(), **{part: False})))
        ways.append(way(f"with {part} alone", replace(CompactSavings.nothing(), **{part: True})))
    return ways
