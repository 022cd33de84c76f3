"""`python -m rws_theory bench`: speed of the certified crossings, and miscounts of other root finders."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rws_theory.bench import bench

__all__ = ["add_arguments", "run"]

_SECONDS_PAIRS = 5.0  # what is aimed at, on one core; for a pair at vocabulary size it is one second


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    parser.add_argument("--pairs", type=int, default=100_000, help="random pairs to classify (default: %(default)d)")
    parser.add_argument(
        "--vocabulary", type=int, default=126_464, help="size of the large pairs (default: %(default)d)"
    )
    parser.add_argument("--per-kind", type=int, default=12, help="hard pairs of each kind (default: %(default)d)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default: %(default)d)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the table; ValueError for input that cannot be used."""
    result = bench(args.pairs, vocabulary=args.vocabulary, per_kind=args.per_kind, seed=args.seed)
    print(json.dumps(result, allow_nan=False) if args.json else _as_text(result))
    return 0


def _as_text(result: dict[str, Any]) -> str:
    pairs, large = result["pairs"], result["vocabulary"]
    lines = [
        "CPU seconds of one process",
        f"{pairs['pairs']} pairs of d = {pairs['dimension']}: {pairs['seconds']:.2f} s"
        f" = {pairs['seconds'] / _SECONDS_PAIRS:.2f} of the {_SECONDS_PAIRS:g} s aimed at for 100000;"
        f" one by one {pairs['one_by_one'] / pairs['seconds']:.0f} x that; proved: {pairs['proved']}",
        "  decided by " + ", ".join(f"{name} {n}" for name, n in pairs["decided_by"].items()),
    ]
    for name in ("unrelated", "equal totals"):
        one = large[name]
        lines.append(
            f"one pair of d = {large['dimension']}, {name}: {one['seconds']:.2f} s"
            f" = {one['seconds']:.2f} of the 1 s aimed at;"
            f" {one['count']} crossings, bound {one['bound']}, {'proved' if one['complete'] else 'not proved'}"
            f" ({one['certificate']})"
        )
    lines.append(f"{'hard corpus':12}{'wrong':>8}{'of':>6}{'seconds':>10}{'ratio':>8}  wrong by kind")
    ours = result["corpus"][0]["seconds"]
    for row in result["corpus"]:
        if row["seconds"] is None:
            lines.append(f"{row['solver']:12}  not installed; run pip install \"rws-toolkit[certify]\"")
            continue
        kinds = ", ".join(f"{kind} {n}" for kind, n in row["wrong_by_kind"].items())
        numbers = f"{row['wrong']:8}{row['pairs']:6}{row['seconds']:10.2f}{row['seconds'] / ours:8.1f}"
        lines.append(f"{row['solver']:12}{numbers}  {kinds}".rstrip())
    return "\n".join(lines)
