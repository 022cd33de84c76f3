"""`python -m rws_theory path LOGITS --k K --scale-min X --scale-max Y`: the positions selected at every scale."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from rws_theory.commands.arrays import read_npy
from rws_theory.selection import SelectionPath, selection_path

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    parser.add_argument("logits", metavar="LOGITS", help=".npy file of shape (positions, vocabulary); -inf: forbidden")
    parser.add_argument("--k", type=int, required=True, help="number of positions selected at each scale")
    parser.add_argument("--scale-min", type=float, required=True, metavar="X", help="least scale, positive")
    parser.add_argument("--scale-max", type=float, required=True, metavar="Y", help="greatest scale, at least X")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the selection path; ValueError for input that cannot be used."""
    if not 0 < args.scale_min <= args.scale_max < math.inf:
        given = f"{args.scale_min} and {args.scale_max}"
        raise ValueError(f"--scale-min and --scale-max must satisfy 0 < X <= Y < inf, got {given}")
    path = selection_path(read_npy(args.logits, "LOGITS"), args.k, args.scale_min, args.scale_max)
    print(json.dumps(_as_json(path), allow_nan=False) if args.json else _as_text(path))
    return 0


def _as_json(path: SelectionPath) -> dict[str, Any]:
    pieces = [{"lower": p.lower, "upper": p.upper, "selected": list(p.selected)} for p in path.pieces]
    return {"k": path.k, "pieces": pieces, "certified": path.certified}


def _as_text(path: SelectionPath) -> str:
    lines = [
        f"scales {p.lower:.12g} to {p.upper:.12g}: positions {', '.join(map(str, p.selected)) or 'none'}"
        for p in path.pieces
    ]
    lines += [f"{'set changes' if b.breakpoint else 'not proved'} in [{b.lower!r}, {b.upper!r}]" for b in path.brackets]
    verdict = "certified" if path.certified else "not certified everywhere"
    return "\n".join([*lines, f"{verdict} ({path.certificate}; {path.evaluations} values of log F)"])
