"""Which records of the ledger a proof assistant has checked: docs/proofs holds the proofs, `make prove` runs them."""

from __future__ import annotations

from dataclasses import replace

from rws_theory.claims.claim import Claim

# By id: the theorems, each by its file and name.
THEOREMS: dict[str, tuple[str, ...]] = {
    "T1-exclusive": ("Counterexamples.exactly_one_is_false",),
    "T1a-unique": ("Counterexamples.unique_is_false",),
    "T1b-printed": ("Counterexamples.printed_b_is_false",),
    "T1c-otherwise": ("GoldenRatio.printed_c_is_false", "Counterexamples.otherwise_is_false"),
    "T1-step4": ("Counterexamples.otherwise_is_false",),
    "T1-dimension": ("Theorem1.theorem_1_mended_to_three", "Counterexamples.theorem_1_mended_fails_from_four"),
    "N-order-invariance": ("OrderInvariance.order_invariance",),
    "D-crossing": ("GoldenRatio.golden_crossing",),
}


def marked(claim: Claim) -> Claim:
    """Return the claim with a sentence in its evidence that names its theorems, if it has any and was confirmed.

    >>> marked(Claim("D-crossing", "Appendix D.1", "...", "false", "Proved.")).evidence
    'Proved. Machine-checked in Coq (docs/proofs): GoldenRatio.golden_crossing.'
    """
    theorems = THEOREMS.get(claim.id)
    if theorems is None or claim.verdict == "not confirmed":
        return claim
    return replace(claim, evidence=f"{claim.evidence} Machine-checked in Coq (docs/proofs): {', '.join(theorems)}.")
