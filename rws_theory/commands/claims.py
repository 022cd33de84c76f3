"""`rws claims`: the ledger of the paper's statements."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rws_theory.commands.options import option
from rws_theory.commands.progress import each

if TYPE_CHECKING:
    from rws_theory.claims import Claim


@dataclass(frozen=True)
class ClaimsOptions:
    """Which claims are checked, and what is printed."""

    ids: tuple[str, ...] = option((), "claims to check, such as D-gaps (default: all)", metavar="ID", positional=True)
    list: bool = option(False, "print the ids of all claims and check nothing")
    json: bool = option(False, "print one JSON list of records")


def run(options: ClaimsOptions) -> int:
    """Print the claims as they are checked; ValueError for an unknown id."""
    from rws_theory.claims import CHECKS, OURS, PAPER, REMARKS, claims, source

    if options.list:
        print(json.dumps(list(CHECKS)) if options.json else "\n".join(CHECKS))
        return 0
    checked = claims(options.ids or None)
    if options.json:
        shown = each(checked, "claims", len(set(options.ids)) or len(CHECKS), "claim")
        print(json.dumps([claim.as_dict() for claim in shown], indent=1))
    else:
        verdicts = {author: Counter[str]() for author in (PAPER, REMARKS, OURS)}
        for claim in checked:
            print(_as_text(claim), flush=True)
            verdicts[source(claim.where)][claim.verdict] += 1
        for author, counts in verdicts.items() if not options.ids else ():
            numbers = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
            print(f"{author.capitalize()} ({counts.total()}): {numbers}.")
    return 0


def _as_text(claim: Claim) -> str:
    parts = [f"{claim.id}: {claim.verdict.upper()}   ({claim.where})"]
    for label, text in (
        ("says", claim.statement),
        ("found", claim.evidence),
        ("counterexample", claim.counterexample),
        ("instead", claim.correction),
    ):
        if text is not None:
            parts.append(textwrap.fill(f"{label}: {text}", 110, initial_indent="  ", subsequent_indent="    "))
    return "\n".join(parts) + "\n"
