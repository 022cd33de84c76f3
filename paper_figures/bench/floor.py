"""The least time that a step can take on a device: what must be computed and moved, over what the device can do.

Assumed: every weight is read once per forward, every logit written once and read once; queries, keys and values are
read and the attention's outcome written once per layer; what else passes between the matrix products is not counted, as
it could stay in cache or registers. Parts do not overlap: each takes the longer of its operations at the measured rate
and its bytes at the measured bandwidth, and the floor is their sum. A multiply and an add are two operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paper_figures.bench.ceilings import Ceilings
from paper_figures.bench.shapes import LlamaShape, Shapes
from rws_decode.canvas.schedule import PlannedStep

__all__ = ["Part", "decode_floor", "floor_seconds", "floor_table", "forward_parts", "logit_part", "reward_parts"]


@dataclass(frozen=True)
class Part:
    """A part of a step: its floating-point operations and the bytes that it reads and writes."""

    name: str
    operations: float
    nbytes: float

    def seconds(self, ceilings: Ceilings) -> float:
        """Return the least time of the part.

        >>> Part("head", operations=6e12, nbytes=1e9).seconds(Ceilings(1e12, 1e12, "bfloat16"))
        6.0
        """
        return max(self.operations / ceilings.rate, self.nbytes / ceilings.bandwidth)

    def bound(self, ceilings: Ceilings) -> str:
        """Return which of the two it is bound by: "operations" or "bytes"."""
        longer = self.operations / ceilings.rate >= self.nbytes / ceilings.bandwidth
        return "operations" if longer else "bytes"


def body_weights(shape: LlamaShape) -> int:
    """Return the weights of all layers' matrices.

    >>> body_weights(LlamaShape("x", hidden=4, layers=1, heads=2, kv_heads=1, inner=8, vocabulary=9, positions=9))
    144
    """
    attention = 2 * shape.hidden**2 + 2 * shape.hidden * shape.kv_heads * shape.head_size
    return shape.layers * (attention + 3 * shape.hidden * shape.inner)


def forward_parts(
    shape: LlamaShape, rows: int, length: int, places: float, itemsize: int, *, causal: bool = False, outputs: int = 0
) -> list[Part]:
    """Return the parts of one forward: the body over rows x length tokens, attention, and the head at `places` of them.

    causal: a token attends to those before it and itself alone, half of the pairs. outputs: of the head, if not the
    vocabulary. Embedding, norms and rotary angles are not counted.

    >>> tiny = LlamaShape("x", hidden=4, layers=1, heads=2, kv_heads=1, inner=8, vocabulary=9, positions=9)
    >>> for part in forward_parts(tiny, rows=1, length=10, places=3, itemsize=2):
    ...     print(part)
    Part(name='body', operations=2880, nbytes=288)
    Part(name='attention', operations=1600.0, nbytes=240)
    Part(name='head', operations=216, nbytes=72)
    """
    weights, tokens, columns = body_weights(shape), rows * length, outputs or shape.vocabulary
    pairs = length * (length + 1) / 2 if causal else float(length**2)
    touched = 2 * (shape.heads + shape.kv_heads) * shape.head_size
    return [
        Part("body", 2 * weights * tokens, weights * itemsize),
        Part("attention", 4 * shape.layers * rows * pairs * shape.hidden, shape.layers * tokens * touched * itemsize),
        Part("head", 2 * places * shape.hidden * columns, shape.hidden * columns * itemsize),
    ]


def logit_part(shape: LlamaShape, places: float, itemsize: int) -> Part:
    """Return the logits, written once and read once.

    >>> logit_part(LlamaShape("x", 4, 1, 2, 1, 8, vocabulary=9, positions=9), places=3, itemsize=2)
    Part(name='logits', operations=0.0, nbytes=108)
    """
    return Part("logits", 0.0, 2 * places * shape.vocabulary * itemsize)


def reward_parts(shape: LlamaShape, rows: int, length: int, itemsize: int) -> list[Part]:
    """Return the parts of one score of `rows` texts of `length` tokens each, all read anew."""
    parts = forward_parts(shape, rows, length, rows, itemsize, causal=True, outputs=1)
    return [Part(f"reward {part.name}", part.operations, part.nbytes) for part in parts]


def decode_floor(
    shapes: Shapes,
    plan: Sequence[PlannedStep],
    *,
    rows: int,
    prompt: int,
    itemsize: int,
    rewarded: bool,
    text_tokens: int | None = None,
) -> list[list[Part]]:
    """Return the parts of each step of a plan.

    Without a reward the head is needed at the current block's masked positions alone; with one at all masked positions,
    as their completion is scored, and at every step the reward model reads `text_tokens` tokens of each row: those of
    prompt and answer, and what its template adds. Nothing is reused from step to step, though it could be.
    """
    length = plan[-1].stop
    steps, committed, done = [], 0, {}
    for step in plan:
        inside = step.stop - step.start - done.get(step.start, 0)
        places = rows * (length - committed if rewarded else inside)
        parts = forward_parts(shapes.predictor, rows, prompt + length, places, itemsize)
        parts.append(logit_part(shapes.predictor, places, itemsize))
        if rewarded:
            parts += reward_parts(shapes.reward, rows, text_tokens or prompt + length, itemsize)
        steps.append(parts)
        committed += step.commits
        done[step.start] = done.get(step.start, 0) + step.commits
    return steps


def floor_seconds(steps: Sequence[Sequence[Part]], ceilings: Ceilings) -> float:
    """Return the least time of all steps together."""
    return sum(part.seconds(ceilings) for parts in steps for part in parts)


def floor_table(steps: Sequence[Sequence[Part]], ceilings: Ceilings) -> list[dict[str, Any]]:
    """Return a row per part, means over the steps: part, gigaflop, megabytes, ms, and what bounds most of its steps."""
    rows = []
    for parts in zip(*steps, strict=True):
        bounds = [part.bound(ceilings) for part in parts]
        rows.append(
            {
                "part": parts[0].name,
                "gigaflop": sum(part.operations for part in parts) / len(parts) / 1e9,
                "megabytes": sum(part.nbytes for part in parts) / len(parts) / 1e6,
                "ms": 1e3 * sum(part.seconds(ceilings) for part in parts) / len(parts),
                "bound": max(("operations", "bytes"), key=bounds.count),
            }
        )
    return rows
