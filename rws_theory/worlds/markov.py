"""Markov chains as masked models: exact conditionals of all masked positions at any length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rws_theory.checks import whole
from rws_theory.worlds.joint_table import MASK, Floats, Ints, JointTable, check_canvas

__all__ = ["MarkovChain", "contraction"]


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """A chain p(x) = initial(x_1) prod_i transitions(x_i, x_{i+1}) over tokens 0 .. vocabulary - 1, of any length.

    log_initial: shape (vocabulary,). log_transitions: shape (vocabulary, vocabulary), from row to column. Both in nats,
    up to a constant (they are stored normalised); -inf is impossible. ValueError for other shapes, NaN or +inf, or a
    distribution without a possible token.

    >>> chain = MarkovChain(np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]]))
    >>> np.exp(chain.conditionals([0, MASK, 0])).round(3).tolist()
    [[1.0, 0.0], [0.988, 0.012], [1.0, 0.0]]
    """

    log_initial: Floats
    log_transitions: Floats

    def __post_init__(self) -> None:
        initial, transitions = np.asarray(self.log_initial), np.asarray(self.log_transitions)
        if initial.ndim != 1 or initial.size == 0 or transitions.shape != (initial.size, initial.size):
            shapes = f"{initial.shape} and {transitions.shape}"
            raise ValueError(f"log_initial and log_transitions must have shapes (v,) and (v, v), got {shapes}")
        object.__setattr__(self, "log_initial", _normalised(initial, "log_initial"))
        object.__setattr__(self, "log_transitions", _normalised(transitions, "log_transitions"))

    def __repr__(self) -> str:
        steps = np.isfinite(self.log_transitions)
        return f"MarkovChain(vocabulary={self.vocabulary}, {int(steps.sum()):,} of {steps.size:,} steps possible)"

    @property
    def vocabulary(self) -> int:
        """Return the number of tokens."""
        return self.log_initial.size

    length = None  # there is a distribution for every length

    def conditionals(self, canvas: Sequence[int] | Ints) -> Floats:
        """Return log p(x_i = v | revealed), nats, shape (positions, vocabulary); each row sums to 1 in probability.

        canvas: tokens, -1 where masked. By forward-backward in log space (docs/theory.md, eq. (T53)). With L positions
        each entry is within 2^-51 L (1 + log vocabulary + |log p(x_i = v, revealed)|). ValueError for a token out of
        range or revealed tokens of probability 0.
        """
        shown = check_canvas(canvas, self)
        allowed = np.zeros((shown.size, self.vocabulary))
        revealed = np.flatnonzero(shown != MASK)
        allowed[revealed] = -np.inf
        allowed[revealed, shown[revealed]] = 0.0
        forward = np.empty_like(allowed)
        forward[0] = self.log_initial + allowed[0]
        for i in range(1, shown.size):
            forward[i] = logsumexp(forward[i - 1][:, None] + self.log_transitions, axis=0) + allowed[i]
        backward = np.zeros_like(allowed)
        for i in range(shown.size - 1, 0, -1):
            backward[i - 1] = logsumexp(self.log_transitions + (allowed[i] + backward[i])[None, :], axis=1)
        joint = forward + backward
        if np.isneginf(forward[-1]).all():
            raise ValueError(f"canvas {shown.tolist()} has probability 0: its conditionals do not exist")
        return _normalised(joint, "canvas")

    def log_prob(self, tokens: Sequence[int] | Ints) -> float:
        """Return log p(tokens) in nats, -inf where impossible, within 2^-52 (L + L log vocabulary + 2 |log p|).

        L is the number of tokens. ValueError for a mask or a token out of range.
        """
        x = check_canvas(tokens, self, complete=True)
        return float(self.log_initial[x[0]] + self.log_transitions[x[:-1], x[1:]].sum())

    def table(self, length: int) -> JointTable:
        """Return the joint table over vocabulary^length; ValueError unless length >= 1.

        >>> MarkovChain(np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]])).table(2).log_p.shape
        (2, 2)
        """
        whole("length", length)
        log_p = self.log_initial
        for _ in range(length - 1):
            log_p = log_p[..., None] + self.log_transitions
        return JointTable(log_p)


def contraction(chain: MarkovChain) -> float:
    """Return tau, the share of dependence that one position of a chain lets through at most, whatever is revealed.

    tau = tanh(D / 4), where e^D is the largest P(x, y) P(x', y') / (P(x, y') P(x', y)): Birkhoff's coefficient. Two
    masked positions at distance d have at most tau^d log vocabulary nats of mutual information (docs/theory.md, eq.
    (T95)).

    >>> round(contraction(MarkovChain(np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]]))), 9)
    0.8
    """
    if np.isneginf(chain.log_transitions).any():
        return 1.0
    ratios = chain.log_transitions[:, None] - chain.log_transitions
    return float(np.tanh((ratios.max(axis=-1) - ratios.min(axis=-1)).max() / 4))


def _normalised(log_p: NDArray[np.float64], name: str) -> Floats:
    if log_p.dtype.kind not in "fiu" or np.isnan(log_p).any() or np.isposinf(log_p).any():
        raise ValueError(f"{name} must be finite or -inf, got {log_p.dtype} with nan, inf or no numbers")
    top = log_p.max(axis=-1, keepdims=True)
    if np.isneginf(top).any():
        raise ValueError(f"{name} must leave a possible token in every distribution, got only -inf")
    with np.errstate(over="ignore"):  # a state beyond float64 below the largest is impossible
        shifted = log_p.astype(np.float64) - top
    return shifted - logsumexp(shifted, axis=-1, keepdims=True)
