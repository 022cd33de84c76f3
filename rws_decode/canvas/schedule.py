"""The schedule: how many tokens each step commits, in which block, for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from rws_decode.common.arguments import divisors, nearest
from rws_decode.common.later import torch
from rws_theory.checks import whole

if TYPE_CHECKING:
    from torch import Tensor

Padding = Literal["right", "left"]
EndOfText = Literal["none", "suppress", "defer", "defer-published"]

# Tokens of an answer: more than any model reads, and few enough that a plan is made at once.
LONGEST = 2**20


class PlannedStep(NamedTuple):
    """One step of a decode: commit `commits` of the answer positions from `start` up to, not including, `stop`."""

    start: int
    stop: int
    commits: int


def commit_counts(masks: int, steps: int) -> list[int]:
    """Split `masks` commits over `steps` steps: masks // steps each, the first masks % steps one more.

    The number of tokens per step in the decoding loop of LLaDA (Nie et al. 2025), which the paper's Step 4 keeps.
    Guarantee: the counts sum to `masks` and each is at least 1. Domain: 1 <= steps <= masks.
    """
    each, rest = divmod(masks, steps)
    return [each + (step < rest) for step in range(steps)]


def block_plan(length: int, steps: int, block: int, counts: Sequence[int] | None = None) -> list[PlannedStep]:
    """Plan every step of a block-wise decode: blocks left to right, `steps` shared evenly among them.

    Semi-autoregressive schedule of LLaDA (Nie et al. 2025). length: answer tokens; steps: forwards in all; block:
    tokens per block. Guarantee: one entry per step, counts sum to `length`, each at least 1. ValueError names the
    argument unless length % block == 0, steps % (length // block) == 0 and steps <= length <= `LONGEST`. counts: of
    each step, in place of even ones; then block must be length, and steps their number.
    """
    for name, value in (("length", length), ("steps", steps), ("block", block)):
        whole(name, value, 1, LONGEST if name == "length" else None)
    if length % block:
        near, far = nearest(block, divisors(length)), nearest(length, range(block, length + block + 1, block))
        raise ValueError(f"block is {block}: it must divide length, which is {length}, such as {near}; or length {far}")
    blocks = length // block
    if steps % blocks:
        near = nearest(min(steps, length), range(blocks, length + 1, blocks))
        raise ValueError(
            f"steps is {steps}: it must be a multiple of {blocks}, the blocks (length {length} // block {block}), "
            f"such as {near}"
        )
    if steps > length:
        raise ValueError(f"steps is {steps}: at most length, {length}, so that each step commits a token")
    if counts is not None:
        for number, count in enumerate(counts):
            whole(f"counts[{number}]", count)
        if blocks > 1 or len(counts) != steps or sum(counts) != length:
            raise ValueError(
                f"counts are {tuple(counts)!r:.80}: {steps} that sum to length, {length}, are needed, and one block"
            )
    counts = counts or commit_counts(block, steps // blocks)
    return [PlannedStep(start, start + block, commits) for start in range(0, length, block) for commits in counts]


def due(block: Tensor, step: int, plan: Sequence[PlannedStep]) -> Tensor:
    """Return how many of a block's masked positions must go in a step, int64 [b]: one, or in its last step all.

    block: bool [b, n]. The last step is the one that the schedule has for the block.
    """
    return torch.where(last_steps(block, step, plan), block.sum(dim=1), 1)


def last_steps(block: Tensor, step: int, plan: Sequence[PlannedStep]) -> Tensor:
    """Return the rows for whose block the schedule has no step after this one, bool [b]. block: as in `due`."""
    size = plan[0].stop
    steps = len(plan) // (plan[-1].stop // size)
    current = block.to(torch.uint8).argmax(dim=1) // size
    return (current + 1) * steps <= step + 1


def current_block(masked: Tensor, plan: Sequence[PlannedStep]) -> Tensor:
    """Return all positions of each row's current block, the first with masks left, bool [b, n]. masked: bool [b, n]."""
    number = torch.arange(masked.shape[1], device=masked.device) // plan[0].stop
    return number == torch.where(masked, number, masked.shape[1]).amin(dim=1, keepdim=True)
