"""The exact output distribution of decoding, in fractions, under any order that depends on the canvas.

It is the model's own, if the predictions are the conditionals of one joint distribution and one token a step is
sampled. The functions here enumerate small models, so that this and its exceptions can be seen (docs/theory.md, section
16).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, Literal, get_args

import numpy as np

from rws_theory.confidence import log_odds

Canvas = tuple[int, ...]  # a token per position, -1 where masked
Law = dict[Canvas, Fraction]  # the possible outputs and their probabilities
Rows = Mapping[int, Sequence[Fraction]]  # masked position -> the probability of each token
Conditionals = Callable[[Canvas], Rows | None]  # None where the revealed tokens are impossible
Order = Callable[[Canvas, Rows], Sequence[int]]  # the masked positions, those that go first in front
Commit = Literal["sampled", "argmax"]

_MASK = -1


def table_law(weights: Any) -> Law:
    """Return the distribution of a joint table: p(x) = weights[x] / total, the impossible left out.

    weights: shape (vocabulary,) * length, none negative; floats are taken as the exact numbers they are. ValueError for
    other shapes, negative weights and a total of 0.

    >>> table_law([[3, 0], [1, 0]])
    {(0, 0): Fraction(3, 4), (1, 0): Fraction(1, 4)}
    """
    table = np.asarray(weights)
    if table.ndim == 0 or len(set(table.shape)) != 1 or table.size == 0:
        raise ValueError(f"weights must have shape (vocabulary,) * length, got {table.shape}")
    every = zip(np.ndindex(table.shape), table.ravel().tolist(), strict=True)
    exact = {tokens: Fraction(weight) for tokens, weight in every}
    total = sum(exact.values())
    if total <= 0 or min(exact.values()) < 0:
        raise ValueError(f"weights must be at least 0 and not all 0, got a least of {min(exact.values())}")
    return {tokens: weight / total for tokens, weight in exact.items() if weight}


def table_conditionals(weights: Any) -> Conditionals:
    """Return the exact conditionals p(x_i = v | revealed) of a joint table, as fractions: see :func:`table_law`.

    >>> table_conditionals([[3, 1], [1, 5]])((0, -1))
    {1: (Fraction(3, 4), Fraction(1, 4))}
    """
    law = table_law(weights)
    words = np.asarray(weights).shape[0]

    def conditionals(canvas: Canvas) -> Rows | None:
        fits = [(x, p) for x, p in law.items() if all(token in (_MASK, y) for token, y in zip(canvas, x, strict=True))]
        total = sum(p for _, p in fits)
        if not total:
            return None
        rows = {i: [Fraction(0)] * words for i in _masked(canvas)}
        for tokens, p in fits:
            for i, row in rows.items():
                row[tokens[i]] += p / total
        return {i: tuple(row) for i, row in rows.items()}

    return conditionals


def by_confidence(scale: float = 1.0) -> Order:
    """Return the order of the largest confidence at a scale, leftmost first among equals: the paper's Step 4.

    >>> rows = {0: (Fraction(2, 3), Fraction(1, 3)), 1: (Fraction(1, 4), Fraction(3, 4))}
    >>> by_confidence()((-1, -1), rows)
    [1, 0]
    """

    def order(canvas: Canvas, rows: Rows) -> list[int]:
        with np.errstate(divide="ignore"):
            logits = np.log(np.array([[float(p) for p in row] for row in rows.values()]))
        return [list(rows)[i] for i in np.argsort(-log_odds(logits, scale), kind="stable")]

    return order


def output_law(
    conditionals: Conditionals, length: int, order: Order, *, per_step: int = 1, commit: Commit = "sampled"
) -> Law:
    """Return the exact output distribution of decoding on `length` masks.

    A step asks for the rows of the canvas and commits the first `per_step` masked positions of the order. "sampled"
    samples their tokens independently from their rows; "argmax" takes the most likely ones, the lowest among equals. An
    order may use anything that the canvas determines. Tokens of one step may be impossible together: such a canvas
    stays as it is. The work is about vocabulary^length calls of `conditionals`. ValueError for length or per_step below
    1, another commit, and an order that does not name enough masked positions.

    >>> weights = [[3, 1], [1, 5]]
    >>> output_law(table_conditionals(weights), 2, by_confidence(8.0)) == table_law(weights)
    True
    >>> two = output_law(table_conditionals(weights), 2, by_confidence(8.0), per_step=2)
    >>> str(total_variation(two, table_law(weights)))
    '7/25'
    """
    if length < 1 or per_step < 1:
        raise ValueError(f"length and per_step must be at least 1, got {length} and {per_step}")
    if commit not in get_args(Commit):
        raise ValueError(f"commit must be one of {', '.join(get_args(Commit))}, got {commit!r:.80}")
    law: dict[Canvas, Fraction] = defaultdict(Fraction)
    reached: dict[Canvas, Fraction] = {(_MASK,) * length: Fraction(1)}
    while reached:
        following: dict[Canvas, Fraction] = defaultdict(Fraction)
        for canvas, probability in reached.items():
            rows = conditionals(canvas) if _MASK in canvas else None
            if rows is None:
                law[canvas] += probability
                continue
            chosen = _first(order, canvas, rows, per_step)
            for tokens, share in _commits([rows[i] for i in chosen], commit):
                following[_written(canvas, chosen, tokens)] += probability * share
        reached = following
    return dict(law)


def drawn_first_law(conditionals: Conditionals, length: int) -> Law:
    """Return the exact output distribution if each mask samples a token, and the most likely of these is committed.

    One token a step; the leftmost among equals. So the order sees the tokens, as in decoders that sample with a
    temperature and then rank by the probability of the token. The model's distribution is lost (docs/theory.md, eq.
    (T69)).

    >>> law = drawn_first_law(table_conditionals([[6, 4], [3, 2]]), 2)  # first token 0 with 2/3, second with 3/5
    >>> str(sum(p for tokens, p in law.items() if tokens[0] == 0))
    '8/9'
    """
    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}")
    law: dict[Canvas, Fraction] = {(_MASK,) * length: Fraction(1)}
    for _ in range(length):
        following: dict[Canvas, Fraction] = defaultdict(Fraction)
        for canvas, probability in law.items():
            rows = conditionals(canvas)
            if rows is None:
                raise ValueError(f"conditionals must exist where one token a step leads, got None for {canvas}")
            positions = list(rows)
            for tokens, share in _commits(list(rows.values()), "sampled"):
                likely = [rows[i][token] for i, token in zip(positions, tokens, strict=True)]
                first = likely.index(max(likely))
                following[_written(canvas, positions[first : first + 1], (tokens[first],))] += probability * share
        law = following
    return dict(law)


def total_variation(p: Law, q: Law) -> Fraction:
    """Return (1/2) sum_x |p(x) - q(x)|, exactly.

    >>> total_variation({(0,): Fraction(1)}, {(0,): Fraction(3, 4), (1,): Fraction(1, 4)})
    Fraction(1, 4)
    """
    zero = Fraction(0)
    return sum((abs(p.get(x, zero) - q.get(x, zero)) for x in p.keys() | q.keys()), zero) / 2


def parallel_distances(weights: Any, order: Order) -> list[Fraction]:
    """Return the total variation between a joint table and the output of decoding, for 1, 2, ... tokens a step.

    The first is 0 for every order. The others are the cost of independent samples within a step (docs/theory.md, eq.
    (T66)).

    >>> same = [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]  # three tokens that are always equal
    >>> [str(distance) for distance in parallel_distances(same, by_confidence())]
    ['0', '1/2', '3/4']
    """
    law, length = table_law(weights), np.asarray(weights).ndim
    conditionals = table_conditionals(weights)
    return [total_variation(output_law(conditionals, length, order, per_step=k), law) for k in range(1, length + 1)]


def exchange_distance(conditionals: Conditionals, canvas: Canvas, i: int, j: int) -> Fraction:
    """Return the total variation between sampling position i before j and j before i, on a canvas that masks both.

    One positive number proves that no joint distribution has these rows; if all probabilities are positive, the
    converse holds too (docs/theory.md, eq. (T67)). ValueError for positions that are not two masked ones.

    >>> rows = {(-1, -1): {0: (1, 0), 1: (0, 1)}, (0, -1): {1: (1, 0)}, (-1, 1): {0: (1, 0)}}
    >>> exchange_distance(rows.get, (-1, -1), 0, 1)
    Fraction(1, 1)
    """
    if i == j or not {i, j} <= set(_masked(canvas)):
        raise ValueError(f"i and j must be two masked positions of {canvas}, got {i} and {j}")

    def law(first: int, second: int) -> Law:
        texts: Law = {}
        for a, p in enumerate(_rows(conditionals, canvas)[first]):
            shown = _written(canvas, [first], (a,))
            for b, q in enumerate(_rows(conditionals, shown)[second] if p else ()):
                texts[_written(shown, [second], (b,))] = Fraction(p) * Fraction(q)
        return texts

    return total_variation(law(i, j), law(j, i))


def _rows(conditionals: Conditionals, canvas: Canvas) -> Rows:
    rows = conditionals(canvas)
    if rows is None:
        raise ValueError(f"canvas {canvas} is impossible: conditionals gives no rows for it")
    return rows


def _masked(canvas: Canvas) -> list[int]:
    return [i for i, token in enumerate(canvas) if token == _MASK]


def _first(order: Order, canvas: Canvas, rows: Rows, per_step: int) -> list[int]:
    masked = _masked(canvas)
    chosen = [int(i) for i in order(canvas, rows)][:per_step]
    if len(chosen) < min(per_step, len(masked)) or len({*chosen} & {*masked}) < len(chosen):
        raise ValueError(f"order must name the masked positions {masked} of {canvas}, each once, got {chosen} first")
    return chosen


def _commits(rows: Sequence[Sequence[Fraction]], commit: Commit) -> Iterator[tuple[Canvas, Fraction]]:
    """Yield the tokens that the rows may commit, and the probability of each choice."""
    if commit == "argmax":
        yield tuple(list(row).index(max(row)) for row in rows), Fraction(1)
        return
    for choice in product(*([(token, p) for token, p in enumerate(row) if p] for row in rows)):
        share = Fraction(1)
        for _, p in choice:
            share *= p
        yield tuple(token for token, _ in choice), share


def _written(canvas: Canvas, positions: Sequence[int], tokens: Canvas) -> Canvas:
    new = dict(zip(positions, tokens, strict=True))
    return tuple(new.get(i, token) for i, token in enumerate(canvas))
