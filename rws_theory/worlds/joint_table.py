"""Masked models with exact conditionals: what one offers, and any distribution over short sequences as a table.

A trained mask predictor approximates the distribution of each masked token given the revealed ones. Here these
conditionals follow exactly from a joint distribution, so whatever decoding does with them can be compared with the
truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.confidence import real
from rws_theory.tilting import tilted_cumulants

__all__ = ["MASK", "JointTable", "MaskedModel", "check_canvas", "reward_statistics"]

MASK = -1

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class MaskedModel(Protocol):
    """A distribution over sequences of tokens 0 .. vocabulary - 1, with the exact conditionals of a mask predictor.

    `length` is the only sequence length it has, or None if it has one for every length >= 1.
    """

    @property
    def vocabulary(self) -> int:
        """The number of tokens."""
        ...

    @property
    def length(self) -> int | None:
        """The only sequence length, or None."""
        ...

    def conditionals(self, canvas: Sequence[int] | Ints) -> Floats:
        """Return log p(x_i = v | revealed tokens), nats, shape (positions, vocabulary); -1 in `canvas` is a mask."""
        ...

    def log_prob(self, tokens: Sequence[int] | Ints) -> float:
        """Return log p(tokens) in nats, -inf where impossible."""
        ...


@dataclass(frozen=True, eq=False)
class JointTable:
    """An arbitrary distribution over sequences, given by the log-probability of each.

    log_p: shape (vocabulary,) * length, nats, up to a constant; -inf is an impossible sequence. It is stored
    normalised. ValueError for axes of different lengths, no axes, NaN or +inf, and no possible sequence.

    >>> table = JointTable(np.log([[3.0, 1.0], [1.0, 5.0]]))
    >>> table
    JointTable(length=2, vocabulary=2, 4 of 4 possible)
    >>> np.exp(table.conditionals([0, MASK])).round(2).tolist()
    [[1.0, 0.0], [0.75, 0.25]]
    """

    log_p: Floats

    def __post_init__(self) -> None:
        table = real(self.log_p, "log_p")
        if table.ndim == 0 or len(set(table.shape)) != 1 or table.size == 0:
            raise ValueError(f"log_p must have shape (vocabulary,) * length, got {table.shape}")
        if np.isnan(table).any() or np.isposinf(table).any():
            raise ValueError("log_p must be finite or -inf (an impossible sequence), got nan or inf")
        if np.isneginf(table).all():
            raise ValueError("log_p must leave at least one sequence possible, got only -inf")
        with np.errstate(over="ignore"):  # a text beyond float64 below the largest is impossible
            table = table - table.max()  # first, so that a large constant does not round the sum
        object.__setattr__(self, "log_p", table - _log_sum(table))

    def __repr__(self) -> str:
        possible = f"{int(np.isfinite(self.log_p).sum()):,} of {self.log_p.size:,} possible"
        return f"JointTable(length={self.length}, vocabulary={self.vocabulary}, {possible})"

    @property
    def vocabulary(self) -> int:
        """Return the number of tokens."""
        return self.log_p.shape[0]

    @property
    def length(self) -> int:
        """Return the number of positions."""
        return self.log_p.ndim

    def conditionals(self, canvas: Sequence[int] | Ints) -> Floats:
        """Return log p(x_i = v | revealed), nats, shape (length, vocabulary); each row sums to 1 in probability.

        canvas: `length` tokens, -1 where masked. A revealed position has 0 at its token and -inf elsewhere. With N =
        vocabulary^length each entry is within 2^-52 (3 + 3 log N + 2 |log p(x_i = v, revealed)|). ValueError for a
        canvas of another length, a token out of range, or revealed tokens of probability 0.
        """
        shown = check_canvas(canvas, self)
        masked = np.flatnonzero(shown == MASK)
        table = self.log_p[tuple(slice(None) if token == MASK else int(token) for token in shown)]
        total = float(_log_sum(table))
        if np.isneginf(total):
            raise ValueError(f"canvas {shown.tolist()} has probability 0: its conditionals do not exist")
        logits = np.full((self.length, self.vocabulary), -np.inf)
        revealed = np.flatnonzero(shown != MASK)
        logits[revealed, shown[revealed]] = 0.0
        for axis, position in enumerate(masked):
            others = tuple(other for other in range(masked.size) if other != axis)
            logits[position] = _log_sum(table, others) - total
        return logits

    def log_prob(self, tokens: Sequence[int] | Ints) -> float:
        """Return log p(tokens) in nats, within 2^-52 (1 + log vocabulary^length + |log p|).

        ValueError for a mask, another length or a token out of range.
        """
        return float(self.log_p[tuple(check_canvas(tokens, self, complete=True))])


def reward_statistics(table: JointTable, rewards: ArrayLike) -> tuple[float, float]:
    """Return the exact mean and standard deviation of a reward under p, the paper's mu_R and sigma_R, in R's unit.

    rewards: in the shape of the table; ignored where the sequence is impossible. Accuracy:
    :func:`rws_theory.tilting.tilted_cumulants` at r = 0. ValueError as in :func:`rws_theory.tilting.tilt`.

    >>> reward_statistics(JointTable(np.zeros((2, 2))), [[0.0, 2.0], [2.0, 0.0]])
    (1.0, 1.0)
    """
    values = np.asarray(rewards)
    if values.shape != table.log_p.shape:
        raise ValueError(f"rewards must have the shape {table.log_p.shape} of the table, got {values.shape}")
    mean, variance = tilted_cumulants(table.log_p.ravel(), values.ravel(), 0.0)
    return float(mean), float(np.sqrt(variance))


def check_canvas(
    canvas: Sequence[int] | Ints, model: MaskedModel, *, complete: bool = False, name: str = "canvas"
) -> Ints:
    """Return the canvas as int64 of the model's length; ValueError where it is not one (`complete`: without masks).

    >>> check_canvas([1, MASK], JointTable(np.zeros((2, 2))))
    array([ 1, -1])
    """
    shown = np.asarray(canvas)
    if shown.ndim != 1 or shown.dtype.kind not in "iu" or shown.size == 0:
        raise ValueError(f"{name} must be one row of token ids, got shape {shown.shape} and dtype {shown.dtype}")
    if model.length is not None and shown.size != model.length:
        raise ValueError(f"{name} has {shown.size} positions: the model has {model.length}")
    least = 0 if complete else MASK
    wrong = (shown < least) | (shown >= model.vocabulary)
    if wrong.any():
        raise ValueError(f"{name} holds {shown[wrong][0]}: tokens are {least} to {model.vocabulary - 1}, {MASK} a mask")
    return shown.astype(np.int64)


def _log_sum(values: Floats, axis: tuple[int, ...] | None = None) -> Floats:
    from scipy.special import logsumexp  # here, so that n-gram models do not wait for it

    return np.asarray(logsumexp(values, axis=axis))
