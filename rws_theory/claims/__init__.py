"""The ledger: the statements of the paper that can be checked, with verdicts computed when asked.

One function per statement, whose docstring holds the proof or the argument; `CHECKS` lists them: the method, Theorem 1,
its example, rewards, tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rws_theory.claims import example, method, reversal, reward, tables
from rws_theory.claims.claim import Check, Claim, Verdict

__all__ = ["CHECKS", "Check", "Claim", "Verdict", "claims"]

CHECKS: dict[str, Check] = {
    **method.CHECKS,
    **reversal.CHECKS,
    **example.CHECKS,
    **reward.CHECKS,
    **tables.CHECKS,
}


def claims(ids: Iterable[str] | None = None) -> Iterator[Claim]:
    """Check statements of the paper one by one: verdict, evidence, counterexample and correction of each.

    Guarantee: every verdict is computed by this call: from exact arithmetic, certified enclosures and exhaustive
    search, or by confirming on a grid what the check's docstring proves. All of them take about a minute.

    Parameters
    ----------
    ids : the ids wanted, in any order; None for all. They come in the order of the ledger.

    Raises
    ------
    ValueError : an unknown id.

    >>> [(claim.id, claim.verdict) for claim in claims(["D-gaps", "T1b-printed"])]
    [('T1b-printed', 'false'), ('D-gaps', 'true')]
    """
    wanted = set(CHECKS if ids is None else ids)
    unknown = sorted(wanted - set(CHECKS))
    if unknown:
        raise ValueError(f"ids has {', '.join(unknown)}: the ledger holds {', '.join(CHECKS)}")
    return (check() for claim_id, check in CHECKS.items() if claim_id in wanted)
