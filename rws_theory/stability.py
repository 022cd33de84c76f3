"""How far the scale may move from 1 before the set of chosen positions changes: with proof, and by one cheap bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rws_theory.certified.selection_pairs import Pairs
from rws_theory.certified.selection_sums import Row, equal_classes, sample
from rws_theory.confidence import check_logits
from rws_theory.selection import selection_path
from rws_theory.show import facts_html, figures, shortened

__all__ = ["StabilityRadius", "stability_radius"]

_WIDTH = 1e-12
_SLACK = 2.0**-40  # more than the rounding of all sums here
_SAFE = 1 - _SLACK
_NEAR = 1e-9
_STEPS = (2.0, 16.0, 256.0, 2.0**16, 2.0**32, 2.0**64)


@dataclass(frozen=True)
class StabilityRadius:
    """The scales around 1 at which the same positions are chosen: see :func:`stability_radius`.

    selected: the k most confident positions at scale 1, rising. lower, upper: at every scale between them this set is
    proved; 0.0 and inf: down to 0, up to infinity. cheap: the scales that one evaluation at 1 proves, (lower, upper).
    certified: the set changes within a relative 1e-12 beyond each end that is neither 0.0 nor inf.
    """

    k: int
    selected: tuple[int, ...]
    lower: float
    upper: float
    cheap: tuple[float, float]
    certified: bool

    def __repr__(self) -> str:
        return f"StabilityRadius({self._words})"

    def _repr_html_(self) -> str:
        facts = {
            "positions": shortened(self.selected, 16),
            "proved at scales": f"{figures(self.lower)} to {figures(self.upper)}",
            "by one evaluation": f"{figures(self.cheap[0])} to {figures(self.cheap[1])}",
            "radius": self.radius,
        }
        return facts_html(f"Stability radius: {self._words}", facts)

    @property
    def _words(self) -> str:
        proof = "certified" if self.certified else "may be wider"
        return f"k={self.k}, same set from {figures(self.lower)} to {figures(self.upper)}, {proof}"

    @property
    def radius(self) -> float:
        """How far the scale may move from 1 either way: min(upper - 1, 1 - lower), at most 1."""
        return min(self.upper - 1, 1 - self.lower)


def stability_radius(logits: ArrayLike, k: int) -> StabilityRadius:
    """Find the scales around 1 at which the k most confident positions are those at scale 1.

    The ends come from :func:`rws_theory.selection_path` over ranges that grow away from 1, until every chosen position
    is proved to stay ahead (docs/theory.md, eq. (T80), (T81)). ``cheap`` needs one evaluation: log-odds l_j(c) are
    concave with slope mu_j(c), the softmax-weighted mean gap, so for c > 1 the set stays while (c - 1) (mu_j(1) -
    delta_i) < l_i(1)
    - l_j(1) for all i chosen and j not (eq. (T78), (T79)).

    Guaranteed, for the float64 numbers given: the set at every scale of [lower, upper], and of ``cheap``. If
    ``certified``, no larger interval will do, up to a relative 1e-12.

    logits: shape (positions, d); -inf is a forbidden token. k: 0 to `positions`. ValueError for others.

    >>> stable = stability_radius([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], 1)  # the pair of Appendix D
    >>> stable
    StabilityRadius(k=1, same set from 0 to 4.8121, certified)
    >>> stable.lower, round(stable.upper, 10), [round(c, 4) for c in stable.cheap]
    (0.0, 4.8121182506, [0.0, 1.3879])
    """
    x = check_logits(logits)
    at_one = selection_path(x, k, 1.0, 1.0)
    selected = at_one.pieces[0].selected
    if at_one.certificate == "ranks":
        return StabilityRadius(at_one.k, selected, 0.0, math.inf, (0.0, math.inf), True)
    if not at_one.certified:
        return StabilityRadius(at_one.k, selected, 1.0, 1.0, (1.0, 1.0), False)
    rivals = _Rivals.of(x, selected)
    ends = [_end(x, at_one.k, rivals, upwards) for upwards in (False, True)]
    return StabilityRadius(
        k=at_one.k,
        selected=selected,
        lower=ends[0][0],
        upper=ends[1][0],
        cheap=_cheap(rivals),
        certified=ends[0][1] and ends[1][1],
    )


@dataclass(frozen=True)
class _Rivals:
    """Every chosen position i and every other j whose order some scale might change: `couples` lists (i, j)."""

    pairs: Pairs
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    couples: NDArray[np.bool_]

    @classmethod
    def of(cls, x: NDArray[np.float64], selected: tuple[int, ...]) -> _Rivals:
        """Leave out what never loses (one allowed token), and compare no two positions with equal gaps."""
        many = [i for i in range(len(x)) if np.isfinite(x[i]).sum() > 1]
        rows = [Row.of(x[i]) for i in many]
        label = {i: n for n, group in enumerate(equal_classes([row.logits for row in rows])) for i in group}
        inside = tuple(n for n, i in enumerate(many) if i in selected)
        outside = tuple(n for n, i in enumerate(many) if i not in selected)
        couples = np.array([[label[i] != label[j] for j in outside] for i in inside], dtype=bool)
        return cls(Pairs(rows), inside, outside, couples)


def _end(x: NDArray[np.float64], k: int, rivals: _Rivals, upwards: bool) -> tuple[float, bool]:
    """Return the last scale up to which the set is proved, on one side of 1, and whether it ends there."""
    settled = _settled_above if upwards else _settled_below
    margin = max(row.delta for row in rivals.pairs.rows)
    edge = 1.0
    for step in _STEPS:
        if settled(rivals, edge):
            return (math.inf if upwards else 0.0), True
        if upwards and not math.isfinite(step * margin * 4):
            break
        path = selection_path(x, k, edge, step) if upwards else selection_path(x, k, 1 / step, edge)
        if path.brackets:
            nearest = path.brackets[0 if upwards else -1]
            tight = nearest.breakpoint and nearest.relative_width <= _WIDTH
            return (nearest.lower if upwards else nearest.upper), tight
        edge = step if upwards else 1 / step
    return edge, False


def _cheap(rivals: _Rivals) -> tuple[float, float]:
    """Return the scales that tangents, chords and rays at 1 prove, rounding on the unfavourable side (T78), (T79)."""
    rows = rivals.pairs.rows
    ahead = [sample(rows[i], 1.0) for i in rivals.inside]
    outside = [sample(rows[j], 1.0) for j in rivals.outside]
    least = np.array([-(s.value + s.error) for s in ahead])[:, None]
    most = np.array([-(s.value - s.error) for s in outside])
    tangent = np.array([[-s.slope - s.slope_error, -s.slope + s.slope_error] for s in outside])
    ray = np.array([rows[i].delta for i in rivals.inside])[:, None] * _SAFE
    chord = np.array(
        [(math.log(rows[i].logits.size - 1) - (s.value - s.error)) for i, s in zip(rivals.inside, ahead, strict=True)]
    )
    lead = np.where(rivals.couples, np.maximum(least - most, 0.0), math.inf) * _SAFE
    closing_up = np.maximum(tangent[:, 1] - ray, 0.0)
    closing_down = np.maximum(chord[:, None] + 1e-14 * (1 + abs(chord[:, None])) - tangent[:, 0], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (np.where(rate > 0, lead / rate, math.inf).min() for rate in (closing_up, closing_down))
    return max(0.0, float(1 - down)), float(1 + up)


# Both tests are sufficient (docs/theory.md, eq. (T80), (T81)). Where limits tie, or nearly so, exact gaps decide.
def _settled_above(rivals: _Rivals, c: float) -> bool:
    """Say whether the chosen rows, ahead at c, are proved to stay ahead of the others at all scales from c on."""
    rows = rivals.pairs.rows
    samples = [sample(rows[j], c) for j in rivals.outside]
    slope = np.array([-s.slope + s.slope_error for s in samples])
    delta = np.array([rows[i].delta for i in rivals.inside])[:, None]
    limit = np.array([rows[j].delta for j in rivals.outside])
    stays = delta * _SAFE >= slope  # l_i gains at least delta_i, l_j at most mu_j(c)
    near = abs(delta - limit) <= _NEAR * np.maximum(delta, limit)
    return _all_settled(rivals, stays, near, c, math.inf)


def _settled_below(rivals: _Rivals, c: float) -> bool:
    """Say whether the chosen rows, ahead at c, are proved to stay ahead of the others at all scales up to c."""
    gaps = [row.logits[0] - row.logits[1:] for row in rivals.pairs.rows]
    count, total = np.array([u.size for u in gaps]), np.array([math.fsum(u.tolist()) for u in gaps])
    i, j = np.array(rivals.inside)[:, None], np.array(rivals.outside)
    more, lead = count[j] - count[i], total[i] * _SAFE - total[j] * (1 + _SLACK)
    with np.errstate(over="ignore"):
        square = np.array([float((u * u).sum()) for u in gaps])
        stays = np.where(
            more > 0,
            c * total[j] * (1 + _SLACK) <= more,  # F_i <= n_i <= n_j - c Sigma_j < F_j
            (more == 0) & (c * square[i] / 2 * (1 + _SLACK) <= lead),
        )
    near = (more == 0) & (abs(total[i] - total[j]) <= _NEAR * np.maximum(total[i], total[j]))
    return _all_settled(rivals, stays, near, 0.0, c)


def _all_settled(rivals: _Rivals, stays: NDArray[np.bool_], near: NDArray[np.bool_], low: float, high: float) -> bool:
    """Ask the exact gaps for changes between two scales where a couple is open and its limits are near each other."""
    open_ = rivals.couples & ~stays
    if (open_ & ~near).any():
        return False
    for m, n in np.argwhere(open_):
        pair = rivals.pairs.exact(rivals.inside[m], rivals.outside[n])
        if pair is None or any(lower < high and low < upper for lower, upper in pair.brackets):
            return False
    return True
