"""Test Corollary 1 on random exact models: does RWS end with more reward than decoding that ignores the reward?

All models of an ensemble are decoded at once on their joint tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from rws_theory.checks import one_of, whole
from rws_theory.confidence import log_odds
from rws_theory.gain import factor_range
from rws_theory.reversal_law import clopper_pearson
from rws_theory.show import one_line
from rws_theory.tilting import tilted_cumulants
from rws_theory.worlds.joint_table import Floats, Ints
from rws_theory.worlds.reference_decoder import FactorRule, constant_rule, flipped_rule, replay_rule, rws_rule

_MOST = 2**28  # entries of all tables: 2 GiB

Ensemble = Literal["softmax-normal", "dirichlet", "markov"]
Reward = Literal["log-probability", "independent", "sub-structure"]


@dataclass(frozen=True, eq=False)
class TableDecodes:
    """Decodes of M models: `tokens`, `commit_step` (M, n), and per step `factors` and normalised `rewards` (M, n).

    Raw expected rewards, (M,): `initial` is E_p[R], `after_first` E_p[R | first commit], `final` R of the output.
    """

    tokens: Ints
    commit_step: Ints
    factors: Floats
    rewards: Floats
    initial: Floats
    after_first: Floats
    final: Floats

    __repr__ = one_line


@dataclass(frozen=True)
class RewardTally:
    """The numbers of models in which RWS has `more`, `equal` or `less` reward than the decoding `against`."""

    against: str
    more: int
    equal: int
    less: int

    __repr__ = one_line

    @property
    def models(self) -> int:
        """Return the number of models."""
        return self.more + self.equal + self.less

    def interval(self, outcome: Literal["more", "equal", "less"], confidence: float = 0.95) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of the outcome's probability: coverage >= `confidence`."""
        return clopper_pearson(getattr(self, outcome), self.models, confidence)

    def more_if_different(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of P(more | not equal): (0, 1) where all are equal.

        RWS beats the other decoding with this confidence if the interval lies above 1/2, and loses if it lies below.

        >>> [round(x, 3) for x in RewardTally("confidence", more=30, equal=50, less=20).more_if_different()]
        [0.452, 0.736]
        """
        return clopper_pearson(self.more, self.more + self.less, confidence)


@dataclass(frozen=True)
class CorollaryCell:
    """One ensemble and one reward: tallies of the `final` reward and of the `first_step`.

    `final` is against confidence, constant, shuffled and flipped decoding, in this order. `first_step` compares E_p[R |
    first commit of RWS] with confidence decoding's, and with E_p[R] before ("nothing").
    """

    ensemble: Ensemble
    reward: Reward
    final: tuple[RewardTally, ...]
    first_step: tuple[RewardTally, ...]

    __repr__ = one_line


@dataclass(frozen=True)
class CorollaryStudy:
    """The outcome of :func:`corollary_study` with its settings."""

    models: int
    seed: int
    length: int
    words: int
    reward_scale: float
    eps: float
    cells: tuple[CorollaryCell, ...]

    __repr__ = one_line


def corollary_study(
    models: int = 200, seed: int = 0, *, length: int = 5, words: int = 4, reward_scale: float = 8.0, eps: float = 1e-5
) -> CorollaryStudy:
    """Compare RWS with confidence decoding and three controls on random exact models, for every ensemble and reward.

    One token a step. The controls: "constant", each model decoded with the mean factor of its RWS run; "shuffled", the
    normalised rewards of the RWS run permuted among its steps; "flipped", RWS of the negated normalised reward. Rewards
    are normalised by their exact mean and SD under the model. Same arguments, same result. ValueError for models
    < 1, length or words < 2, tables of more than 2**28 entries in all, and scales as in
    :func:`rws_theory.gain.reward_factor`.

    >>> study = corollary_study(models=20, length=3, words=3)
    >>> len(study.cells), [c.against for c in study.cells[0].final], {c.models for c in study.cells[0].final}
    (9, ['confidence', 'constant', 'shuffled', 'flipped'], {20})
    """
    for name, value, least in (("models", models, 1), ("length", length, 2), ("words", words, 2)):
        whole(name, value, least)
    if (entries := models * words**length) > _MOST:
        raise ValueError(f"models * words**length is {entries:.2g} entries: at most {_MOST:.2g} fit, as by words=4")
    factor_range(reward_scale, eps)  # ValueError for a bad scale comes before any sampling
    cells = []
    for row, ensemble in enumerate(get_args(Ensemble)):
        for column, reward in enumerate(get_args(Reward)):
            rng = np.random.default_rng([seed, row, column])
            tables = random_tables(ensemble, models, length, words, rng)
            rewards = random_rewards(reward, tables, rng)
            rws = decode_tables(tables, rewards, rws_rule(reward_scale, eps))
            shuffled = rng.permuted(rws.rewards, axis=1)
            controls = {
                "confidence": constant_rule(np.ones(models)),
                "constant": constant_rule(rws.factors.mean(axis=1)),
                "shuffled": replay_rule(shuffled, reward_scale, eps),
                "flipped": flipped_rule(reward_scale, eps),
            }
            others = {name: decode_tables(tables, rewards, rule) for name, rule in controls.items()}
            before = (("confidence", others["confidence"].after_first), ("nothing", rws.initial))
            cells.append(
                CorollaryCell(
                    ensemble,
                    reward,
                    tuple(_compare(name, rws.final, other.final) for name, other in others.items()),
                    tuple(_compare(name, rws.after_first, other) for name, other in before),
                )
            )
    return CorollaryStudy(models, seed, length, words, reward_scale, eps, tuple(cells))


def random_tables(ensemble: Ensemble, models: int, length: int, words: int, rng: np.random.Generator) -> Floats:
    """Sample log-probabilities of M joint tables: normalised, nats, shape (M,) + (words,) * length.

    "softmax-normal": normal log-weights of SD 2. "dirichlet": flat Dirichlet over all sequences. "markov":
    Markov chains whose distributions are softmaxes of normal logits of SD 1.5. ValueError for another name.
    """
    one_of("ensemble", ensemble, get_args(Ensemble))
    shape = (models, *(words,) * length)
    if ensemble == "softmax-normal":
        log_p = 2.0 * rng.standard_normal(shape)
    elif ensemble == "dirichlet":
        log_p = np.log(rng.standard_exponential(shape))
    else:
        log_p = log_softmax(1.5 * rng.standard_normal((models, words)), axis=-1)
        steps = log_softmax(1.5 * rng.standard_normal((models, words, words)), axis=-1)
        for _ in range(length - 1):
            log_p = log_p[..., None] + steps.reshape(models, *(1,) * (log_p.ndim - 2), words, words)
    return log_softmax(log_p.reshape(models, -1), axis=-1).reshape(shape)


def random_rewards(reward: Reward, tables: Floats, rng: np.random.Generator) -> Floats:
    """Sample or derive the rewards of all sequences of M tables, in their shape.

    "log-probability": log p itself, the best case for decoding by confidence. "independent": standard normal.
    "sub-structure": log-probability of the tokens at positions 1, 3, 5, ... alone. ValueError for another name.
    """
    if reward == "log-probability":
        return tables
    if reward == "independent":
        return rng.standard_normal(tables.shape)
    one_of("reward", reward, get_args(Reward))
    ignored = tuple(range(2, tables.ndim, 2))
    return np.broadcast_to(np.log(np.exp(tables).sum(axis=ignored, keepdims=True)), tables.shape)


def decode_tables(log_p: ArrayLike, rewards: ArrayLike, rule: FactorRule) -> TableDecodes:
    """Decode M joint tables at once, one token a step, as `decode_masked` does with each and its normalised reward.

    log_p, rewards: shape (M,) + (words,) * n, the log-probabilities (nats, up to a constant) and rewards of all
    sequences. rule: from the step and the normalised rewards (M,) to the factors. Sequences below e^-745 of a table's
    largest entry count as impossible. ValueError for shapes that differ or a reward that is constant under a model.

    >>> decodes = decode_tables(np.log([[[3.0, 1.0], [1.0, 5.0]]]), [[[0.0, 1.0], [0.0, 0.0]]], constant_rule(1.0))
    >>> decodes.tokens.tolist(), decodes.commit_step.tolist(), decodes.final.tolist()
    ([[1, 1]], [[0, 1]], [0.0])
    """
    table, values = np.asarray(log_p, dtype=np.float64), np.asarray(rewards, dtype=np.float64)
    if table.ndim < 2 or table.shape != values.shape or len(set(table.shape[1:])) != 1 or table.size == 0:
        raise ValueError(f"log_p and rewards must have one shape (M, words, ...), got {table.shape}, {values.shape}")
    models, words, length = table.shape[0], table.shape[1], table.ndim - 1
    flat, value = table.reshape(models, -1), values.reshape(models, -1)
    mean, variance = np.moveaxis(tilted_cumulants(flat, value, 0.0), -1, 0)
    if not (variance > 0).all():
        raise ValueError(f"rewards must vary under every model, got a constant for model {int(variance.argmin())}")
    model, deviation = np.arange(models), np.sqrt(variance)
    digit_value = words ** np.arange(length - 1, -1, -1)
    masked, commit_step = np.ones((models, length), dtype=bool), np.zeros((models, length), dtype=np.int64)
    tokens = np.zeros((models, length), dtype=np.int64)
    factors, scores, after_first = np.empty((models, length)), np.empty((models, length)), mean
    for step in range(length):
        marginals = _marginals(flat, words, length)
        tokens = marginals.argmax(axis=-1)
        scores[:, step] = (value[model, tokens @ digit_value] - mean) / deviation
        factors[:, step] = rule(step, scores[:, step])
        with np.errstate(divide="ignore"):
            confidence = log_odds(np.log(marginals), factors[:, step, None])
        position = np.where(masked, confidence, -np.inf).argmax(axis=1)  # leftmost among equals
        masked[model, position], commit_step[model, position] = False, step
        digits = (np.arange(flat.shape[1]) // digit_value[position][:, None]) % words
        flat = np.where(digits == tokens[model, position][:, None], flat, -np.inf)
        if step == 0:
            after_first = tilted_cumulants(flat, value, 0.0, order=1)[:, 0]
    return TableDecodes(tokens, commit_step, factors, scores, mean, after_first, value[model, tokens @ digit_value])


def _marginals(flat: Floats, words: int, length: int) -> Floats:
    """Return the probabilities of each token at each position, up to one factor per model: shape (M, n, words)."""
    weight = np.exp(flat - flat.max(axis=1, keepdims=True))
    cubes = (weight.reshape(len(flat), words**i, words, -1) for i in range(length))
    return np.stack([cube.sum(axis=(1, 3)) for cube in cubes], axis=1)


def _compare(against: str, own: NDArray[np.float64], base: NDArray[np.float64]) -> RewardTally:
    return RewardTally(against, int((own > base).sum()), int((own == base).sum()), int((own < base).sum()))
