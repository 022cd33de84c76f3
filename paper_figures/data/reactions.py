"""Published reactions of organic chemistry: 600 of US patents, as canonical SMILES."""

from __future__ import annotations

import importlib.resources
import re

from rws_decode.common.files import parse_json
from rws_decode.text.alphabets import SMILES


def load_reactions() -> dict[str, list[str]]:
    """Load the reactions, each by its id as the tokens of `reactants>>product` (see REACTIONS.md).

    >>> "".join(load_reactions()["ORD-0009918"])[-32:]
    'CC(C)=CCCC(C)CC=CC(C)=CC(=O)[O-]'
    """
    shipped = importlib.resources.files("paper_figures.data") / "reactions.json"
    reactions = parse_json(shipped.read_text(encoding="utf-8"))["reactions"]
    return {name: re.findall(SMILES, text) for name, text in reactions.items()}
