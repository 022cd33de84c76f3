"""The arithmetic of the printed tables, against each other and against the text, in exact decimals.

A printed number stands for every number that rounds to it. Two printed numbers agree if some numbers in their intervals
do (docs/theory.md, section 12).
"""

from __future__ import annotations

from rws_theory.claims.claim import Check
from rws_theory.claims.tables import costs, counts, scores, texts, win_rates

__all__ = ["CHECKS"]

CHECKS: dict[str, Check] = {
    **win_rates.CHECKS,
    **scores.CHECKS,
    **costs.CHECKS,
    **counts.CHECKS,
    **texts.CHECKS,
}
