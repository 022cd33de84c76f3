"""The first-order effects of tilting and of scaling on the mean reward of an n-gram model, exact at any length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from rws_theory.checks import whole
from rws_theory.show import one_line
from rws_theory.worlds.backoff import Backoff, Floats, Ints
from rws_theory.worlds.joint_table import check_canvas
from rws_theory.worlds.lattice import Passes, passes_of
from rws_theory.worlds.ngram import NGram
from rws_theory.worlds.tilts import AdditiveReward, additive

__all__ = ["RewardSlopes", "reward_slopes"]


@dataclass(frozen=True)
class RewardSlopes:
    """Means under p, and the derivatives of the mean reward.

    mean_reward, mean_log_p (nats); tilting: d/dbeta E[R] of p exp(beta R) / Z at beta = 0, which is Var[R] and never
    below 0; scaling: d/dc E[R] of p^c / Z at c = 1, which is Cov[log p, R], of either sign.
    """

    mean_reward: float
    mean_log_p: float
    tilting: float
    scaling: float

    __repr__ = one_line


def reward_slopes(world: NGram, reward: AdditiveReward, n: int, context: Sequence[int] | Ints = ()) -> RewardSlopes:
    """Return the first effect of tilting and of scaling on the mean reward of texts of n tokens after a context.

    By one forward pass of first and second moments (docs/theory.md, eq. (T63)). reward: [V] or an automaton. ValueError
    for a reward of pairs, a model that is tilted, and n below 1.

    >>> world = NGram.fit([[0, 1, 0, 1, 0, 2]], order=2, vocabulary=3)
    >>> slopes = reward_slopes(world, [0.0, 0.0, 1.0], 8)
    >>> slopes.tilting > 0 > slopes.scaling
    True
    """
    words, pairs = additive(reward, world.vocabulary)
    if pairs is not None:
        raise ValueError("reward is of pairs: one per word, or an automaton, is needed")
    if world.tilted:
        raise ValueError("world is tilted: slopes are those of a world as it was fitted")
    whole("n", n)
    before = np.zeros(0, np.int64) if len(context) == 0 else check_canvas(context, world, complete=True, name="context")
    chain = world.chain
    moves = _Moves(chain)
    states, last = len(words.following), chain.last
    # Moments of what has been read, by state and automaton's state: 1, R, L, RR, LR. L is log p. The root's come last.
    moments = np.zeros((5, chain.root + 1, states))
    moments[0, chain.after(before), 0] = 1.0
    mean_reward = mean_log_p = 0.0
    for _ in range(n):
        moved = moves.plain(moments)  # before the word's reward is added
        weighed = moves.weighed(moments[:2])  # of 1 and R, times log P of the step
        mass_read, r, log_p, rr, log_p_r = moved
        log_p, log_p_r = log_p + weighed[0], log_p_r + weighed[1]
        gain = words.reward[:, last].T  # [S, Q]
        read = np.stack(
            [mass_read, r + gain * mass_read, log_p, rr + gain * (2 * r + gain * mass_read), log_p_r + gain * log_p]
        )
        moments = np.zeros_like(moments)
        rows = np.arange(chain.root)
        for state in range(states):
            moments[:, rows, words.following[state, last]] += read[:, :, state]
        # Moments about the mean so far, so that little cancels in the end.
        reward_shift, log_shift = moments[1].sum(), moments[2].sum()
        mean_reward, mean_log_p = mean_reward + float(reward_shift), mean_log_p + float(log_shift)
        mass_read, r, log_p, rr, log_p_r = moments
        moments = np.stack(
            [
                mass_read,
                r - reward_shift * mass_read,
                log_p - log_shift * mass_read,
                rr - 2 * reward_shift * r + reward_shift**2 * mass_read,
                log_p_r - reward_shift * log_p - log_shift * r + reward_shift * log_shift * mass_read,
            ]
        )
    return RewardSlopes(mean_reward, mean_log_p, float(moments[3].sum()), float(moments[4].sum()))


class _Moves:
    """A chain's steps, plain and weighed by the log of their probability; masses are [M, S + 1, Q], the root's last."""

    def __init__(self, chain: Backoff) -> None:
        self.chain = chain
        self.passes: Passes = passes_of(chain)
        values, rows, columns = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        below = None
        for level in chain.levels:
            source = level.first + level.source
            low_target = level.word if below is None else below.target[level.lower]
            low = level.kept[level.source] * (chain.unigram[level.word] if below is None else below.full[level.lower])
            values += [_entropic(level.full), -_entropic(low)]
            rows += [source, source]
            columns += [level.target, low_target]
            below = level
        entries = np.concatenate(values), (np.concatenate(columns), np.concatenate(rows))
        self.logs_t = csr_matrix(entries, shape=(chain.root, chain.root))

    def plain(self, mass: Floats) -> Floats:
        """Return sum_s mass(s) P(word of t | s) for all states t, [M, S, Q]."""
        flat = _flat(mass)
        return _deep(self.passes.forward(flat[:-1], flat[-1]), mass.shape)

    def weighed(self, mass: Floats) -> Floats:
        """Return the same, each step times log P(word of t | s)."""
        chain, flat = self.chain, _flat(mass)
        total, offset = flat.copy(), np.zeros_like(flat)  # offset: mass times the logs of the shares on the way down
        for level in reversed(chain.levels):
            with np.errstate(divide="ignore"):
                logs = np.where(level.kept > 0, np.log(level.kept), 0.0)[:, None]
            share = level.kept[:, None]
            down = np.stack([share * total[level.states], share * (offset[level.states] + logs * total[level.states])])
            below = csr_matrix(
                (np.ones(level.suffix.size), (level.suffix, np.arange(level.suffix.size))),
                shape=(chain.root + 1, level.suffix.size),
            )
            total += below @ down[0]
            offset += below @ down[1]
        result = self.logs_t @ total[:-1] + self.passes.arcs_t @ offset[:-1]
        result[: chain.vocabulary] += np.outer(_entropic(chain.unigram), total[-1])
        result[: chain.vocabulary] += np.outer(chain.unigram, offset[-1])
        return _deep(result, mass.shape)


def _entropic(probability: Floats) -> Floats:
    """Return p log p, 0 at 0."""
    return probability * np.log(np.where(probability > 0, probability, 1.0))


def _flat(mass: Floats) -> Floats:
    return np.moveaxis(mass, 0, 1).reshape(mass.shape[1], -1)


def _deep(flat: Floats, shape: tuple[int, ...]) -> Floats:
    return np.moveaxis(flat.reshape(len(flat), shape[0], shape[2]), 1, 0)
