"""The selection path: its breakpoints are the exact crossings, its sets the exact top, its brackets say the rest."""

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from importlib import import_module

import exact_ranks
import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from rws_theory import SelectionPath, crossings, selection_path
from rws_theory.certified.selection_cells import _chord_below_tangents, _Column
from rws_theory.certified.selection_sums import Row, equal_classes, sample, sharp_difference, sharp_sum
from rws_theory.selection import Bracket, Piece, same_at_every_scale

pairs_module = import_module("rws_theory.certified.selection_pairs")

Floats = NDArray[np.float64]
U = 2.0**-53
FLOATS, EXACT = "float64 error bound", "float64 error bound and exact gaps"

APPENDIX_D = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]
BOTH_FLIPS = (1, 7 / 2, 7 / 2), (3 / 2, 3 / 2, 13 / 2)  # crossings at 0.37 and 1.2, the first is ahead between
MEETING = (1,), (2, 2), (3, 3, 3, 3)  # x, 2 x^2 and 4 x^3 with x = exp(-r) are equal at log 2
# A tangency at log 3, (1 - x)^2 (3 x - 1)^2 = 0 with x = exp(-r): the second is ahead at every other scale.
TANGENT = np.array([[0, *[0] * 1, *[-2] * 22, *[-4] * 9], [0, *[-1] * 8, *[-3] * 24]], dtype=np.float64)


def rows_of(*gaps: Iterable[float]) -> Floats:
    """One row of logits for each list of gaps, the missing tokens forbidden."""
    lists = [list(row) for row in gaps]
    size = max(map(len, lists))
    return np.array([[0.0, *(-u for u in row), *[-np.inf] * (size - len(row))] for row in lists])


def hidden(gaps: Iterable[float]) -> list[float]:
    """The same gaps far behind one that all share: the crossings are those of the gaps, hidden in rounding."""
    return [1.0, *(39.0 + u for u in gaps)]


def tops_at(z: Floats, k: int, c: float) -> tuple[int, ...]:
    return tuple(sorted(exact_ranks.exact_top(z.tolist(), k, Fraction(c))[0]))


def slow_path(z: Floats, k: int, low: float, high: float) -> tuple[list[tuple[int, ...]], list[tuple[float, float]]]:
    """Sets in rising order of the scale, and enclosures of where they change: exact crossings of all pairs."""
    computed = [c for a, b in itertools.combinations(z, 2) for c in crossings(a, b, rtol=1e-14).crossings]
    ends: list[tuple[float, float]] = []
    for left, right in sorted((c.lower, c.upper) for c in computed if low < c.lower and c.upper < high):
        if ends and left <= ends[-1][1]:  # pairs that cross at one scale
            left, right = ends[-1][0], max(right, ends.pop()[1])
        ends.append((left, right))
    between = [low, *(math.sqrt(a[1] * b[0]) for a, b in itertools.pairwise(ends)), high][: len(ends) + 1]
    tops = [tops_at(z, k, c) for c in [*between[:-1], high]]
    changed = [(end, after) for end, before, after in zip(ends, tops, tops[1:], strict=False) if before != after]
    return [tops[0], *(after for _, after in changed)], [end for end, _ in changed]


def check(path: SelectionPath, z: Floats, k: int, low: float, high: float) -> None:
    """Assert that a certified path is the slow one, enclosed to 1e-12, its pieces joined."""
    sets, changes = slow_path(z, k, low, high)
    assert [piece.selected for piece in path.pieces] == sets and path.k == k and path.certified
    assert (path.pieces[0].lower, path.pieces[-1].upper) == (low, high)
    assert [p.upper for p in path.pieces[:-1]] == [p.lower for p in path.pieces[1:]]
    assert len(path.brackets) == len(changes)
    for bracket, (left, right), piece in zip(path.brackets, changes, path.pieces, strict=False):
        assert bracket.breakpoint and bracket.lower < right and left < bracket.upper
        assert bracket.relative_width <= 2e-13 and bracket.lower < piece.upper < bracket.upper
        assert piece.upper == pytest.approx(left, rel=2e-13, abs=0)


@pytest.mark.parametrize("seed", range(12))
def test_path_is_that_of_the_exact_crossings_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=2.0, size=(7, 5))
    z[:, 0] += rng.uniform(0, 3, size=7)
    if seed % 3 == 0:  # rows that tie at every scale, and forbidden tokens
        z = np.round(z * 8) / 8
        z[5], z[6] = z[1][::-1] + 4.0, z[2, [4, 0, 1, 3, 2]]
        z[0, 1:3] = -np.inf
    k = 1 + seed % 6
    check(selection_path(z, k, 0.02, 30.0), z, k, 0.02, 30.0)


@pytest.mark.parametrize(
    ("rows", "k"), [(MEETING, 1), (MEETING, 2), (tuple(map(hidden, MEETING)), 2), ((*MEETING, *MEETING), 3)]
)
def test_curves_that_meet_in_one_point_change_all_places_there(rows: tuple[Iterable[float], ...], k: int) -> None:
    """Also where the floats next to that point are an end of the range, or the one scale asked for."""
    z = rows_of(*rows)
    check(selection_path(z, k, 0.1, 8.0), z, k, 0.1, 8.0)
    for c in (0.6931471805599453, 0.6931471805599454):
        point_path = selection_path(z, k, c, c)
        assert point_path.pieces == (Piece(c, c, tops_at(z, k, c)),) and point_path.certified
        for low, high, inside in ((0.5, c, 0.5), (c, 1.0, 1.0)):
            path = selection_path(z, k, low, high)
            assert path.pieces == (Piece(low, high, tops_at(z, k, inside)),) and not path.certified
            (bracket,) = path.brackets
            assert c in (bracket.lower, bracket.upper) and not bracket.breakpoint and bracket.relative_width < 1e-13


def test_touching_curves_change_nothing_and_single_scales_are_decided() -> None:
    # At log 3 both are equal, which no float scale is: on both sides the same position is ahead.
    for range_ in ((0.1, 8.0), (math.log(3), math.log(3)), (1.0986, 1.0987)):
        path = selection_path(TANGENT, 1, *range_)
        assert path.pieces == (Piece(*range_, (1,)),) and path.brackets == () and path.certified
        assert path.certificate == EXACT
    a, b = map(hidden, BOTH_FLIPS)
    for c, ahead in ((0.3703, 1), (0.3705, 0), (1.19, 0), (1.2, 1)):
        path = selection_path(rows_of(a, b), 1, c, c)
        assert path.pieces == (Piece(c, c, (ahead,)),) and path.brackets == () and path.certified
    close = rows_of((1.0, 3.0), (1.0, 3.0 + 2.0**-50))  # float64 rounds both log F to one value
    assert selection_path(close, 1, 9.0, 9.0).pieces == (Piece(9.0, 9.0, (1,)),)
    assert selection_path(close[::-1], 1, 9.0, 9.0).pieces == (Piece(9.0, 9.0, (0,)),)


def test_a_class_of_equal_rows_gives_some_of_its_members() -> None:
    """Appendix D's pair, each twice: one class loses both its seats, or one, where the curves cross."""
    z = np.array([APPENDIX_D[0], APPENDIX_D[1], APPENDIX_D[1], APPENDIX_D[0]])
    sets = {k: [p.selected for p in selection_path(z, k, 0.01, 32.0).pieces] for k in range(5)}
    assert sets == {0: [()], 1: [(0,), (1,)], 2: [(0, 3), (1, 2)], 3: [(0, 1, 3), (0, 1, 2)], 4: [(0, 1, 2, 3)]}
    for k in (1, 2, 3):
        check(selection_path(z, k, 0.01, 32.0), z, k, 0.01, 32.0)


def test_positions_with_one_allowed_token_come_first() -> None:
    z = np.array([[0.0, -1.0, -2.0], [-np.inf, 3.0, -np.inf], [5.0, -np.inf, -np.inf], [0.0, -4.0, -4.0]])
    whole = [selection_path(z, k, 0.5, 2.0) for k in range(5)]
    assert [p.pieces[0].selected for p in whole] == [(), (1,), (1, 2), (1, 2, 3), (0, 1, 2, 3)]
    assert [p.certificate for p in whole] == ["ranks"] * 3 + [FLOATS, "ranks"]
    assert whole[1] == SelectionPath(1, (Piece(0.5, 2.0, (1,)),), (), True, "ranks", 0)
    assert selection_path(np.zeros((0, 3)), 0, 1.0, 2.0).pieces == (Piece(1.0, 2.0, ()),)


def outside_brackets_it_is_right(path: SelectionPath, z: Floats, k: int, low: float, high: float) -> None:
    scales = [*np.geomspace(low, high, 60).tolist(), *(e for b in path.brackets for e in (b.lower, b.upper))]
    for c in scales:
        if not any(b.lower < c < b.upper or (c in (low, high) and c in (b.lower, b.upper)) for b in path.brackets):
            fit = [piece for piece in path.pieces if piece.lower <= c <= piece.upper]
            assert tops_at(z, k, c) in [piece.selected for piece in fit], c


def test_pairs_of_too_many_gaps_leave_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where exact gaps are too many, what rounding hides is a wide bracket, and the path says so."""
    monkeypatch.setattr(pairs_module, "_MOST_TERMS", 3)
    z = rows_of(*map(hidden, BOTH_FLIPS))
    path = selection_path(z, 1, 0.01, 32.0)
    assert not path.certified and path.certificate == FLOATS
    assert any(b.relative_width > 0.1 for b in path.brackets) and path.brackets[0].breakpoint
    outside_brackets_it_is_right(path, z, 1, 0.01, 32.0)
    assert path.evaluations < 10_000  # it ends, where float64 tells neither the values nor the slopes apart
    single = selection_path(z, 1, 2.0, 2.0)
    assert single.brackets == (Bracket(2.0, 2.0, False),) and not single.certified and len(single.pieces) == 1
    three = rows_of(*map(hidden, (*BOTH_FLIPS, (1, 3 / 2, 7))))
    assert [len(selection_path(three, k, 2.0, 2.0).pieces[0].selected) for k in range(4)] == [0, 1, 2, 3]
    tangent = selection_path(TANGENT, 1, 0.1, 8.0)
    assert not tangent.certified and not any(b.breakpoint for b in tangent.brackets)
    assert any(b.lower < math.log(3) < b.upper for b in tangent.brackets)
    assert [p.selected for p in tangent.pieces] == [(1,)] and tangent.evaluations < 2000
    assert tangent.brackets[-1].upper - tangent.brackets[0].lower < 1e-6
    outside_brackets_it_is_right(tangent, TANGENT, 1, 0.1, 8.0)


def columns(values: list[list[list[float]]]) -> tuple[_Column, _Column]:
    """Two columns at scales 1 and 3: for each, rows value, error, slope and slope_error of the classes."""
    left, right = (np.array(column, dtype=np.float64) for column in values)
    return _Column(1.0, left), _Column(3.0, right)


def test_chord_is_below_a_mean_of_tangents_exactly_where_it_is_below_the_larger_of_them() -> None:
    """The slow reference tries 401 scales, all errors at their worst; a margin of 1e-3 is left out."""
    rng = np.random.default_rng(7)
    counts = {True: 0, False: 0}
    for _ in range(300):
        kink, dip = rng.uniform(0.2, 1.8, size=2), rng.uniform(0, 2, size=2)
        va, sa = rng.uniform(-1, 1, size=2), rng.uniform(-3, 0, size=2)
        vb, sb = va + sa * kink + (sa + dip) * (2 - kink), sa + dip  # tangents that meet at the kink
        errors = rng.choice([0.0, 0.05, 0.3], size=(4, 2))
        left, right = columns([[va, errors[0], sa, errors[1]], [vb, errors[2], sb, errors[3]]])  # type: ignore[list-item]
        better = _chord_below_tangents(left, right)
        assert not better.diagonal().any()
        for p, q in ((0, 1), (1, 0)):
            t = np.linspace(0, 2, 401)
            chord = (va[p] + errors[0, p]) * (1 - t / 2) + (vb[p] + errors[2, p]) * t / 2
            tangent_a = va[q] - errors[0, q] + (sa[q] - errors[1, q]) * t
            tangent_b = vb[q] - errors[2, q] - (sb[q] + errors[3, q]) * (2 - t)
            margin = float((np.maximum(tangent_a, tangent_b) - chord).min())
            if abs(margin) > 1e-3:
                assert better[p, q] == (margin > 0)
                counts[margin > 0] += 1
    assert min(counts.values()) > 100


def exact_sum(row: Row, c: float, moment: int = 0) -> mpmath.mpf:
    """The sum over k >= 3 of w_k^moment exp(-c w_k) at the working precision."""
    w = [mpmath.mpf(float(row.logits[1])) - mpmath.mpf(float(v)) for v in row.logits[2:]]
    return mpmath.fsum(x**moment * mpmath.exp(-mpmath.mpf(c) * x) for x in w)


ROWS = [
    rows_of((0.5,))[0],
    rows_of((0.5, 0.75))[0],
    rows_of((0.0, 5.0, 6.0, 1e3))[0],  # at large scales nothing but what is left out is in the bounds
    rows_of((1 / 3, 1 / 3, 0.7, 5.1, 1e3))[0],
    np.random.default_rng(3).normal(size=40) * 4,
    np.append(np.random.default_rng(4).normal(size=300), 9.0),
]


@pytest.mark.parametrize("index", range(len(ROWS)))
@pytest.mark.parametrize("c", [2.0**-30, 0.03, 1.0, 7.7, 900.0])
def test_sums_are_within_the_errors_that_they_state(index: int, c: float) -> None:
    """At 60 digits; the stated errors are those of the docstring, up to rounding and what else may be left out."""
    row = Row.of(ROWS[index])
    computed = sample(row, c)
    with mpmath.workdps(60):
        rest, first = exact_sum(row, c), exact_sum(row, c, 1)
        delta = mpmath.mpf(float(row.logits[0])) - mpmath.mpf(float(row.logits[1]))
        value, slope = mpmath.log1p(rest) - c * delta, -delta - first / (1 + rest)
        assert abs(computed.value - value) <= computed.error and abs(computed.slope - slope) <= computed.slope_error
        kept = int((row.excess * c <= 60).sum())
        levels = math.ceil(math.log2(kept)) if kept else 0
        terms = (2.1 * c * first + (18 + levels) * rest) / (1 + rest)
        total = terms + 8 * mpmath.log1p(rest) + 3 * c * delta + 2 * abs(value)
        lost = (row.excess.size - kept) * mpmath.mpf("1e-26")
        assert computed.error == pytest.approx(float(total * U * 1.01 + lost), rel=1e-3, abs=1e-315)
        slopes = ((300 + 2 * levels) * first / (1 + rest) + 4 * delta) * U * 1.01 + lost * 60 / c
        assert computed.slope_error == pytest.approx(float(slopes), rel=1e-3, abs=1e-315)
        high, low, sharp = sharp_sum(row, c)
        assert abs(mpmath.mpf(high) + mpmath.mpf(low) - (1 + rest)) <= sharp * (1 + rest)
        assert sharp == pytest.approx(2.0**-59 + float(lost), rel=1e-9, abs=0) and abs(low) <= 2.0**-50 * high
        other = Row.of(ROWS[index - 1])
        difference, error = sharp_difference(row, other, c)
        delta_b = mpmath.mpf(float(other.logits[0])) - mpmath.mpf(float(other.logits[1]))
        exactly = value - (mpmath.log1p(exact_sum(other, c)) - c * delta_b)
        assert abs(difference - exactly) <= error
        assert error <= 2.1 * 2.0**-58 + 2.1 * 2.0**-53 * 2 * abs(float(exactly)) + 400 * 1e-26


def test_sharp_sums_of_many_equal_terms_keep_their_bound() -> None:
    """Halfway between two entries of the table and with products that float64 rounds: each error is at its largest."""
    many, c = 20_000, 1.9
    for step, n in ((0.5, 12), (1.5, 12), (2048.5, 11), (2048.5, 60)):
        w = step / 256 / c * (1 + n * 1e-7)
        high, low, error = sharp_sum(Row.of(np.array([0.0, 0.0, *[-w] * many])), c)
        with mpmath.workdps(40):
            exactly = 1 + many * mpmath.exp(-mpmath.mpf(c) * mpmath.mpf(w))
            assert abs(mpmath.mpf(high) + mpmath.mpf(low) - exactly) <= error * exactly


def test_subnormal_scales_keep_every_term() -> None:
    """60 / c is beyond float64: no warning, and all terms are summed."""
    row, c = Row.of(rows_of((1, 2, 3))[0]), 1e-310
    assert sample(row, c).value == pytest.approx(math.log(3)) and sharp_sum(row, c)[0] == pytest.approx(3.0)
    with np.errstate(under="raise"):  # products that underflow are nothing to stop at
        row = Row.of(rows_of((1, 2.3, 3.7))[0])
        assert sample(row, c).value == pytest.approx(math.log(3)) and sharp_sum(row, c)[0] == pytest.approx(3.0)
    for c in (5e-324, 1.5e-323, 1e-310):  # a product of a few units is off by up to half of one
        computed = sample(Row.of(rows_of((1.5,))[0]), c)
        assert abs(Fraction(computed.value) + Fraction(3, 2) * Fraction(c)) <= Fraction(computed.error)


def test_equal_hashes_do_not_make_equal_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rws_theory.certified.selection_sums.hash", lambda _: 0, raising=False)
    rows = [np.sort(z)[::-1] for z in rows_of((1, 2), (1, 3), (1, 2), (1, 3), (2, 2))]
    assert equal_classes(rows) == [[0, 2], [1, 3], [4]]


def test_large_margins_are_taken_and_groups_are_of_equal_numbers() -> None:
    largest = float(np.finfo(np.float64).max)
    z = np.array([[0.0, -1.0], [0.0, -largest / 8]])
    assert selection_path(z, 1, 1.0, 1.9).pieces[0].selected == (1,)
    with pytest.raises(ValueError, match="c_max times the top-two margins"):
        selection_path(z, 1, 1.0, 2.1)
    tiny = 2.0**-60  # equal as float64 differences, not as numbers
    z = np.array([[tiny, -1.0, -np.inf], [0.0, -1.0, -np.inf], [-1.0, -np.inf, 0.0], [0.0, -1.0, -1.0]])
    assert same_at_every_scale(z) == [[0], [1, 2], [3]]
    # A gap and its rounding error belong together: the same high parts in rows of other low parts, and -0.0.
    z = np.array([[tiny, -1.0, -1.0], [tiny, -1.0 + tiny, -1.0], [-0.0, 0.0, -1.0], [0.0, -0.0, -1.0]])
    assert same_at_every_scale(z) == [[0, 1], [2, 3]]
