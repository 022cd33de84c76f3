"""A family of worlds from left-to-right text to text in random order: the same words, stored at other positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rws_theory.checks import finite, whole
from rws_theory.show import shortened
from rws_theory.worlds.backoff import Floats, Ints
from rws_theory.worlds.joint_table import check_canvas
from rws_theory.worlds.ngram import NGram

__all__ = ["Scattered", "scattered", "scattered_order"]


@dataclass(frozen=True, eq=False)
class Scattered:
    """An n-gram world whose j-th word stands at position order[j] of the canvas.

    The law is that of the world up to the names of positions, so all stays exact. What changes is which positions tell
    most about each other: neighbours where `order` ascends, distant ones where it does not. order: int64 [n], each of 0
    to n - 1 once; it fixes the length. ValueError for another order.

    >>> world = NGram.fit([[0, 1, 0, 1, 0, 2]], order=2, vocabulary=3)
    >>> Scattered(world, [1, 0]).log_prob([2, 0]) == world.log_prob([0, 2])
    True
    """

    world: NGram
    order: Ints

    def __post_init__(self) -> None:
        order = np.asarray(self.order)
        if order.ndim != 1 or sorted(order.tolist()) != list(range(order.size)) or not order.size:
            raise ValueError(f"order is {order.tolist()}: each position from 0 is needed once")
        object.__setattr__(self, "order", order.astype(np.int64))

    def __repr__(self) -> str:
        return f"Scattered({self.world!r}, order {shortened(self.order.tolist(), 8)})"

    @property
    def vocabulary(self) -> int:
        """Return the number of words."""
        return self.world.vocabulary

    @property
    def length(self) -> int:
        """Return the number of positions."""
        return self.order.size

    def conditionals(self, canvas: Sequence[int] | Ints, context: Sequence[int] | Ints = ()) -> Floats:
        """Return log p(x_i = v | revealed), nats, shape (positions, V); -1 in `canvas` is a mask."""
        return self.conditionals_batch([canvas], [context])[0]

    def conditionals_batch(
        self, canvases: Sequence[Sequence[int] | Ints], contexts: Sequence[Sequence[int] | Ints]
    ) -> list[Floats]:
        """Return the conditionals of several canvases, each after its context."""
        texts = [check_canvas(canvas, self)[self.order] for canvas in canvases]
        position = np.argsort(self.order)
        return [rows[position] for rows in self.world.conditionals_batch(texts, contexts)]

    def log_prob(self, tokens: Sequence[int] | Ints, context: Sequence[int] | Ints = ()) -> float:
        """Return log p(tokens | context), nats."""
        return self.world.log_prob(check_canvas(tokens, self, complete=True)[self.order], context)

    def sample(self, rng: np.random.Generator, context: Sequence[int] | Ints = ()) -> Ints:
        """Draw a text, int64 [n]."""
        return self.world.sample(self.length, rng, context)[np.argsort(self.order)]

    def best(self, context: Sequence[int] | Ints = ()) -> Ints:
        """Return the most probable text, int64 [n]."""
        return self.world.best(self.length, context)[np.argsort(self.order)]


def scattered_order(n: int, locality: float, rng: np.random.Generator) -> Ints:
    """Draw an order of n positions: left to right at locality 1, uniformly random at 0.

    Positions are sorted by locality * i + (1 - locality) * n * U_i, with U_i uniform on (0, 1).

    >>> scattered_order(4, 1.0, np.random.default_rng(0)).tolist()
    [0, 1, 2, 3]
    """
    finite("locality", locality, least=0.0, most=1.0)
    whole("n", n)
    noise = rng.random(n)  # drawn at any locality, so that one generator gives one family
    return np.argsort(locality * np.arange(n) + (1.0 - locality) * n * noise, kind="stable")


def scattered(world: NGram, n: int, locality: float, rng: np.random.Generator) -> Scattered:
    """Return a world's texts of n words at positions of the given locality."""
    return Scattered(world, scattered_order(n, locality, rng))
