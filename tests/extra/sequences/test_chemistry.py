"""Rewards of reactions against molecules worked by hand, and what they say where RDKit is missing."""

import sys
from collections import Counter
from importlib.util import find_spec
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rws_decode import load_reward
from rws_decode.extra.sequences.chemistry import CHEMISTRY, balanced, valid

with_rdkit = pytest.mark.skipif(find_spec("rdkit") is None, reason="rdkit (make real)")

# Heavy atoms, counted by hand.
MOLECULES = {
    **{"CCO": "CCO", "OCC": "CCO", "c1ccccc1": "CCCCCC", "CC(=O)O": "CCOO", "[Na+]": ["Na"], "[H]C([H])=O": "CO"},
    **{"C[C@H](N)C(=O)O": "CCCNOO", "BrCCl": ["Br", "C", "Cl"], "[O-][N+](=O)c1ccccc1": "CCCCCCNOO"},
}
sides = st.lists(st.sampled_from(sorted(MOLECULES)), min_size=1, max_size=4)


def test_without_rdkit_each_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    for name in CHEMISTRY:
        with pytest.raises(ValueError, match=rf"^reward is '{name}': .* run pip install \"rws-toolkit\[chemistry\]\"$"):
            load_reward(name)


@with_rdkit
@pytest.mark.parametrize(
    ("text", "parses", "atoms"),
    [
        ("CC(=O)O.OCC>>CC(=O)OCC", 1, 0),  # an ester: water is not written
        ("CO>>CCO", 1, -1 / 3),  # one carbon of three atoms is from nowhere
        ("CBr>>CCl", 1, -1 / 2),
        ("C.C>>CC", 1, 0),
        ("C>>CC.O", 1, -2 / 3),
        ("CC(C>>CC", 1 / 2, -1),  # a reactant that does not parse has no atoms
        ("CC>>CC(", 1 / 2, -1),
        ("CC>>", 1 / 2, -1),
        ("CC>>[H][H]", 1, -1),
        ("C>>C>>C", 1, -1),
        ("C C>>C\nC", 1, 0),  # blanks are left out
        ("C(C)(C)(C)(C)C>>C", 1 / 2, -1),  # five bonds of a carbon
    ],
)
def test_molecules_worked_by_hand(text: str, parses: float, atoms: float) -> None:
    assert valid(text) == pytest.approx(parses) and balanced(text) == pytest.approx(atoms)


@with_rdkit
@given(sides, sides, st.randoms(), st.integers(0, 4))
def test_atoms_are_counted_in_any_order(left: list[str], right: list[str], rng: Random, cut: int) -> None:
    text = f"{'.'.join(left)}>>{'.'.join(right)}"
    given, made = (Counter(atom for each in side for atom in MOLECULES[each]) for side in (left, right))
    lacking = sum(max(0, number - given[atom]) for atom, number in made.items())
    assert (valid(text), balanced(text)) == (1.0, pytest.approx(-lacking / made.total()))
    assert balanced(f"{'.'.join(left)}>>{rng.choice(left)}") == 0
    mixed = ">>".join(".".join(rng.sample(side, len(side))) for side in (left, right))
    cut += text.index(">>") + 2
    for name, entry in CHEMISTRY.items():
        value = entry.function(text)
        assert entry.bounds[0] <= value <= entry.bounds[1]
        assert entry.function(mixed) == pytest.approx(value, abs=1e-9)
        assert load_reward(name).score([text[:cut]], [text[cut:]]) == [value]
