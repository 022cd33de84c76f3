"""Sequences that ship: 472 heavy variable domains of mice, and 600 reactions of US patents as canonical SMILES."""

from __future__ import annotations

import importlib.resources
import re

from rws_decode.common.files import parse_json
from rws_decode.text.alphabets import SMILES


def load_chains() -> dict[str, str]:
    """Load the residues of each mouse chain by its PDB entry and chain, in the order of these (see ANTIBODIES.md).

    >>> len(load_chains()), [*load_chains().values()][2][:20]
    (472, 'QVQLQESGPGLVAPSQSLSI')
    """
    shipped = importlib.resources.files("paper_figures.data") / "antibodies.json"
    return {row["id"]: row["sequence"] for row in parse_json(shipped.read_text(encoding="utf-8"))["chains"]}


def load_reactions() -> dict[str, list[str]]:
    """Load the reactions, each by its id as the tokens of `reactants>>product` (see REACTIONS.md).

    >>> "".join(load_reactions()["ORD-0009918"])[-32:]
    'CC(C)=CCCC(C)CC=CC(C)=CC(=O)[O-]'
    """
    shipped = importlib.resources.files("paper_figures.data") / "reactions.json"
    reactions = parse_json(shipped.read_text(encoding="utf-8"))["reactions"]
    return {name: re.findall(SMILES, text) for name, text in reactions.items()}
