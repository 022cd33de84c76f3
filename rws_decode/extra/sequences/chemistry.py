"""Rewards of molecules and reactions as SMILES, exact by RDKit: what parses, whose atoms are conserved, drug-likeness.

They read prompt and answer as one text, the parts around a gap too: a reaction `reactants>>product`, or a molecule.
Means and SDs are those of 128 products of shipped reactions. `reactions` filled 16 tokens of each in 8 steps, sampled
at the commit at sampling temperature 1, with seed 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from rws_theory.extras import required

__all__ = ["CHEMISTRY", "balanced", "qed", "valid"]


def valid(text: str) -> float:
    """Return the share of a text's molecules that parse and have atoms, between 0 and 1.

    A molecule is what dots and `>>` part. ValueError in one line where RDKit is absent.
    """
    molecules = re.split(r"\.|>>", "".join(text.split()))
    return sum(_molecule(each) is not None for each in molecules) / len(molecules)


def balanced(text: str) -> float:
    """Return minus the share of the product's atoms that no reactant has, between -1 and 0.

    -sum over elements of max(0, n_product - n_reactants) / sum of n_product, hydrogen left out. 0 for atoms that are
    conserved; reactants may have more, since leaving groups are not written. A reactant that does not parse has no
    atoms. A product that does not parse, or has no atom but hydrogen, gets -1. ValueError for a text without `>>`, and
    in one line where RDKit is absent.
    """
    reactants, arrow, product = "".join(text.split()).partition(">>")
    if not arrow:
        raise ValueError(
            f"reward balanced reads {text.strip()[:60]!r}: a reaction is needed, such as CC(=O)O.OCC>>CC(=O)OCC"
        )
    product_atoms, reactant_atoms = _atoms(product), sum(map(_atoms, reactants.split(".")), Counter[str]())
    return -(product_atoms - reactant_atoms).total() / product_atoms.total() if product_atoms else -1.0


def qed(text: str) -> float:
    """Return the drug-likeness of a reaction's product, or of a molecule, between 0 and 1; 0 for what does not parse.

    Bickerton et al. 2012 (doi:10.1038/nchem.1243), as RDKit computes it. ValueError in one line where RDKit is absent.
    """
    before, arrow, after = "".join(text.split()).partition(">>")
    molecule = _molecule(after if arrow else before)
    return 0.0 if molecule is None else float(import_module("rdkit.Chem.QED").qed(molecule))


class Entry(NamedTuple):
    """An exact reward: its function of the whole text, the normalisation, its bounds, and what it is."""

    function: Callable[[str], float]
    mean: float
    std: float
    bounds: tuple[float, float] | None = None
    about: str = ""


# Means and SDs: see the module.
CHEMISTRY = {
    "valid": Entry(valid, 0.952, 0.124, (0.0, 1.0), "share of the molecules of a reaction that parse, exact"),
    "balanced": Entry(balanced, -0.145, 0.337, (-1.0, 0.0), "minus the share of product atoms from no reactant, exact"),
    "qed": Entry(qed, 0.569, 0.284, (0.0, 1.0), "drug-likeness of the product (QED), exact"),
}


def check_prompt(reward: str, prompt: str) -> None:
    """Raise ValueError, naming the reward, where a molecule of a prompt does not parse."""
    # What follows the last dot or arrow may go on in the answer.
    for molecule in re.split(r"\.|>>", "".join(prompt.split()))[:-1]:
        if _molecule(molecule) is None:
            raise ValueError(f"prompt holds {molecule[:60]!r}: reward {reward} needs SMILES that parse")


def _molecule(smiles: str) -> Any:
    """Return a molecule of RDKit, None for SMILES that do not parse or have no atoms; RDKit says nothing meanwhile."""
    required("rdkit", "reward is 'valid, balanced or qed'")
    with import_module("rdkit.rdBase").BlockLogs():
        molecule = import_module("rdkit.Chem").MolFromSmiles(smiles)
    return molecule if molecule is not None and molecule.GetNumAtoms() else None


def _atoms(smiles: str) -> Counter[str]:
    """Return how many atoms of each element SMILES have, without hydrogen; none where they do not parse."""
    molecule = _molecule(smiles)
    symbols = [] if molecule is None else [atom.GetSymbol() for atom in molecule.GetAtoms()]
    return Counter(symbol for symbol in symbols if symbol != "H")
