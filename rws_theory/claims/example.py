"""The worked example of Appendix D, in exact decimals: gap statistics, values, and the crossing."""

from __future__ import annotations

from fractions import Fraction

from rws_theory.crossings import crossings

from .record import Check, Claim, printed

__all__ = ["CHECKS"]


def _logits() -> tuple[list[Fraction], list[Fraction]]:
    example = printed("appendix_d")
    a, b = ([Fraction(x) for x in example[name]] for name in ("a", "b"))
    return a, b


def _gaps(logits: list[Fraction]) -> list[Fraction]:
    top = max(logits)
    return sorted(top - x for i, x in enumerate(logits) if i != logits.index(top))


def _probability(logits: list[Fraction], r: int) -> tuple[Fraction, Fraction]:
    """Enclose P(r) = 1 / (1 + sum exp(-r u)) by rationals.

    exp(-z) is enclosed by exp(-z / 2^k) in [1 - y, 1 - y + y^2 / 2] for y = z / 2^k in [0, 1], squared k times and
    rounded outward to 40 digits after each squaring.
    """
    halvings, grid = 60, 10**40
    low = high = Fraction(0)
    for gap in _gaps(logits):
        y = r * gap / 2**halvings
        least, most = 1 - y, 1 - y + y * y / 2
        for _ in range(halvings):
            least = Fraction(int(least * least * grid), grid)
            most = Fraction(int(most * most * grid) + 1, grid)
        low, high = low + least, high + most
    return 1 / (1 + high), 1 / (1 + low)


def _values(r: int) -> list[tuple[str, tuple[Fraction, Fraction], Fraction]]:
    row = next(row for row in printed("appendix_d")["probability"] if row["r"] == r)
    return [(name, _probability(x, r), row[name]) for name, x in zip("ab", _logits(), strict=True)]


def _width(values: list[tuple[str, tuple[Fraction, Fraction], Fraction]]) -> str:
    return f"{float(max(high - low for _, (low, high), _ in values)):.0e}"


def _rounds_to(interval: tuple[Fraction, Fraction], said: Fraction) -> bool:
    return all(abs(end - said) <= Fraction(1, 2000) for end in interval)


def gap_values() -> Claim:
    """Differences of decimals."""
    example = printed("appendix_d")
    gaps = [_gaps(x) for x in _logits()]
    holds = [sum(u) for u in gaps] == [example["sigma_a"], example["sigma_b"]] and [u[0] for u in gaps] == [
        example["delta_a"],
        example["delta_b"],
    ]
    shown = "; ".join(f"({', '.join(str(u) for u in row)})" for row in gaps)
    return Claim(
        "D-gaps",
        "Appendix D.1",
        "Sigma_a = 1.3, delta_a = 0.5, Sigma_b = 1.2, delta_b = 0.6.",
        "true" if holds else "false",
        f"Exact gaps of a and b: {shown}.",
    )


def at_one() -> Claim:
    """Probabilities enclosed in rational intervals (`_probability`) and compared with three printed decimals."""
    values = _values(1)
    shown = ", ".join(f"P^{name}(1) = {float(low):.6f}" for name, (low, _), _ in values)
    return Claim(
        "D-r1",
        "Appendix D.1",
        "P^a(1) = 0.486 and P^b(1) = 0.477, to three decimals.",
        "true" if all(_rounds_to(interval, said) for _, interval, said in values) else "false",
        f"Enclosed to within {_width(values)}: {shown}.",
    )


def at_two() -> Claim:
    """Probabilities enclosed in rational intervals (`_probability`); no interval holds the printed number."""
    values = _values(2)
    wrong = [name for name, interval, said in values if not _rounds_to(interval, said)]
    flip = values[0][1][1] < values[1][1][0]
    shown = ", ".join(f"P^{name}(2) = {float(low):.4f}" for name, (low, _), _ in values)
    return Claim(
        "D-r2",
        "Appendix D.1",
        "P^a(2) = 0.835 and P^b(2) = 0.847, which confirms a flip for r > 1.",
        "false" if wrong or not flip else "true",
        f"Enclosed to within {_width(values)}: {shown}; {'flipped' if flip else 'no flip'} at r = 2.",
        "a = (11/10, 3/5, 3/10), b = (1, 2/5, 2/5) at r = 2" if wrong or not flip else None,
        f"{shown}: no flip yet." if not flip else None,
    )


def crossing() -> Claim:
    """With x = exp(r / 10): F_a - F_b = x^-5 + x^-8 - 2 x^-6 = x^-8 (x^3 - 2 x^2 + 1) = x^-8 (x - 1)(x^2 - x - 1).

    x > 1 leaves the golden ratio phi, so r = 10 log phi, and there is no other crossing. SymPy factors and solves;
    the certified enclosure must hold the number.
    """
    import sympy  # heavy, and needed by two checks only

    x = sympy.Symbol("x", positive=True)
    f_a, f_b = (sum(x ** int(-10 * gap) for gap in _gaps(logits)) for logits in _logits())
    polynomial = sympy.factor(sympy.expand((f_a - f_b) * x**8))
    roots = [root for root in sympy.solve(polynomial, x) if root > 1]
    golden = roots == [sympy.Rational(1, 2) + sympy.sqrt(5) / 2]
    found = crossings(*_logits())
    enclosed = golden and len(found.crossings) == 1 and found.complete
    if enclosed:
        exact = 10 * sympy.log(roots[0])
        low, high = (sympy.Rational(end) for end in (found.crossings[0].lower, found.crossings[0].upper))
        enclosed = bool(low <= exact) and bool(exact <= high)
    said = printed("appendix_d")["crossing"]
    value = sympy.N(10 * sympy.log(roots[0]), 11) if golden else None
    return Claim(
        "D-crossing",
        "Appendix D.1",
        "The curves cross at r = 1.73.",
        "false" if enclosed and value is not None and abs(value - float(said)) > 0.01 else "not confirmed",
        f"x = exp(r / 10) turns g = 0 into {polynomial} = 0; the one certified crossing "
        f"{'encloses' if enclosed else 'does not enclose'} its root above 1.",
        "a = (11/10, 3/5, 3/10), b = (1, 2/5, 2/5)",
        f"r = 10 log((1 + sqrt 5) / 2) = {value}, ten times the logarithm of the golden ratio.",
    )


CHECKS: dict[str, Check] = {
    "D-gaps": gap_values,
    "D-r1": at_one,
    "D-r2": at_two,
    "D-crossing": crossing,
}
