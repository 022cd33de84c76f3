"""The k most confident positions at every scale of a range, with proof: pieces of one selection each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rws_theory.certified.selection_cells import Cell, contest
from rws_theory.certified.selection_pairs import Pairs
from rws_theory.certified.selection_sums import Row, equal_classes
from rws_theory.confidence import check_range, check_rows
from rws_theory.show import figures, shortened, table_html

__all__ = ["Bracket", "Piece", "SelectionPath", "same_at_every_scale", "selection_path"]

_WIDTH = 1e-12


@dataclass(frozen=True)
class Piece:
    """The positions `selected`, rising, at the scales from `lower` to `upper`."""

    lower: float
    upper: float
    selected: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Piece({_range(self)}: positions {shortened(self.selected) or 'none'})"


@dataclass(frozen=True)
class Bracket:
    """Scales [lower, upper] inside which no set is proved.

    ``breakpoint`` is True if the sets on both sides are proved and differ; else the set may or may not change inside.
    """

    lower: float
    upper: float
    breakpoint: bool

    def __repr__(self) -> str:
        what = "the set changes" if self.breakpoint else "not proved"
        return f"Bracket({_range(self)}, relative width {self.relative_width:.2g}: {what})"

    @property
    def relative_width(self) -> float:
        """(upper - lower) / upper."""
        return (self.upper - self.lower) / self.upper


@dataclass(frozen=True)
class SelectionPath:
    """The selected positions over a range of scales, and where they are proved: see :func:`selection_path`.

    k: positions selected at each scale. pieces: rising; each begins where the one before ends, and together they cover
    [c_min, c_max]. brackets: the open intervals in which the set is not proved, rising and disjoint; the end that two
    pieces share is an estimate inside one. certified: every bracket holds a breakpoint, at a relative width of at most
    1e-12. certificate: what the proof used: "ranks" where no comparison was needed, "float64 error bound", or "float64
    error bound and exact gaps". evaluations: values log F_i(c), one position at one scale, that were computed.
    """

    k: int
    pieces: tuple[Piece, ...]
    brackets: tuple[Bracket, ...]
    certified: bool
    certificate: str
    evaluations: int

    def __repr__(self) -> str:
        return f"SelectionPath({self._words})"

    def _repr_html_(self) -> str:
        rows = []
        before = self.pieces[0].selected
        for piece in self.pieces:
            new, old = (sorted({*x} - {*y}) for x, y in ((piece.selected, before), (before, piece.selected)))
            rows.append((piece.lower, piece.upper, shortened(piece.selected, 16), shortened(new), shortened(old)))
            before = piece.selected
        head = ("from scale", "to scale", "positions", "new", "gone")
        return table_html(head, rows, f"Selection path: {self._words}")

    @property
    def _words(self) -> str:
        span = f"[{figures(self.pieces[0].lower)}, {figures(self.pieces[-1].upper)}]"
        count = f"{len(self.pieces):,} piece{'s' if len(self.pieces) > 1 else ''}"
        open_ = sum(not bracket.breakpoint or bracket.relative_width > _WIDTH for bracket in self.brackets)
        proof = "certified" if self.certified else f"{open_:,} bracket{'s' if open_ > 1 else ''} not proved"
        return f"k={self.k}, {count} over {span}, {proof}"


def selection_path(logits: ArrayLike, k: int, c_min: float, c_max: float) -> SelectionPath:
    """Find the k most confident positions at every scale c in [c_min, c_max], as pieces with one selection each.

    Position i is ranked by its log-odds -log F_i(c), F_i(c) = sum_k exp(-c u_ik) over the finite gaps u_ik of its
    logits. Positions whose gap multisets are identical tie at every scale: the leftmost goes first. Others tie at no
    float scale (docs/theory.md, eq. (T8)).

    log F_i is convex, so on an interval it lies below its chord and above its tangents, which orders positions between
    evaluations (eq. (T31), (T32)). Intervals without proof are split (eq. (T33) to (T35)). Pairs that stay open are
    decided by :func:`rws_theory.crossings`, if at most 65,536 gaps remain after cancelling those they share.

    Guaranteed: outside ``brackets`` each piece's set is the exact top k of the float64 numbers given. If ``certified``,
    each bracket is narrower than 1e-12 relatively and holds a change (rarely more). Not guaranteed: a set inside a
    bracket; pairs that share most of a large vocabulary's gaps, or all but touch, can leave wide brackets.

    logits: shape (positions, d); -inf is a forbidden token; a position with one allowed token comes first at every
    scale. k: 0 to `positions`. c_min, c_max: 0 < c_min <= c_max < inf; equal ends ask for one scale. ValueError for
    others, and for c_max times a margin beyond float64.

    The pair of Appendix D, which crosses at 10 log((1 + sqrt 5) / 2):

    >>> path = selection_path([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], 1, 0.01, 32.0)
    >>> path
    SelectionPath(k=1, 2 pieces over [0.01, 32], certified)
    >>> [(round(p.lower, 8), round(p.upper, 8), p.selected) for p in path.pieces]
    [(0.01, 4.81211825, (0,)), (4.81211825, 32.0, (1,))]
    """
    x = check_rows(logits)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k <= len(x):
        raise ValueError(f"k must be an integer from 0 to the number of positions, {len(x)}, got {k!r:.80}")
    (low, high), k = check_range(c_min, c_max), int(k)

    single = np.isfinite(x).sum(axis=1) == 1
    first = np.flatnonzero(single)[:k].tolist()
    rest = np.flatnonzero(~single).tolist()
    seats = k - len(first)
    if seats in (0, len(rest)):
        chosen = tuple(sorted(first + (rest if seats else [])))
        return SelectionPath(k, (Piece(low, high, chosen),), (), True, "ranks", 0)

    rows = [Row.of(x[i]) for i in rest]
    if not math.isfinite(high * max(row.delta for row in rows) * 4):
        raise ValueError(f"c_max times the top-two margins must stay within float64, got c_max = {c_max}")
    groups = equal_classes([row.logits for row in rows])
    pairs = Pairs([rows[group[0]] for group in groups])
    cells = contest(pairs, [len(group) for group in groups], seats, low, high)

    def selected(counts: tuple[int, ...]) -> tuple[int, ...]:
        """Return the positions that the winners of each class stand for, rising."""
        members = [rest[i] for group, count in zip(groups, counts, strict=True) for i in group[:count]]
        return tuple(sorted(first + members))

    pieces, brackets = _assemble(cells, selected)
    return SelectionPath(
        k=k,
        pieces=pieces,
        brackets=brackets,
        certified=all(b.breakpoint and b.relative_width <= _WIDTH for b in brackets),
        certificate="float64 error bound" + " and exact gaps" * pairs.used_exact,
        evaluations=pairs.evaluations,
    )


def same_at_every_scale(logits: ArrayLike) -> list[list[int]]:
    """Group the positions that are equally confident at every scale: those with identical multisets of exact gaps.

    Groups and members rise. Positions of different groups are equal at no float scale (docs/theory.md, eq. (T8)).

    >>> same_at_every_scale([[3.0, 1.0, 2.0], [0.0, 0.0, 1.0], [4.0, 2.0, 3.0]])
    [[0, 2], [1]]
    """
    x = check_rows(logits)
    return equal_classes([np.sort(row[np.isfinite(row)])[::-1] for row in x])


def _range(part: Piece | Bracket) -> str:
    return f"{figures(part.lower)} to {figures(part.upper)}"


def _assemble(
    cells: list[Cell], selected: Callable[[tuple[int, ...]], tuple[int, ...]]
) -> tuple[tuple[Piece, ...], tuple[Bracket, ...]]:
    """Turn cells into pieces that cover the range, and cells without proof into brackets; join those that touch."""
    runs: list[tuple[float, float, tuple[int, ...], bool]] = []
    for cell in cells:
        chosen = selected(cell.counts)
        if runs and runs[-1][3] == cell.proved and (not cell.proved or runs[-1][2] == chosen):
            runs[-1] = (runs[-1][0], cell.upper, chosen, cell.proved)
        else:
            runs.append((cell.lower, cell.upper, chosen, cell.proved))
    starts: list[tuple[float, tuple[int, ...]]] = []
    brackets: list[Bracket] = []
    for n, (lower, upper, chosen, proved) in enumerate(runs):
        if not proved:
            between = 0 < n < len(runs) - 1
            brackets.append(Bracket(lower, upper, between and runs[n - 1][2] != runs[n + 1][2]))
        if (proved or len(runs) == 1) and not (starts and starts[-1][1] == chosen):
            begin = brackets[-1].lower + (brackets[-1].upper - brackets[-1].lower) / 2 if starts else runs[0][0]
            starts.append((begin, chosen))
    ends = [start for start, _ in starts[1:]] + [runs[-1][1]]
    pieces = tuple(Piece(begin, end, chosen) for (begin, chosen), end in zip(starts, ends, strict=True))
    return pieces, tuple(brackets)
