"""The worked example of Appendix D, in exact decimals: gap statistics, values, and the crossing."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from rws_theory.certified.condensed import exact
from rws_theory.claims.claim import Finding
from rws_theory.claims.pair_search import confidence
from rws_theory.crossings import crossings
from rws_theory.printed import printed_in
from rws_theory.show import number


def logits() -> tuple[list[Fraction], list[Fraction]]:
    """Return the logits of both positions, as printed."""
    example = printed_in("appendix_d", exact=True)
    a, b = ([Fraction(x) for x in example[name]] for name in ("a", "b"))
    return a, b


def gaps_of(row: list[Fraction]) -> list[Fraction]:
    """Return the gaps of one position, ascending."""
    return sorted(max(row) - x for x in row)[1:]


def _shown() -> str:
    return ", ".join(f"{name} = ({', '.join(map(number, x))})" for name, x in zip("ab", logits(), strict=True))


def _formula(r: int) -> str:
    """Return P of both at r as sums of exponentials."""
    texts = (" + ".join(["1", *(f"exp(-{number(r * u)})" for u in gaps_of(x))]) for x in logits())
    return "; ".join(f"P^{name}({r}) = 1 / ({text})" for name, text in zip("ab", texts, strict=True))


def _values(r: int) -> dict[str, tuple[arb, Fraction]]:
    """Return both probabilities at r, as certified intervals and as printed."""
    a, b = logits()
    row = next(row for row in printed_in("appendix_d", exact=True)["probability"] if row["r"] == r)
    return {f"P^a({r})": (confidence(gaps_of(a), r), row["a"]), f"P^b({r})": (confidence(gaps_of(b), r), row["b"])}


def _right(values: dict[str, tuple[arb, Fraction]]) -> bool:
    """Say whether every number rounds to the printed three decimals, proved."""
    return all(abs(ball - exact(printed)) <= exact(Fraction(1, 2000)) for ball, printed in values.values())


def gap_values() -> Finding:
    """Compare differences of decimals with the printed gaps."""
    example = printed_in("appendix_d", exact=True)
    gaps = [gaps_of(x) for x in logits()]
    holds = [sum(u) for u in gaps] == [example["sigma_a"], example["sigma_b"]] and [u[0] for u in gaps] == [
        example["delta_a"],
        example["delta_b"],
    ]
    shown = "; ".join(
        f"{name}: {', '.join(f'{number(max(x))} - {number(max(x) - u)} = {number(u)}' for u in row)},"
        f" sum {number(sum(row))}"
        for name, x, row in zip("ab", logits(), gaps, strict=True)
    )
    return Finding("true" if holds else "false", f"Exact gaps: {shown}.")


def at_one() -> Finding:
    """Compare both probabilities, in ball arithmetic, with three printed decimals."""
    values = _values(1)
    shown = ", ".join(f"{name} = {float(ball):.6f}" for name, (ball, _) in values.items())
    return Finding("true" if _right(values) else "false", f"In ball arithmetic: {shown}. {_formula(1)}.")


def at_two() -> Finding:
    """Compare both probabilities, in ball arithmetic, with the printed ones; neither ball is near its number."""
    values = _values(2)
    flip = values["P^a(2)"][0] < values["P^b(2)"][0]
    holds = _right(values) and flip
    shown = ", ".join(f"{name} = {float(ball):.4f}" for name, (ball, _) in values.items())
    return Finding(
        "true" if holds else "false",
        f"In ball arithmetic: {shown}; {'flipped' if flip else 'no flip'} at r = 2. {_formula(2)}.",
        f"{_shown()} at r = 2",
        f"{shown}{'' if flip else ': no flip yet'}.",
    )


def crossing() -> Finding:
    """Solve the example exactly: its one crossing is 10 log phi, the golden ratio (docs/theory.md, end of section 2).

    SymPy factors and solves the polynomial in x = exp(r / 10); the certified interval must hold the number.
    """
    import sympy  # heavy, and needed by two checks only

    x = sympy.Symbol("x")
    f_a, f_b = (sum(x ** (-10 * gap) for gap in gaps_of(row)) for row in logits())
    polynomial = sympy.factor(sympy.expand((f_a - f_b) * x**8))
    golden = sympy.Rational(1, 2) + sympy.sqrt(5) / 2
    exact = 10 * sympy.log(golden)
    certified = crossings(*logits())
    enclosed = [sympy.Rational(c.lower) <= exact <= sympy.Rational(c.upper) for c in certified.crossings]
    roots = [root for root in sympy.solve(polynomial) if root > 1]
    confirmed = roots == [golden] and certified.complete and enclosed == [True]
    printed = printed_in("appendix_d", exact=True)["crossing"]
    values = " and ".join(
        f"P^{name} = {float(confidence(gaps_of(x), printed)):.4f}" for name, x in zip("ab", logits(), strict=True)
    )
    wrong = bool(abs(exact - printed) > Fraction(1, 200))
    refuted = confirmed and wrong
    return Finding(
        "false" if refuted else "true" if confirmed else "not confirmed",
        f"x = exp(r / 10) turns g = 0 into {polynomial} = 0; the one certified crossing "
        f"{'encloses' if confirmed else 'does not enclose'} its root above 1.",
        f"{_shown()}: at r = {float(printed):g} {values}",
        f"r = 10 log((1 + sqrt 5) / 2) = {sympy.N(exact, 11)}, ten times the logarithm of the golden ratio.",
    )
