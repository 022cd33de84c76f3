"""How far methods are from the reward-tilted distribution p exp(beta R) / Z, in models whose texts can be listed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rws_decode.decode import decode
from rws_decode.settings import Options, Shape
from rws_decode.steering import METHODS
from rws_theory.worlds.joint_table import JointTable

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SmallWorld:
    """A joint table of T texts, and a reward of each, of mean 0 and SD 1 under p. p, rewards: [T]."""

    table: JointTable
    texts: tuple[tuple[int, ...], ...]
    p: Floats
    rewards: Floats

    def tilt(self, beta: float) -> Floats:
        """Return p exp(beta R) / Z of each text, [T]."""
        weights = self.p * np.exp(beta * self.rewards)
        return weights / weights.sum()


@dataclass(frozen=True)
class Divergence:
    """The distribution q of a method in a model: KL(q || p exp(beta R) / Z), plug-in, nats, and means over samples.

    method: with its number, or "exact draws" of p exp(beta R) / Z itself, whose KL is the floor for so many samples;
    budget: forwards for one answer, None where the method has no copies. reward: in SD; log_prob: nats;
    forwards and reward_calls: of one answer; seconds: of all samples.
    """

    world: int
    method: str
    budget: int | None
    kl: float
    reward: float
    log_prob: float
    forwards: float
    reward_calls: float
    seconds: float


def small_world(seed: int, vocabulary: int = 3, length: int = 4) -> SmallWorld:
    """Return a model whose log p is normal, and whose reward adds a normal number for each token and each pair.

    So a token's worth depends on its neighbour, and a greedy completion can misjudge a text.

    >>> world = small_world(0)
    >>> len(world.texts), round(float(world.p @ world.rewards), 12), round(float(world.p @ world.rewards**2), 12)
    (81, 0.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    table = JointTable(rng.normal(0, 1, (vocabulary,) * length))
    words, pairs = rng.normal(0, 1, vocabulary), rng.normal(0, 1, (vocabulary, vocabulary))
    texts = tuple(itertools.product(range(vocabulary), repeat=length))
    p = np.exp([table.log_prob(text) for text in texts])
    raw = np.array([words[list(text)].sum() + sum(pairs[a, b] for a, b in itertools.pairwise(text)) for text in texts])
    mean = p @ raw
    return SmallWorld(table, texts, p, (raw - mean) / np.sqrt(p @ (raw - mean) ** 2))


def divergences(
    worlds: Sequence[int],
    methods: Sequence[str],
    budgets: Sequence[int],
    *,
    beta: float = 1.0,
    draws: int = 1000,
    seed: int = 0,
) -> Iterator[Divergence]:
    """Yield the divergence of each method in each model, of steering methods for each budget; methods: their names.

    worlds: seeds. Strategies sample tokens at temperature 1, one token a step. Samples have seeds from `seed` on, the
    same for all methods. ValueError for a budget below the smallest method of a name.
    """
    for number in worlds:
        world = small_world(number)
        rng = np.random.default_rng([seed, number])
        exact = rng.choice(len(world.texts), draws, p=world.tilt(beta))
        yield _measured(world, number, "exact draws", None, beta, exact, {})
        for name in methods:
            for budget in budgets if name in METHODS else [None]:
                yield _of_method(world, number, name, budget, beta, draws, seed)


def _of_method(
    world: SmallWorld, number: int, name: str, budget: int | None, beta: float, draws: int, seed: int
) -> Divergence:
    from rws_decode.extra.steering.steer import steer
    from rws_decode.extra.testing.exact import TableReward, tabulated_predictor

    predictor, length = tabulated_predictor(world.table), world.table.length
    place = {text: index for index, text in enumerate(world.texts)}
    reward = TableReward(world.rewards.reshape((world.table.vocabulary,) * length))
    shape, began = Shape(length, length, length), time.perf_counter()
    options = Options(sampling_temperature=1.0, seed=tuple(range(seed, seed + draws)))
    label: Any = name
    if budget is not None:
        label = _within(name, budget, length, beta)
        if not label.draws:
            options = Options(seed=options.seed)
        run = steer(predictor, [""] * draws, label, shape, reward=reward, options=options)
        label = f"{name}:{label.copies}"
    else:
        run = decode(predictor, [""] * draws, name, shape, reward=reward, options=options)
    texts = np.array([place[tuple(trace.tokens.tolist())] for trace in run])
    costs = {
        "forwards": float(np.mean([trace.forwards for trace in run])),
        "reward_calls": float(np.mean([trace.reward_calls for trace in run])),
        "seconds": time.perf_counter() - began,
    }
    return _measured(world, number, label, budget, beta, texts, costs)


def _within(name: str, budget: int, steps: int, beta: float) -> Any:
    """Return the method of a name with the most copies within a budget, at a weight beta where it has one."""
    from rws_decode.extra.steering.table import as_method, fitted, forwards_of

    numbers = [f"+{key}:{value}" for key, value in (("beta", beta), ("sweeps", 2)) if key in METHODS[name].numbers]
    return as_method(fitted(name + "".join(numbers), budget, partial(forwards_of, steps=steps)))


def _measured(
    world: SmallWorld,
    number: int,
    method: str,
    budget: int | None,
    beta: float,
    texts: NDArray[np.int64],
    costs: dict[str, float],
) -> Divergence:
    return Divergence(
        world=number,
        method=method,
        budget=budget,
        kl=kl_divergence(np.bincount(texts, minlength=len(world.texts)), world.tilt(beta)),
        reward=float(world.rewards[texts].mean()),
        log_prob=float(np.log(world.p[texts]).mean()),
        **({"forwards": 0.0, "reward_calls": 0.0, "seconds": 0.0} | costs),
    )


def kl_divergence(counts: NDArray[np.int64], law: Floats) -> float:
    """Return KL(counts / their sum || `law`) in nats, the plug-in estimate for the distribution that was counted.

    Of n samples from a distribution with d atoms it is about (d - 1) / 2n above the true one. law: positive, [d].

    >>> kl_divergence(np.array([1, 1]), np.array([0.5, 0.5]))
    0.0
    """
    shares = counts / counts.sum()
    some = shares > 0
    return float((shares[some] * np.log(shares[some] / law[some])).sum())
