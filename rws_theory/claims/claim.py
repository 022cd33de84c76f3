"""The form of a claim: what the paper states and where, and the verdict of a check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

__all__ = ["Check", "Claim", "Verdict"]

Verdict = Literal["true", "false", "true with correction", "not about RWS", "not confirmed"]


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, and the verdict of its check.

    Attributes
    ----------
    id : short name, unique in the ledger.
    where : section, table or line of argument that states it.
    statement : the statement, in the notation of `rws_theory.crossings`.
    verdict : "true": as stated. "true with correction": after the change in `correction`. "false": `counterexample`
        refutes it. "not about RWS": true of something that the algorithm does not do. "not confirmed": the check that
        should have confirmed or refuted it did not; no claim of the ledger should ever say so.
    evidence : what was proved, computed or enumerated, with the numbers that came out.
    counterexample : the smallest counterexample in exact form, with what "smallest" means; None unless refuted.
    correction : the corrected statement, proved in docs/theory.md; None where none is needed.
    """

    id: str
    where: str
    statement: str
    verdict: Verdict
    evidence: str
    counterexample: str | None = None
    correction: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        """Return the claim as JSON has it."""
        return asdict(self)


Check = Callable[[], Claim]
