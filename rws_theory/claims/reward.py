"""Theorem 2 (reward-monotonic guidance) and Corollary 1: tilting p e^{rR}, and what RWS does instead."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from flint import arb

from rws_theory.claims.claim import Finding
from rws_theory.printed import printed_in
from rws_theory.show import number
from rws_theory.worlds.ensembles import corollary_study
from rws_theory.worlds.less_reward import rws_less_reward_example

# exp(r) for three r > 0, so that expectations are rational.
BASES = (Fraction(3, 2), Fraction(2), Fraction(10))
TWO_WORDS = (Fraction(2, 3), Fraction(1, 3))
WEIGHTS, REWARDS = (0, 1, 3), (-1, 0, 2)  # of every state of a distribution


def _expected(weights: Sequence[Fraction | int], rewards: tuple[int, ...]) -> Fraction:
    return Fraction(sum(w * reward for w, reward in zip(weights, rewards, strict=True))) / sum(weights)


def _mean(weights: tuple[int, ...], rewards: tuple[int, ...], y: Fraction) -> Fraction:
    """Return E_{p_r}[R] for p proportional to the weights and exp(r) = y."""
    return _expected([w * y**reward for w, reward in zip(weights, rewards, strict=True)], rewards)


def _grid() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [
        (weights, rewards)
        for n in (1, 2, 3)
        for weights in product(WEIGHTS, repeat=n)
        if any(weights)
        for rewards in product(REWARDS, repeat=n)
    ]


def inequality() -> Finding:
    """Confirm Theorem 2 in exact arithmetic on a grid (proof: docs/theory.md, eq. (T39))."""
    cases = [(w, rewards, y) for w, rewards in _grid() for y in BASES]
    holds = all(_mean(w, rewards, y) >= _mean(w, rewards, Fraction(1)) for w, rewards, y in cases)
    before, after = (_mean((1, 1), (0, 1), y) for y in (Fraction(1), Fraction(2)))
    return Finding(
        "true" if holds else "not confirmed",
        f"Proof: docs/theory.md, eq. (T39); {len(cases):,} distributions with exp(r) rational, in exact arithmetic."
        f" One: p = (1/2, 1/2), R = (0, 1), exp(r) = 2: E[R] rises from {number(before)} to {number(after)}.",
    )


def strict() -> Finding:
    """Confirm that the gain is positive exactly where R varies on the support (proof: docs/theory.md, eq. (T39))."""
    cases = [(w, rewards, y) for w, rewards in _grid() for y in BASES]
    holds = all(
        (_mean(w, rewards, y) > _mean(w, rewards, Fraction(1)))
        == (len({reward for weight, reward in zip(w, rewards, strict=True) if weight}) > 1)
        for w, rewards, y in cases
    )
    return Finding(
        "true" if holds else "not confirmed",
        f"Proof: docs/theory.md, eq. (T39); strict exactly where R varies on the support, in {len(cases):,} cases.",
    )


def identity() -> Finding:
    """Refute the identity of Appendix E by two states in ball arithmetic (docs/theory.md, eq. (T42)).

    SymPy confirms that the derivative of the gain is Var_{p_r}.
    """
    import sympy  # heavy, and needed by three checks only

    def mean(y: Any) -> Any:
        return y / (1 + y)

    def variance(y: Any) -> Any:
        return y / (1 + y) ** 2

    r = sympy.Symbol("r")
    derived = sympy.simplify(mean(sympy.exp(r)).diff(r) - variance(sympy.exp(r))) == 0
    y = arb(2).exp()
    gain, claimed = mean(y) - mean(arb(1)), 2 * variance(y)
    return Finding(
        "false" if gain > claimed and derived else "not confirmed",
        "In ball arithmetic, for the counterexample below: the gain is exp(2) / (1 + exp(2)) - 1/2 ="
        f" {float(gain):.4f}, r Var_{{p_r}} is 2 exp(2) / (1 + exp(2))^2 = {float(claimed):.4f}.",
        "R in {0, 1}, p = (1/2, 1/2), r = 2 (smallest: two states, as one has variance 0)",
    )


def tilted() -> Finding:
    """Apply Theorem 2 to p = p_theta(. | x^(t)); equality holds only if R is constant on the support (T2-strict)."""
    holds = inequality().verdict == strict().verdict == "true"
    return Finding("true" if holds else "not confirmed", "Theorem 2 applied to the model distribution at the step.")


def as_printed() -> Finding:
    """Show exactly a distribution that scaling changes and tilting does not (docs/theory.md, section 8)."""
    scaled = tuple(x**2 / sum(y**2 for y in TWO_WORDS) for x in TWO_WORDS)
    return Finding(
        "not about RWS" if tilted().verdict == "true" and scaled != TWO_WORDS else "not confirmed",
        f"RWS scales: p^c / Z, for p = (2/3, 1/3), a constant reward and c = 2: ({', '.join(map(str, scaled))}),"
        " where tilting leaves p. Its update is not sampled either: it is the argmax, which no factor changes.",
    )


def scaling() -> Finding:
    """Show a reward whose mean falls when the logits are doubled, in exact arithmetic (docs/theory.md, eq. (T43))."""
    (falls_from, falls_to), (rises_from, rises_to) = (
        [_expected([x**c for x in TWO_WORDS], rewards) for c in (1, 2)] for rewards in ((0, 1), (1, 0))
    )
    return Finding(
        "false" if falls_to < falls_from else "not confirmed",
        "p^2 / Z = (4/9, 1/9) / (5/9). For R = (1, 0) instead E[R] rises,"
        f" from {number(rises_from)} to {number(rises_to)}.",
        f"p = (2/3, 1/3), R = (0, 1), factor 2: E[R] falls from {number(falls_from)} to {number(falls_to)} (smallest:"
        " two words)",
    )


def algorithm() -> Finding:
    """Refute the corollary for RWS by `rws_less_reward_example`, and count how often it fails by `corollary_study`."""
    example = rws_less_reward_example()
    study = corollary_study()
    shown = []
    labels = {
        "confidence": "confidence decoding",
        "constant": "a constant factor, the mean of its run",
        "shuffled": "its own rewards shuffled among the steps",
        "flipped": "the reward with its sign flipped",
    }
    for against, label in labels.items():
        cells = [c for cell in study.cells for c in cell.final if c.against == against]
        more, equal, less = (sum(getattr(c, key) for c in cells) for key in ("more", "equal", "less"))
        shown.append(f"{label} {more} / {equal} / {less}")
    lower = [c for cell in study.cells for c in cell.first_step if c.against == "nothing"]
    weights = "; ".join(", ".join(map(str, row)) for row in example.weights)
    return Finding(
        "false" if example.step_proved else "not confirmed",
        f"On {study.models * len(study.cells):,} random exact models (s_R = {study.reward_scale:g}; three ensembles,"
        f" three rewards) RWS ended with more / equal / less reward than: {'; '.join(shown)}. Its first commit lowered"
        f" the expected reward in {sum(c.less for c in lower)} of them. Intervals per ensemble:"
        " rws_theory.worlds.ensembles.corollary_study.",
        f"Two positions, three words, weights ({weights}) / 7, R = 1 if the first word is 0: at s_R ="
        f" {example.reward_scale} RWS's first commit takes E[R] from {number(example.mean)} to"
        f" {number(example.rws_expected)} and its"
        f" output has R = {example.rws_reward}, that of confidence decoding {example.confidence_reward} (smallest:"
        " positions, then words, then total weight)",
    )


def premise() -> Finding:
    """Show that a normalised reward may be negative, and that the inequality then reverses, in exact arithmetic."""
    models = printed_in("table7_reward_statistics", exact=True)["rows"]
    scores = {row["model"]: (0 - row["mean"]) / row["std"] for row in models}
    negative = {model: score for model, score in scores.items() if score < 0}
    base, other = _mean((1, 1), (0, 1), Fraction(1)), _mean((1, 1), (0, 1), Fraction(1, 2))
    listed = ", ".join(f"{model} {float(score):.2f}" for model, score in scores.items())
    return Finding(
        "true with correction" if negative and other < base else "not confirmed",
        "True of the factor of Step 3, s_R sqrt(sigmoid(r) + eps), but that multiplies the logits and not the reward"
        " (C1-printed). Section 3.2 writes r^(t) for the normalised reward itself, which has mean 0 where its"
        " statistics were taken, so it is negative for part of the texts. By Table 7 a raw reward of 0 normalises to:"
        f" {listed}.",
        f"p = (1/2, 1/2), R = (0, 1), exp(r) = 1/2, so r = -0.69: E[R] falls from {number(base)} to {number(other)}"
        " (smallest: two outcomes)",
    )
