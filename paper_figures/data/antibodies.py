"""Natural antibody chains: 472 heavy variable domains of mice, and how residues of one become gaps of a prompt."""

from __future__ import annotations

import importlib.resources
from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby

from rws_decode.common.files import parse_json


@dataclass(frozen=True)
class Chain:
    """A heavy variable domain: its PDB entry and chain, its residues, and its identity to the nearest V genes.

    mouse, human: shares of equal residues at IMGT positions 1 to 104, as ANTIBODIES.md describes.
    """

    id: str
    sequence: str
    mouse: float
    human: float


def load_chains() -> tuple[Chain, ...]:
    """Load the mouse chains, in the order of their ids (see ANTIBODIES.md).

    >>> len(load_chains()), load_chains()[2].sequence[:20]
    (472, 'QVQLQESGPGLVAPSQSLSI')
    """
    shipped = importlib.resources.files("paper_figures.data") / "antibodies.json"
    return tuple(Chain(**row) for row in parse_json(shipped.read_text(encoding="utf-8"))["chains"])


def with_gaps(sequence: str, positions: Collection[int]) -> tuple[str, str]:
    """Return a sequence with the residues at some positions, from 0, as gaps [MASK:n], and these residues in order.

    >>> with_gaps("EVQLVES", [1, 2, 6])
    ('E[MASK:2]LVE[MASK:1]', 'VQS')
    """
    parts = []
    for masked, run in groupby(range(len(sequence)), lambda at: at in positions):
        residues = "".join(sequence[at] for at in run)
        parts.append(f"[MASK:{len(residues)}]" if masked else residues)
    return "".join(parts), "".join(sequence[at] for at in sorted(positions))
