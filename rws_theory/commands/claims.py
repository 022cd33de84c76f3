"""`python -m rws_theory claims`: the ledger of the paper's statements."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap

from rws_theory.claims import CHECKS, Claim, claims

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="claims to check (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON list of records")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter  # argparse would break IDs at their hyphens
    parser.epilog = textwrap.fill("IDs: " + " ".join(CHECKS), 80, break_on_hyphens=False)


def run(args: argparse.Namespace) -> int:
    """Print the claims as they are checked; ValueError for an unknown id."""
    records = []
    for number, claim in enumerate(claims(args.ids or None), 1):
        if args.json:
            records.append(claim.as_dict())
            print(f"\r{number} of {len(args.ids) or len(CHECKS)} checked", end="", file=sys.stderr, flush=True)
        else:
            print(_as_text(claim), flush=True)
    if args.json:
        print(file=sys.stderr)
        print(json.dumps(records, indent=1))
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
