"""Command line: ``python -m rws_theory crossings A B [--json]``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import __version__
from .crossings import Crossings, crossings


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and one line; argparse would print its usage first."""
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def _read_logits(text: str, name: str) -> NDArray[np.float64]:
    """Logits from a JSON list or from the path of a .npy file; ValueError names the argument."""
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name} must be a JSON list of logits, got {_shown(text)}: {error}") from None
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
            raise ValueError(f"{name} must be a JSON list of numbers, got {_shown(text)}")
        try:
            return np.array([float(v) for v in values])
        except OverflowError:
            raise ValueError(f"{name} must hold numbers within float64, got {_shown(text)}") from None
    if not text.endswith(".npy"):
        raise ValueError(f"{name} must be a JSON list of logits or the path of a .npy file, got {_shown(text)}")
    try:
        with open(text, "rb") as file:
            return np.lib.format.read_array(
                file, allow_pickle=False
            )  # unlike np.load, never tries an archive or a pickle
    except (OSError, EOFError, MemoryError, ValueError) as error:
        raise ValueError(f"{name} must be a readable .npy file of numbers, got {_shown(text)}: {error}") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _as_json(found: Crossings) -> dict[str, Any]:
    return {
        "dimension": found.dimension,
        "sigma": list(found.sigma),
        "delta": [u if math.isfinite(u) else None for u in found.delta],
        "sign_at_one": found.sign_at_one,
        "crossings": [{"lower": low, "upper": high, "multiplicity": None} for low, high in found.crossings],
        "count": found.count,
        "bound": found.bound,
        "complete": found.complete,
        "identical": found.identical,
    }


def _as_text(found: Crossings) -> str:
    relation = {-1: "P_a(1) < P_b(1)", 0: "P_a = P_b at every scale", 1: "P_a(1) > P_b(1)"}[found.sign_at_one]
    lines = [
        f"{found.dimension} logits; {relation}",
        f"a: total gap {found.sigma[0]:.6g}, smallest gap {found.delta[0]:.6g}",
        f"b: total gap {found.sigma[1]:.6g}, smallest gap {found.delta[1]:.6g}",
        *(
            f"crossing at r = {root:.12g}, in [{low!r}, {high!r}]"
            for root, (low, high) in zip(found.roots, found.crossings, strict=True)
        ),
        f"{found.count} found in [{found.window[0]:g}, {found.window[1]:g}], at most {found.bound} in (0, inf): "
        + ("these are all" if found.complete else "there may be more"),
    ]
    return "\n".join(lines)


def _parser() -> _Parser:
    parser = _Parser(
        prog="python -m rws_theory", description="Mathematics of logit scaling in masked diffusion decoding."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    command = commands.add_parser(
        "crossings",
        help="scales at which two positions exchange the order of their confidences",
        description="Scales r at which max softmax(r A) and max softmax(r B) are equal, each enclosed in a bracket.",
    )
    for name in ("A", "B"):
        command.add_argument(name, help="JSON list of logits (-Infinity: a forbidden token) or path of a .npy file")
    command.add_argument("--lower", type=float, default=1e-3, help="least scale searched (default: %(default)g)")
    command.add_argument("--upper", type=float, default=1e3, help="greatest scale searched (default: %(default)g)")
    command.add_argument("--points", type=int, default=512, help="number of scales tried (default: %(default)d)")
    command.add_argument(
        "--json", action="store_true", help="print one JSON object; delta is null where there is no second token"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, SystemExit(2) with one line on standard error for bad input."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        found = crossings(
            _read_logits(arguments.A, "A"),
            _read_logits(arguments.B, "B"),
            arguments.lower,
            arguments.upper,
            points=arguments.points,
        )
    except ValueError as error:
        parser.error(str(error))
    print(json.dumps(_as_json(found), allow_nan=False) if arguments.json else _as_text(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
