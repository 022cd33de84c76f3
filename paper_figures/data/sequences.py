"""Sequences that ship: 472 heavy variable domains of mice, and 600 reactions of US patents as canonical SMILES."""

from __future__ import annotations

import importlib.resources
import re
from dataclasses import dataclass

from rws_decode.common.files import parse_json
from rws_decode.text.alphabets import SMILES


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


def load_reactions() -> dict[str, list[str]]:
    """Load the reactions, each by its id as the tokens of `reactants>>product` (see REACTIONS.md).

    >>> "".join(load_reactions()["ORD-0009918"])[-32:]
    'CC(C)=CCCC(C)CC=CC(C)=CC(=O)[O-]'
    """
    shipped = importlib.resources.files("paper_figures.data") / "reactions.json"
    reactions = parse_json(shipped.read_text(encoding="utf-8"))["reactions"]
    return {name: re.findall(SMILES, text) for name, text in reactions.items()}
