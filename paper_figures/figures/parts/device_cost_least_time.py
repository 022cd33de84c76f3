"""The least operations, bytes and seconds of the paper's decode on its GPU, computed from shapes and a datasheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rws_theory.printed import printed_in

SHAPE = "llada-8b"
# The paper does not say how long its prompts are.
ASSUMED_PROMPT = 64
# Per weight and per logit: the paper does not say its precision either.
BYTES = 2
EVERY = (1, 2, 4, 8)


@dataclass(frozen=True)
class Limits:
    """The limits of a device by its maker. rate: operations per second; bandwidth: bytes per second."""

    name: str
    rate: float
    bandwidth: float
    where: str


A100 = Limits("A100", 312e12, 1.555e12, "NVIDIA's datasheet: dense bfloat16 on tensor cores, the 40 GB card's memory")


@dataclass(frozen=True)
class Least:
    """The least of one answer after a prompt of `prompt` tokens (`paper_figures.bench.roofline` says what is counted).

    default, rws: rows by part of a step, means over the steps; rws asks the reward at every step and reads all of its
    text anew. operations: of a decode, default's and rws's. default_seconds; rws_seconds: steps from one call of the
    reward to the next -> seconds.
    """

    prompt: int
    default: Sequence[Mapping[str, Any]]
    rws: Sequence[Mapping[str, Any]]
    operations: tuple[float, float]
    default_seconds: float
    rws_seconds: Mapping[int, float]

    @property
    def more_operations(self) -> float:
        """Return by how many percent rws at every step has more operations than the default."""
        return 100 * (self.operations[1] / self.operations[0] - 1)

    @property
    def reward_seconds(self) -> float:
        """Return what asking at every step adds to the least time of a decode, in seconds."""
        return self.rws_seconds[1] - self.default_seconds

    def increase(self, every: int) -> float:
        """Return how many percent longer than the default rws takes if both take their least time."""
        return 100 * (self.rws_seconds[every] / self.default_seconds - 1)


def least(prompt: int = ASSUMED_PROMPT, limits: Limits = A100) -> Least:
    """Return the least of the paper's setting, batch 1, for LLaDA-8B's shape and a reward of Llama-3.1-8B's.

    Between calls of the reward a step is the default's.

    >>> found = least()
    >>> round(found.more_operations, 1), round(found.default_seconds, 3), round(found.increase(1), 1)
    (101.6, 1.946, 95.4)
    """
    from paper_figures.bench.roofline import Ceilings, decode_parts, least_seconds, roofline_table
    from paper_figures.bench.shapes import shapes_named
    from rws_decode.canvas.schedule import block_plan

    setting, ceilings = printed_in("setting"), Ceilings(limits.bandwidth, limits.rate, "bfloat16")
    plan = block_plan(setting["length"], setting["steps"], setting["block"])
    default, rws = (
        decode_parts(shapes_named(SHAPE), plan, rows=1, prompt=prompt, itemsize=BYTES, rewarded=rewarded)
        for rewarded in (False, True)
    )
    mixed = {every: [(default, rws)[step % every == 0][step] for step in range(len(plan))] for every in EVERY}
    operations = [sum(part.operations for parts in steps for part in parts) for steps in (default, rws)]
    return Least(
        prompt,
        roofline_table(default, ceilings),
        roofline_table(rws, ceilings),
        (operations[0], operations[1]),
        least_seconds(default, ceilings),
        {every: least_seconds(steps, ceilings) for every, steps in mixed.items()},
    )
