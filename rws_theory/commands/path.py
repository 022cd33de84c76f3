"""`rws path LOGITS --k K --scale-min X --scale-max Y`: the positions selected at every scale."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rws_theory.commands.options import option

if TYPE_CHECKING:
    from rws_theory.selection import SelectionPath


@dataclass(frozen=True)
class PathOptions:
    """The logits, how many positions are selected, and the range of scales."""

    logits: str = option(
        help=".npy file of shape (positions, vocabulary); -inf forbids a token", metavar="LOGITS", positional=True
    )
    k: int = option(help="number of positions selected at each scale", metavar="K")
    scale_min: float = option(help="least scale, positive", metavar="X")
    scale_max: float = option(help="greatest scale, at least X", metavar="Y")
    json: bool = option(False, "print one JSON object")

    def __post_init__(self) -> None:
        if not 0 < self.scale_min <= self.scale_max < math.inf:
            given = f"{self.scale_min} and {self.scale_max}"
            raise ValueError(f"--scale-min and --scale-max must satisfy 0 < X <= Y < inf, got {given}")


def run(options: PathOptions) -> int:
    """Print the selection path; ValueError for input that cannot be used."""

    from rws_theory.commands.crossings import read_npy
    from rws_theory.selection import selection_path

    path = selection_path(read_npy(options.logits, "LOGITS"), options.k, options.scale_min, options.scale_max)
    print(json.dumps(_as_json(path), allow_nan=False) if options.json else _as_text(path))
    return 0


def _as_json(path: SelectionPath) -> dict[str, Any]:
    pieces = [{"lower": p.lower, "upper": p.upper, "selected": list(p.selected)} for p in path.pieces]
    return {"k": path.k, "pieces": pieces, "certified": path.certified}


def _as_text(path: SelectionPath) -> str:
    lines = [
        f"scales {p.lower:.12g} to {p.upper:.12g}: positions {', '.join(map(str, p.selected)) or 'none'}"
        for p in path.pieces
    ]
    lines += [
        f"{'the set changes' if b.breakpoint else 'not proved'} in [{b.lower!r}, {b.upper!r}]" for b in path.brackets
    ]
    verdict = "certified at every scale" if path.certified else "not certified everywhere"
    how = f"by {path.certificate}, from {path.evaluations} evaluations"
    return "\n".join([*lines, f"{verdict} ({how}; positions count from 0)"])
