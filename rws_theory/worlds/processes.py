"""Three processes of text diffusion, absorbing, editing and uniform, and the exact law of a small sampler of each.

A process is a chain of canvases. Each step reads logits from the canvas and draws the next canvas, each position by
itself. So the law of its texts follows by enumeration of all canvases (docs/theory.md, section 23).

>>> from rws_theory.testing import random_chain
>>> world = random_chain(0, 3).table(4)
>>> processes = Absorbing(4), Absorbing(2), Editing(2, after=2, draws=True), Uniform(8, greedy=False)
>>> [round(abs(divergence(process_law(process, world), world)), 3) for process in processes]
[0.0, 0.406, 0.041, 0.487]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Protocol

import numpy as np
from scipy.special import entr, softmax

from rws_theory.checks import finite, one_of, whole
from rws_theory.confidence import log_odds
from rws_theory.worlds.joint_table import MASK, Floats, Ints, JointTable
from rws_theory.worlds.reference_decoder import FactorRule, constant_rule

__all__ = ["Absorbing", "Editing", "Move", "Process", "Uniform", "divergence", "process_law"]

_PLAIN = constant_rule(1.0)
Move = tuple[float, Floats]  # a probability, and the law of each position, [n, V + 1]; the last column is the mask


class Process(Protocol):
    """A sampler as a chain of canvases of n tokens; -1 is a mask."""

    @property
    def forwards(self) -> int:
        """How many steps it takes."""
        ...

    def start(self, world: JointTable) -> Floats:
        """Return the law of each position of the first canvas, [n, V + 1]."""
        ...

    def logits(self, world: JointTable, canvas: Ints) -> Floats:
        """Return what an exact model of this process says of each position: log-probabilities, [n, V]."""
        ...

    def completion(self, canvas: Ints, logits: Floats) -> Ints:
        """Return the text whose reward sets the factor of this step, [n]."""
        ...

    def moves(self, canvas: Ints, logits: Floats, factor: float, step: int) -> list[Move]:
        """Return the mixture of products from which the next canvas is drawn."""
        ...


@dataclass(frozen=True)
class Absorbing:
    """Masks become tokens, and tokens stay: n // steps positions a step, one more in each of the first n % steps.

    order: "confidence", the largest log-odds under logits times the factor first, or "random". Words are then drawn
    from softmax(z / temperature), whatever the factor; at 0 the best word is taken.
    """

    steps: int
    order: str = "confidence"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        whole("steps", self.steps)
        one_of("order", self.order, ("confidence", "random"))
        finite("temperature", self.temperature, least=0)

    @property
    def forwards(self) -> int:
        """How many steps it takes."""
        return self.steps

    def start(self, world: JointTable) -> Floats:
        """Return masks everywhere."""
        return _certain(np.full(world.length, MASK), world.vocabulary)

    def logits(self, world: JointTable, canvas: Ints) -> Floats:
        """Return the conditionals given the revealed tokens; a revealed token is certain."""
        return world.conditionals(canvas)

    def completion(self, canvas: Ints, logits: Floats) -> Ints:
        """Return the canvas with the best word at each mask."""
        return np.where(canvas == MASK, logits.argmax(axis=-1), canvas)

    def moves(self, canvas: Ints, logits: Floats, factor: float, step: int) -> list[Move]:
        """Return one product for confidence, one for each set of positions for a random order."""
        masked = np.flatnonzero(canvas == MASK)
        count = canvas.size // self.steps + (step < canvas.size % self.steps) if step < self.steps else 0
        if self.order == "random":
            sets = [np.array(chosen, dtype=np.int64) for chosen in combinations(masked, count)]
        else:  # rounded: what ties but for the last digits goes from left to right
            sets = [masked[np.argsort(-log_odds(logits[masked], factor).round(9), kind="stable")[:count]]]
        words, moves = _words(logits, self.temperature), list[Move]()
        for chosen in sets:
            rows = _certain(canvas, logits.shape[1])
            rows[chosen] = words[chosen]
            moves.append((1 / len(sets), rows))
        return moves


@dataclass(frozen=True)
class Editing(Absorbing):
    """Absorbing, and each step may change tokens that stood before it; `after` more steps do nothing else.

    A token's evidence is its conditional given all other revealed tokens. By default all tokens are edited at once: a
    token gives way to the best word where that has more than `threshold` under logits times the factor (LLaDA2.1: 0.9
    and at most 16 steps after). draws: one random token is drawn anew from its conditional instead, as Gibbs sampling
    does.
    """

    after: int = 0
    threshold: float = 0.9
    draws: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("after", self.after, 0)
        finite("threshold", self.threshold, least=0, most=1)

    @property
    def forwards(self) -> int:
        """How many steps it takes."""
        return self.steps + self.after

    def logits(self, world: JointTable, canvas: Ints) -> Floats:
        """Return the conditionals of masks, and of each token given the other tokens."""
        rows = world.conditionals(canvas)
        for i in np.flatnonzero(canvas != MASK):
            without = canvas.copy()
            without[i] = MASK
            rows[i] = world.conditionals(without)[i]
        return rows

    def moves(self, canvas: Ints, logits: Floats, factor: float, step: int) -> list[Move]:
        """Return what masks become, and with it what tokens become."""
        moves, tokens = super().moves(canvas, logits, factor, step), np.flatnonzero(canvas != MASK)
        words = _words(logits, self.temperature if self.draws else 0.0)
        if self.draws and tokens.size:
            edited = [(1 / tokens.size, np.array([i])) for i in tokens]
        else:
            edited = [(1.0, tokens[softmax(factor * logits[tokens], axis=-1).max(axis=-1) > self.threshold])]
        mixture = list[Move]()
        for weight, rows in moves:
            for share, positions in edited:
                mixed = rows.copy()
                mixed[positions] = words[positions]
                mixture.append((weight * share, mixed))
        return mixture


@dataclass(frozen=True)
class Uniform:
    """No masks: each step draws a word for every position, accepts the surest, and draws the others anew from noise.

    Accepted are the k positions of least entropy whose entropies, without the largest, sum to `bound` nats at most
    (EB-Sampler, arXiv 2505.24857; DiffusionGemma: bound 0.1, 48 steps). Words are drawn from softmax(c z / T), with the
    factor c and a temperature that falls from t_max towards t_min. Entropies are of the same law. greedy: the last step
    takes the best word everywhere, as DiffusionGemma does; else it draws all. Accepted tokens may change later.
    """

    steps: int
    bound: float = 0.1
    t_max: float = 1.0
    t_min: float = 1.0
    greedy: bool = True

    def __post_init__(self) -> None:
        whole("steps", self.steps)
        finite("bound", self.bound, least=0)
        finite("t_max", self.t_max, above=0)
        finite("t_min", self.t_min, above=0, most=self.t_max)

    @property
    def forwards(self) -> int:
        """How many steps it takes."""
        return self.steps

    def start(self, world: JointTable) -> Floats:
        """Return a uniform law over words everywhere."""
        return _words(np.zeros((world.length, world.vocabulary)), 1.0)

    def logits(self, world: JointTable, canvas: Ints) -> Floats:
        """Return log p(x_i | canvas) for texts of the world some of whose words became noise.

        Each word stays with a probability a, else it becomes a uniform word. The model is not told a, which has a
        uniform law on (0, 1), as DiffusionGemma's network is told no step.
        """
        n, v = world.length, world.vocabulary
        nodes, weights = np.polynomial.legendre.leggauss(n // 2 + 1)  # exact for degree n
        a = (nodes + 1) / 2
        # Of a text that agrees with the canvas in m places: the integral of (a + (1 - a)/V)^m ((1 - a)/V)^(n - m).
        likelihood = [float(weights @ ((a + (1 - a) / v) ** m * ((1 - a) / v) ** (n - m))) for m in range(n + 1)]
        agree = reduce(np.add.outer, np.eye(v, dtype=np.int64)[canvas])
        posterior = np.exp(world.log_p) * np.array(likelihood)[agree]
        axes = range(n)
        rows = np.stack([posterior.sum(axis=tuple(other for other in axes if other != i)) for i in axes])
        return np.log(rows / rows.sum(axis=-1, keepdims=True))

    def completion(self, canvas: Ints, logits: Floats) -> Ints:
        """Return the best word at each position."""
        return logits.argmax(axis=-1)

    def moves(self, canvas: Ints, logits: Floats, factor: float, step: int) -> list[Move]:
        """Return one product: drawn words where they are accepted, noise elsewhere."""
        temperature = self.t_min + (self.t_max - self.t_min) * (self.steps - step) / self.steps
        words = _words(factor * logits, temperature)
        if step == self.steps - 1:
            rows = _words(logits, 0.0) if self.greedy else words
        else:
            entropy = entr(words).sum(axis=-1).round(9)  # rounded: equals go from left to right
            order = np.argsort(entropy, kind="stable")
            rows = _words(np.zeros_like(logits), 1.0)
            accepted = order[np.cumsum(entropy[order]) - entropy[order] <= self.bound]
            rows[accepted] = words[accepted]
        return [(1.0, rows)]


def process_law(
    process: Process,
    world: JointTable,
    rule: FactorRule = _PLAIN,
    reward: Callable[[Sequence[int]], float] | None = None,
) -> JointTable:
    """Return the exact law of the texts that a process writes with the exact model of a world.

    The law of canvases is followed step by step; time is steps * (vocabulary + 1)^(2 length), so keep both small. rule
    and reward: as in :func:`~rws_theory.worlds.reference_decoder.decode_masked`; the factor of a step follows from the
    reward of the process's completion. ValueError for a world with impossible texts, which samplers of several words a
    step write.

    >>> world = JointTable(np.log([[3.0, 1.0], [1.0, 5.0]]))
    >>> np.exp(process_law(Absorbing(1), world).log_p).round(2).tolist()
    [[0.16, 0.24], [0.24, 0.36]]
    """
    if not np.isfinite(world.log_p).all():
        raise ValueError("world has impossible texts: a world where every text has a positive probability is needed")
    law, known = _product(process.start(world)), dict[bytes, Floats]()
    for step in range(process.forwards):
        after = np.zeros_like(law)
        for cell in np.argwhere(law > 0):
            canvas = np.where(cell == world.vocabulary, MASK, cell)
            if (key := cell.tobytes()) not in known:
                known[key] = process.logits(world, canvas)
            logits = known[key]
            scored = np.nan if reward is None else reward(process.completion(canvas, logits).tolist())
            for weight, rows in process.moves(canvas, logits, float(rule(step, scored)), step):
                after += law[tuple(cell)] * weight * _product(rows)
        law = after
    texts = law[(slice(world.vocabulary),) * world.length]
    return JointTable(np.log(texts, out=np.full_like(texts, -np.inf), where=texts > 0))


def divergence(law: JointTable, world: JointTable) -> float:
    """Return KL(law || world) in nats, inf where the law writes what the world cannot; ValueError for other shapes.

    >>> world = JointTable(np.log([[3.0, 1.0], [1.0, 5.0]]))
    >>> round(divergence(process_law(Absorbing(1), world), world), 4)
    0.2014
    """
    if law.log_p.shape != world.log_p.shape:
        raise ValueError(f"law has the shape {law.log_p.shape}: the world has {world.log_p.shape}")
    written = np.isfinite(law.log_p)
    return float(np.exp(law.log_p[written]) @ (law.log_p[written] - world.log_p[written]))


def _certain(canvas: Ints, vocabulary: int) -> Floats:
    """Return the law of a canvas that is known, [n, V + 1]: -1, a mask, is the last column."""
    return np.eye(vocabulary + 1)[canvas]


def _words(logits: Floats, temperature: float) -> Floats:
    """Return softmax(z / T) of each position and 0 for the mask, [n, V + 1]; at T = 0 the best word."""
    if temperature == 0:
        return _certain(logits.argmax(axis=-1), logits.shape[1])
    return np.pad(softmax(logits / temperature, axis=-1), ((0, 0), (0, 1)))


def _product(rows: Floats) -> Floats:
    """Return the joint law of independent positions, (V + 1,) * n."""
    return reduce(np.multiply.outer, rows)
