"""Natural antibody chains: 472 heavy variable domains of mice."""

from __future__ import annotations

import importlib.resources
from dataclasses import dataclass

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
