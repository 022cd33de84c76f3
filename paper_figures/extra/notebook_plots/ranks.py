"""Notebook 1: pairs of positions whose ranks reverse, on a page to drag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from rws_decode.common.page import Page
from rws_decode.extra.pages.case_pages import BarsCase, bars_page
from rws_theory import crossings, log_odds, max_probability
from rws_theory.theorem1 import theorem1

Pair = tuple[Sequence[Fraction], Sequence[Fraction]]

# The gaps of two positions: the distances from the best logit to the others.
PAIRS = {
    "the paper's example": ("1/2 4/5", "3/5 3/5"),
    "both flips": ("1 7/2 7/2", "3/2 3/2 13/2"),
    "a flip where none is allowed": ("1 3/2 7", "1/2 3 5"),
    "three crossings below 1": ("7/4 7/4 21/4 11/2 7", "5/4 13/4 7/2 5 9"),
}
_SCALES = np.geomspace(0.05, 20.0, 161)
_LOBES = 8  # a curve that is so many times as tall as its lowest lobe leaves the picture


def pair_of(a_gaps: str, b_gaps: str) -> Pair:
    """Return the exact logits of two positions with these gaps, the more confident position first.

    >>> pair_of("1/2 0.8", "3/5 3/5")[0]
    (Fraction(0, 1), Fraction(-1, 2), Fraction(-4, 5))
    """
    a, b = ((Fraction(0), *(-Fraction(gap) for gap in gaps.split())) for gaps in (a_gaps, b_gaps))
    return (a, b) if theorem1(a, b).parity.at_one > 0 else (b, a)


def drag(pairs: Mapping[str, Pair]) -> Page:
    """Return a page on which the scale is dragged: the confidence of a and of b, and who is ahead."""
    return bars_page(
        "Who is ahead at this scale",
        "Drag the scale: both confidences rise, at different speeds. Where the curve on the right passes zero "
        "(dashed), the order turns round. A curve much taller than its lowest bend leaves the picture.",
        "r",
        _SCALES,
        ["a", "b"],
        [_case(name, pair) for name, pair in pairs.items()],
    )


def _case(name: str, pair: Pair) -> BarsCase:
    a, b = (np.array([float(logit) for logit in row]) for row in pair)
    confidence = np.stack([max_probability(a, _SCALES), max_probability(b, _SCALES)], axis=1)
    lead = (log_odds(a, _SCALES) - log_odds(b, _SCALES)) / _SCALES
    sentences = [
        f"At r = {scale:.3g}, {'a' if ahead > 0 else 'b'} is ahead: {max(two):.6f} against {min(two):.6f}."
        for scale, ahead, two in zip(_SCALES, lead, confidence.tolist(), strict=True)
    ]
    roots = [float(root) for root in crossings(*pair).roots]
    lobes = [np.abs(lobe).max() for lobe in np.split(lead, np.searchsorted(_SCALES, roots))]
    visible = np.where(np.abs(lead) <= _LOBES * min(lobes), lead, np.nan)
    across = "log-odds of a less those of b, per unit of the factor [nats]"
    return BarsCase(
        name, {"confidence": confidence}, {"lead of a": visible}, sentences, "confidence", across, (0, 1), None, roots
    )
