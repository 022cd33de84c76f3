"""The ledger: the statements of the paper that can be checked, each with a verdict that is computed when asked.

One function checks one statement; its docstring says how, and docs/theory.md holds the proofs. `CHECKS` lists them: the
method, Theorem 1, its example, rewards, tables, and what we add (N-...).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rws_theory.claims import example, method, own_results, reversal, reward, scales, tables
from rws_theory.claims.claim import Check, Claim, Verdict, marked

__all__ = ["CHECKS", "Check", "Claim", "Verdict", "claims"]

CHECKS: dict[str, Check] = {
    **method.CHECKS,
    **reversal.CHECKS,
    **example.CHECKS,
    **reward.CHECKS,
    **tables.CHECKS,
    **own_results.CHECKS,
    **scales.CHECKS,
}


def claims(ids: Iterable[str] | None = None) -> Iterator[Claim]:
    """Check statements of the paper one by one, and yield the verdict, evidence, counterexample and correction of each.

    Guarantee: this call computes every verdict: by exact arithmetic, certified enclosures and exhaustive search, or by
    confirming on a grid what docs/theory.md proves. All of them take about a minute.

    Parameters
    ----------
    ids : the ids to check, in any order; None for all. They come in the order of the ledger.

    Raises
    ------
    ValueError : an unknown id.

    >>> [(claim.id, claim.verdict) for claim in claims(["D-gaps", "T1b-printed"])]
    [('T1b-printed', 'false'), ('D-gaps', 'true')]
    """
    chosen = set(CHECKS if ids is None else ids)
    unknown = sorted(chosen - set(CHECKS))
    if unknown:
        raise ValueError(f"ids has {', '.join(unknown)}: the ledger holds {', '.join(CHECKS)}")
    return (marked(check()) for claim_id, check in CHECKS.items() if claim_id in chosen)
