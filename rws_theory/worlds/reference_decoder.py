"""A reference decoder for exact masked models: the paper's algorithm in a few lines of NumPy.

It is the definition that batched or accelerated decoders are compared with: no blocks, no prompt, one sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.checks import whole
from rws_theory.confidence import log_odds
from rws_theory.gain import factor_range, normalise, reward_factor
from rws_theory.show import one_line
from rws_theory.worlds.joint_table import MASK, Floats, Ints, JointTable, MaskedModel, reward_statistics

# From the step (from 0) and the normalised reward of its greedy completion (NaN without a reward) to the factor c.
FactorRule = Callable[[int, Any], Any]


@dataclass(frozen=True, eq=False)
class MaskedDecode:
    """One decoded sequence: `tokens` and `commit_step` (length,), and per step its `factors` and normalised `rewards`.

    `rewards` holds NaN at every step if no reward was given.
    """

    tokens: Ints
    commit_step: Ints
    factors: Floats
    rewards: Floats

    __repr__ = one_line


def decode_masked(
    model: MaskedModel,
    rule: FactorRule,
    *,
    length: int | None = None,
    per_step: int = 1,
    reward: Callable[[Sequence[int]], float] | None = None,
) -> MaskedDecode:
    """Decode one sequence of a masked model as the paper's Section 3.2 does, committing `per_step` tokens a step.

    - Step 1: the exact conditionals as logits, and the greedy completion (lowest token among equals).
    - Step 2: its normalised reward, if `reward` (of a complete sequence) is given.
    - Step 3: the factor c = rule(step, reward).
    - Step 4: the masked positions of largest :func:`~rws_theory.confidence.log_odds` at scale c are committed, leftmost
      first among equals. The last step commits what remains.

    ValueError for a length the model does not have, per_step < 1, and factors that are not positive and finite.

    >>> table = JointTable(np.log([[3.0, 1.0], [1.0, 5.0]]))
    >>> decode = decode_masked(table, constant_rule(1.0))
    >>> decode.tokens.tolist(), decode.commit_step.tolist()
    ([1, 1], [0, 1])
    """
    size = model.length if length is None else length
    if size is None or size < 1 or model.length not in (None, size):
        raise ValueError(f"length is {length}: the model has {model.length or 'any length of at least 1'}")
    whole("per_step", per_step)
    canvas, commit_step = np.full(size, MASK), np.zeros(size, dtype=np.int64)
    factors: list[float] = []
    rewards: list[float] = []
    while (canvas == MASK).any():
        logits = model.conditionals(canvas)
        candidate = logits.argmax(axis=-1)
        rewards.append(np.nan if reward is None else float(reward(candidate.tolist())))
        factors.append(float(rule(len(factors), rewards[-1])))
        masked = np.flatnonzero(canvas == MASK)
        rank = np.argsort(-log_odds(logits[masked], factors[-1]), kind="stable")  # stable: leftmost first
        chosen = masked[rank[:per_step]]
        canvas[chosen], commit_step[chosen] = candidate[chosen], len(factors) - 1
    return MaskedDecode(canvas, commit_step, np.array(factors), np.array(rewards))


def constant_rule(scale: ArrayLike) -> FactorRule:
    """Return the rule of a fixed factor `scale`; 1 is plain confidence decoding."""
    return lambda step, reward: scale


def rws_rule(reward_scale: float, eps: float = 1e-5) -> FactorRule:
    """Return the rule of RWS: s_R sqrt(sigmoid(r) + eps) of the completion's normalised reward r (Step 3, Section 3.2).

    >>> round(float(rws_rule(8.0)(0, 0.0)), 4)
    5.6569
    """
    factor_range(reward_scale, eps)  # ValueError for a bad scale
    return lambda step, reward: reward_factor(reward, reward_scale, eps)


def flipped_rule(reward_scale: float, eps: float = 1e-5) -> FactorRule:
    """Return RWS with the sign of the normalised reward flipped: a control that trusts bad completions."""
    return lambda step, reward: reward_factor(-np.asarray(reward), reward_scale, eps)


def replay_rule(rewards: ArrayLike, reward_scale: float, eps: float = 1e-5) -> FactorRule:
    """Return RWS factors of given normalised rewards, (..., steps), whatever a completion scores."""
    table: NDArray[np.float64] = np.asarray(rewards, dtype=np.float64)
    return lambda step, reward: reward_factor(table[..., step], reward_scale, eps)


def table_reward(table: JointTable, rewards: ArrayLike) -> Callable[[Sequence[int]], float]:
    """Return the normalised reward (R - mu_R) / sigma_R of a sequence, by a table of rewards and its exact statistics.

    ValueError for a reward that is constant on the table's support, and as in :func:`reward_statistics`.

    >>> table_reward(JointTable(np.zeros((2, 2))), [[0.0, 2.0], [2.0, 0.0]])([0, 1])
    1.0
    """
    mean, deviation = reward_statistics(table, rewards)
    normalise(mean, mean, deviation)  # refuses an SD of 0 now rather than at the first step
    values = np.asarray(rewards, dtype=np.float64)
    return lambda tokens: float(normalise(values[tuple(tokens)], mean, deviation))
