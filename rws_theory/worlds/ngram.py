"""N-gram models as masked models: exact conditionals, reward-tilted distributions, samples, best texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.checks import finite, one_of, whole
from rws_theory.worlds.backoff import Backoff, Floats, Ints, fit_backoff
from rws_theory.worlds.best_text import best_texts
from rws_theory.worlds.joint_table import MASK, check_canvas
from rws_theory.worlds.lattice import Lattice, lattice_of, passes_of
from rws_theory.worlds.part_memory import PartMemory
from rws_theory.worlds.tilts import AdditiveReward, Automaton, Tilt, additive, no_tilt

__all__ = ["NGram"]

_NO_CONTEXT: tuple[int, ...] = ()
_LONGEST = 2**20  # words of a text


@dataclass(frozen=True, eq=False)
class NGram:
    """An n-gram model p(x) = prod_i P(x_i | tokens before), or reward-tilted: p(x) exp(beta R(x)) / Z over a length.

    Seen as a Markov chain over the contexts that the counts know, it has exact conditionals for any masked positions
    (docs/theory.md, section 14). All methods take a `context`: ids before the text. Where they take `n`, it is a length
    or a canvas with -1 where masked.

    >>> world = NGram.fit([[0, 1, 0, 1, 0, 2]], order=2, vocabulary=3)
    >>> world
    NGram(order=2, vocabulary=3, states=3, arcs=3)
    >>> np.exp(world.conditionals([0, MASK, 0])).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.101, 0.765, 0.134], [1.0, 0.0, 0.0]]
    """

    chain: Backoff
    weights: Tilt
    _plain: NGram | None = field(default=None, repr=False)

    @classmethod
    def fit(
        cls,
        sequences: Sequence[ArrayLike],
        order: int = 3,
        *,
        vocabulary: int,
        discount: float = 0.75,
        minimum: int | Sequence[int] = 1,
    ) -> NGram:
        """Fit interpolated absolute discounting to sequences of ids (docs/theory.md, eq. (T59)).

        order: 1 to 4, the tokens of the longest n-gram. vocabulary: ids are below it. discount: taken from each count,
        within (0, 1). minimum: least count of an n-gram that is listed; one number, or one for each length from 2,
        ascending. An n-gram that is not listed backs off to its shorter ending. ValueError for other values, or no
        token at all.
        """
        least = [minimum] * (order - 1) if isinstance(minimum, int) else [int(count) for count in minimum]
        one_of("order", order, (1, 2, 3, 4))
        whole("vocabulary", vocabulary)
        finite("discount", discount, above=0.0, below=1.0)
        if len(least) != order - 1 or sorted(least) != least or min(least, default=1) < 1:
            raise ValueError(f"minimum is {minimum}: counts of at least 1 are needed for 2 to {order} words, ascending")
        rows = [np.asarray(sequence) for sequence in sequences]
        if any(row.ndim != 1 for row in rows):
            raise ValueError("sequences hold what is no sequence: a list of rows of ids is needed, such as [[0, 1, 0]]")
        rows = [row for row in rows if row.size]
        if not rows:
            raise ValueError("sequences hold no word: at least one id is needed")
        for row in rows:
            if row.dtype.kind not in "iu" or row.min() < 0 or row.max() >= vocabulary:
                raise ValueError(f"sequences hold {row.ravel()[:4]}: rows of ids from 0 to {vocabulary - 1} are needed")
        chain = fit_backoff(rows, order, vocabulary, discount, least)
        return cls(chain, no_tilt(vocabulary))

    def __repr__(self) -> str:
        arcs = sum(level.word.size for level in self.chain.levels)
        tilted = f", tilted by {self.weights.made_of}" if self.tilted else ""
        name = f"order={self.chain.order}, vocabulary={self.vocabulary}, states={self.chain.root}, arcs={arcs}"
        return f"NGram({name}{tilted})"

    @property
    def vocabulary(self) -> int:
        """Return the number of words."""
        return self.chain.vocabulary

    @property
    def tilted(self) -> bool:
        """Return whether the model is the reward-tilted distribution of a fitted one."""
        return self._plain is not None

    length = None  # there is a distribution for every length

    @property
    def nbytes(self) -> int:
        """Return the bytes of the chain's arrays and of the operators on it."""
        return self.chain.nbytes + self._lattice.passes.nbytes

    @cached_property
    def _lattice(self) -> Lattice:
        shared = None if self._plain is None else self._plain._lattice.passes
        return lattice_of(self.chain, self.weights, shared)

    def tilt(self, reward: AdditiveReward, beta: float) -> NGram:
        """Return the distribution proportional to p(x) exp(beta R(x)), over texts of one length: again such a model.

        reward: [V], added for each token; [V, V], for each token after another, the first one after the context's last;
        or an automaton. ValueError for another shape, numbers that are not finite, or weights that spread over more
        than 600 nats.

        >>> world = NGram.fit([[0, 1, 0, 1, 0, 2]], order=2, vocabulary=3)
        >>> np.exp(world.tilt([0.0, 0.0, 1.0], 2.0).conditionals([0, MASK])).round(3)[1].tolist()
        [0.121, 0.283, 0.596]
        """
        return NGram(self.chain, self.weights.with_reward(reward, beta), self if self._plain is None else self._plain)

    def conditionals(self, canvas: Sequence[int] | Ints, context: Sequence[int] | Ints = _NO_CONTEXT) -> Floats:
        """Return log p(x_i = v | revealed), nats, shape (positions, V); each row sums to 1 in probability.

        Forward-backward over what lies between revealed tokens, `order` - 1 of which in a row cut the chain. An entry
        of n positions is within about a factor 1 + n 2^-52 / lambda of its exact value, with the lambda of
        docs/theory.md, section 14.
        """
        return self.conditionals_batch([canvas], [context])[0]

    def conditionals_batch(
        self,
        canvases: Sequence[Sequence[int] | Ints],
        contexts: Sequence[Sequence[int] | Ints],
        memory: PartMemory | None = None,
    ) -> list[Floats]:
        """Return the conditionals of several canvases, each after its context: the same bits as one by one, faster.

        memory: parts (:meth:`parts`) that were computed before, for this model alone. Parts that no commit changed are
        then not computed again.
        """
        shown = [check_canvas(canvas, self) for canvas in canvases]
        before = [self._context(context) for context in contexts]
        if len(shown) != len(before):
            raise ValueError(f"contexts are {len(before)}: one is needed for each of {len(shown)} canvases")
        memory = PartMemory(None) if memory is None else memory
        spans, keys = [], []
        for row, canvas in enumerate(shown):
            for begin, end in self.parts(canvas):
                spans.append((row, begin, end))
                keys.append((self.chain.after([*before[row], *canvas[:begin]]), canvas[begin:end].tobytes()))
        new = {key: span for key, span in zip(keys, spans, strict=True) if key not in memory}
        known = {key: memory[key] for key in keys if key not in new}
        texts = [shown[row][begin:end] for row, begin, end in new.values()]
        with np.errstate(divide="ignore"):  # a probability below the smallest float is impossible
            for key, posterior in zip(new, self._lattice.posteriors(texts, [start for start, _ in new]), strict=True):
                known[key] = memory[key] = np.log(posterior)
        results = []
        for canvas in shown:
            results.append(np.full((canvas.size, self.vocabulary), -np.inf))
            revealed = np.flatnonzero(canvas != MASK)
            results[-1][revealed, canvas[revealed]] = 0.0
        for key, (row, begin, end) in zip(keys, spans, strict=True):
            results[row][begin:end] = known[key]
        return results

    def parts(self, canvas: Ints) -> list[tuple[int, int]]:
        """Return the parts of a canvas, begin and end, that determine their own conditionals, given the text before.

        A part begins with a mask. It ends after `order` - 1 revealed tokens in a row, or with the canvas. Where a
        reward is an automaton of several states, all of the canvas is one part.
        """
        if self.weights.states > 1:  # what an automaton has read reaches any distance
            return [(0, canvas.size)] if (canvas == MASK).any() else []
        cut = max(self.chain.order - 1, 1)
        parts: list[tuple[int, int]] = []
        begin = end = -1
        for position in np.flatnonzero(canvas == MASK).tolist():
            if begin >= 0 and position - end > cut:
                parts.append((begin, end + 1 + cut))
                begin = -1
            begin, end = (position if begin < 0 else begin), position
        return [*parts, (begin, min(end + 1 + cut, canvas.size))] if begin >= 0 else []

    def log_prob(self, tokens: Sequence[int] | Ints, context: Sequence[int] | Ints = _NO_CONTEXT) -> float:
        """Return log p(tokens | context), nats; of a reward-tilted model, among all texts of this length."""
        text, before = check_canvas(tokens, self, complete=True), self._context(context)
        state, total = self.chain.after(before), 0.0
        for word in text:
            probability, state = self.chain.follow(state, int(word))
            total += float(np.log(probability))
        if self._plain is None:
            return total
        return total + self.weights.score(text, before) - self.log_partition(text.size, before)

    def log_partition(self, n: int | Sequence[int] | Ints, context: Sequence[int] | Ints = _NO_CONTEXT) -> float:
        """Return log Z, nats: the log of the sum of p(x) exp(beta R(x)) over the texts x that a canvas allows.

        Without a reward it is the log-probability of the revealed tokens, 0 for a length.
        """
        return self._lattice.log_total(self._canvas(n), self.chain.after(self._context(context)))

    def revealed_log_prob(self, n: int | Sequence[int] | Ints, context: Sequence[int] | Ints = _NO_CONTEXT) -> float:
        """Return the log-probability of a canvas's revealed words, nats, masks summed out; 0 for a length."""
        canvas = self._canvas(n)
        return self.log_partition(canvas, context) - (self.log_partition(canvas.size, context) if self.tilted else 0.0)

    def mean(
        self, reward: AdditiveReward, n: int | Sequence[int] | Ints, context: Sequence[int] | Ints = _NO_CONTEXT
    ) -> float:
        """Return the mean of an additive reward (as in :meth:`tilt`) over the texts that a canvas allows."""
        words, pairs = additive(reward, self.vocabulary)
        canvas, start = self._canvas(n), self.chain.after(self._context(context))
        reader = Automaton(words.following, np.zeros_like(words.reward))
        both = Tilt(self.weights.words.times(reader), self.weights.pairs)
        states = len(both.words.reward)
        of_words = np.tile(words.reward, (states // len(words.reward), 1)).T  # its automaton's state changes fastest
        lattice = lattice_of(self.chain, both, self._lattice.passes)
        moves = None
        if pairs is not None:
            factor = 1.0 if both.pairs is None else np.exp(both.pairs - lattice.pair_shift)
            moves = passes_of(self.chain, factor * pairs)
        return lattice.mean(canvas, start, of_words, moves)

    def divergence(self, n: int | Sequence[int] | Ints, context: Sequence[int] | Ints = _NO_CONTEXT) -> float:
        """Return KL(p exp(beta R) / Z || p), nats: how far the reward moves the model; 0 without a reward.

        KL = E[beta R] - log Z, plus the log-probability of revealed words.
        """
        if self._plain is None:
            return 0.0
        mean = self.mean(self.weights.words, n, context)
        if self.weights.pairs is not None:
            mean += self.mean(self.weights.pairs, n, context)
        return mean - self.log_partition(n, context) + self._plain.log_partition(n, context)

    def sample(
        self,
        n: int | Sequence[int] | Ints,
        rng: np.random.Generator,
        context: Sequence[int] | Ints = _NO_CONTEXT,
    ) -> Ints:
        """Sample a text, int64 [n]; the masked tokens of a canvas given the revealed ones."""
        canvas, state = self._canvas(n), self.chain.after(self._context(context))
        backs = self._lattice.backward([canvas])[0]
        text, reader_state = canvas.copy(), 0
        words = self.weights.words
        for i, token in enumerate(canvas):
            probability, target = self.chain.row(state)
            weight = probability * np.exp(words.reward[reader_state])
            if self.weights.pairs is not None and state != self.chain.root:
                weight *= np.exp(self.weights.pairs[self.chain.last[state]])
            if i in backs:
                weight *= backs[i][target, words.following[reader_state]]
            if token == MASK:
                total = np.cumsum(weight)
                text[i] = min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), total.size - 1)
            state, reader_state = int(target[text[i]]), int(words.following[reader_state, text[i]])
        return text

    def best(self, n: int | Sequence[int] | Ints, context: Sequence[int] | Ints = _NO_CONTEXT) -> Ints:
        """Return the most probable text, int64 [n], among those that a canvas allows (Viterbi, 1967).

        Its log-probability is within about n 2^-52 (1 + |log p|) of the largest. ValueError for more than 4096 tokens,
        or fewer where the model is large.
        """
        return self.bests(n, [context])[0]

    def bests(self, n: int | Sequence[int] | Ints, contexts: Sequence[Sequence[int] | Ints]) -> list[Ints]:
        """Return what :meth:`best` returns after each context; the search, which takes most of the time, is shared."""
        texts = best_texts(self.chain, self.weights, self._canvas(n))
        return [texts.after(self.chain.after(self._context(context))) for context in contexts]

    def _canvas(self, n: int | Sequence[int] | Ints) -> Ints:
        if isinstance(n, (int, np.integer)):
            whole("n", n, 1, _LONGEST)
            return np.full(int(n), MASK)
        return check_canvas(n, self)

    def _context(self, context: Sequence[int] | Ints) -> Ints:
        if len(context) == 0:
            return np.zeros(0, np.int64)
        return check_canvas(context, self, complete=True, name="context")
