"""The form of a claim: what the paper states and where, and the verdict of a check."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from importlib.resources import files
from textwrap import shorten
from typing import Any, Literal, NamedTuple

from rws_theory.show import table_html

Verdict = Literal["true", "false", "true with correction", "not about RWS", "inconsistent unless", "not confirmed"]
PAPER, REMARKS, OURS = "statements of the paper", "our remarks on its tables", "our results"


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, and the verdict of its check.

    where: section, table or line that states it. statement: in the notation of `rws_theory.crossings`, for finite
    logits. evidence: what was proved, computed or enumerated. counterexample: the smallest one in exact form; None
    unless refuted. correction: the corrected statement, proved in docs/theory.md; None if not needed.

    verdict: "true": as stated. "true with correction": after the change in `correction`. "false": `counterexample`
    refutes it. "not about RWS": true of something that the algorithm does not do. "inconsistent unless": printed
    numbers contradict each other, unless what `correction` says. "not confirmed": its check failed, which should never
    happen.
    """

    id: str
    where: str
    statement: str
    verdict: Verdict
    evidence: str
    counterexample: str | None = None
    correction: str | None = None

    def __post_init__(self) -> None:
        if self.verdict in ("true", "not confirmed"):  # a check says what refutes and corrects without asking whether
            object.__setattr__(self, "counterexample", None)
            object.__setattr__(self, "correction", None)

    def __repr__(self) -> str:
        return f"Claim({self.id}, {self.verdict}: {shorten(self.statement, 70, placeholder=' ...')!r})"

    def _repr_html_(self) -> str:
        shown = ("where", "statement", "evidence", "counterexample", "correction")
        rows = [(name, text) for name, text in self.as_dict().items() if name in shown and text is not None]
        return table_html((), rows, f"Claim {self.id}: {self.verdict}")

    def as_dict(self) -> dict[str, str | None]:
        """Return the claim as JSON has it."""
        return asdict(self)


def source(where: str) -> str:
    """Return the author of a statement, by its `where`; ours count neither for nor against the paper.

    >>> source("Table 1"), source("Ours, on Table 1"), source("Known (arXiv 2511.04647)")
    ('statements of the paper', 'our remarks on its tables', 'our results')
    """
    if not where.startswith(("Ours", "Known")):
        return PAPER
    return REMARKS if where.startswith("Ours, on Table") else OURS


class Finding(NamedTuple):
    """The result of a check; `correction` only if it has numbers, as others are in statements.json."""

    verdict: Verdict
    evidence: str
    counterexample: str | None = None
    correction: str | None = None


Check = Callable[[], Claim]
# What the paper and our own results state, by id: where, in which words, what holds instead, and the theorems of
# docs/proofs that a proof assistant has checked of it, each by its file and name (`make prove`).
STATEMENTS: dict[str, dict[str, Any]] = json.loads(
    files("rws_theory.claims").joinpath("statements.json").read_text(encoding="utf-8")
)


def named(id: str, check: Callable[[], Finding]) -> Check:
    """Return a check with the statement of its id, and the theorems that a proof assistant has checked."""

    @wraps(check)
    def of_ledger() -> Claim:
        row, found = STATEMENTS[id], check()
        evidence, correction = found.evidence, found.correction or row.get("correction")
        if "theorems" in row and found.verdict != "not confirmed":
            evidence += f" Machine-checked in Coq (docs/proofs): {', '.join(row['theorems'])}."
        return Claim(id, row["where"], row["statement"], found.verdict, evidence, found.counterexample, correction)

    return of_ledger
