"""`python -m rws_theory bench-crossings`: the speed of certified crossings, and the errors of other root finders."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import Any

from rws_theory.commands.options import add_options, option, read_options

_SECONDS_PAIRS = 5.0  # the goal on one core; for one pair at vocabulary size the goal is one second


@dataclass(frozen=True)
class BenchOptions:
    """What is measured."""

    pairs: int = option(100_000, "random pairs to classify", least=1)
    vocabulary: int = option(126_464, "size of the large pairs", least=2)
    per_kind: int = option(12, "hard pairs of each kind", least=1)
    seed: int = option(0, "seed of all random numbers", least=0)
    json: bool = option(False, "print one JSON object")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    add_options(parser, BenchOptions)


def run(args: argparse.Namespace) -> int:
    """Measure and print the table; ValueError for input that cannot be used."""
    from rws_theory.bench import bench

    options = read_options(BenchOptions, args)
    result = bench(options.pairs, options.vocabulary, options.per_kind, options.seed)
    print(json.dumps(result, allow_nan=False) if options.json else _as_text(result))
    return 0


def _as_text(result: dict[str, Any]) -> str:
    pairs, large = result["pairs"], result["vocabulary"]
    lines = [
        "CPU seconds of one process",
        f"{pairs['pairs']} pairs of d = {pairs['dimension']}: {pairs['seconds']:.2f} s"
        f" = {pairs['seconds'] / _SECONDS_PAIRS:.2f} of the goal, {_SECONDS_PAIRS:g} s for 100000;"
        f" one by one {pairs['one_by_one'] / pairs['seconds']:.0f} x that; proved: {pairs['proved']}",
        "  decided by " + ", ".join(f"{name} {n}" for name, n in pairs["decided_by"].items()),
    ]
    for name in ("unrelated", "equal totals"):
        pair = large[name]
        lines.append(
            f"one pair of d = {large['dimension']}, {name}: {pair['seconds']:.2f} s"
            f" = {pair['seconds']:.2f} of the goal, 1 s;"
            f" {pair['count']} crossings, bound {pair['bound']}, {'proved' if pair['complete'] else 'not proved'}"
            f" ({pair['certificate']})"
        )
    lines.append(f"{'hard corpus':12}{'wrong':>8}{'of':>6}{'seconds':>10}{'ratio':>8}  wrong by kind")
    ours = result["corpus"][0]["seconds"]
    for row in result["corpus"]:
        if row["seconds"] is None:
            lines.append(f'{row["solver"]:12}  not installed; run pip install "rws-toolkit[certify]"')
            continue
        kinds = ", ".join(f"{kind} {n}" for kind, n in row["wrong_by_kind"].items())
        numbers = f"{row['wrong']:8}{row['pairs']:6}{row['seconds']:10.2f}{row['seconds'] / ours:8.1f}"
        lines.append(f"{row['solver']:12}{numbers}  {kinds}".rstrip())
    return "\n".join(lines)
