"""Sizes of models by name: models are made from them, and the least time of a step follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rws_theory.checks import one_of


@dataclass(frozen=True)
class LlamaShape:
    """The sizes of a network of Llama's kind."""

    name: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    positions: int
    rope_factor: float | None = None

    @property
    def head_size(self) -> int:
        """Return the width of an attention head."""
        return self.hidden // self.heads


class Shapes(NamedTuple):
    """A mask predictor's shape and a reward model's; mask and end: the predictor's special tokens."""

    predictor: LlamaShape
    reward: LlamaShape
    mask: int
    end: int


# name -> what `bench --shape NAME` builds. Mask and end of llada-8b are LLaDA's own ids.
SHAPES = {
    "llada-8b": Shapes(
        LlamaShape("llada-8b", 4096, 32, 32, 32, 12288, 126464, 4096),
        LlamaShape("llama-3.1-8b", 4096, 32, 32, 8, 14336, 128256, 131072, rope_factor=8.0),
        mask=126336,
        end=126081,
    ),
    "small": Shapes(
        LlamaShape("small", 128, 4, 4, 4, 384, 2048, 1024),
        LlamaShape("small-reward", 128, 4, 4, 2, 448, 2112, 2048, rope_factor=8.0),
        mask=2040,
        end=2041,
    ),
    "tiny": Shapes(
        LlamaShape("tiny", 32, 2, 2, 2, 48, 96, 256),
        LlamaShape("tiny-reward", 32, 2, 2, 1, 64, 104, 256, rope_factor=8.0),
        mask=90,
        end=91,
    ),
}


def shapes_named(name: str) -> Shapes:
    """Return the shapes of a name; ValueError, naming those there are, for another.

    >>> shapes_named("llada-8b").predictor.layers
    32
    """
    one_of("shape", name, SHAPES)
    return SHAPES[name]
