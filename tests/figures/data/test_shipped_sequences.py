"""The sequences that ship, and the prompts that are made of them: gaps, and what stood there."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.data import loaders
from paper_figures.data.prompt_sources import fill_gaps, with_gaps
from paper_figures.studies.prompts import prompts_of
from rws_decode.checkpoints import is_installed
from rws_decode.checkpoints.packages import PEPTIDES
from rws_decode.common.files import parse_json
from rws_decode.extra.sequences.alphabets import RESIDUES, SMILES
from rws_decode.extra.sequences.rewards import humanness
from rws_decode.text.dialogue import check_gaps, masks_in, parts_of

# Of humans: CR9114 (PDB 4FQI), FI6 (3ZTN) and Kol (2FB4).
HUMAN = "QVQLVQSGAEVKKPGSSVKVSCKSSGGTSNNYAISWVRQAPGQGLDWMGGISPIFGSTAYAQKFQGRVTISADIFSNTAY"  # CR9114, PDB 4FQI
HUMAN += "MELNSLTSEDTAVYFCARHGNYYYYSGMDVWGQGTTVTVSS"
# The example of promb's page, of which it says 0.7142857142857143.
PEMBROLIZUMAB = "QVQLVQSGVEVKKPGASVKVSCKASGYTFTNYYMYWVRQAPGQGLEWMGGINPSNGGTNF"
PEMBROLIZUMAB += "NEKFKNRVTLTTDSSTTTAYMELKSLQFDDTAVYYCARRDYRFDMGFDYWGQGTTVTVSS"
CHAINS = loaders.load_chains()
ROWS = parse_json((Path(loaders.__file__).parent / "antibodies.json").read_text(encoding="utf-8"))["chains"]


def test_the_chains_are_whole_different_and_nearer_to_a_mouse_than_to_a_human() -> None:
    assert len(CHAINS) == len(ROWS) == 472 and list(CHAINS) == sorted(CHAINS)
    for row in ROWS:
        assert set(row["sequence"]) <= set(RESIDUES) and 105 <= len(row["sequence"]) <= 130
        assert row["mouse"] >= 0.75 and row["mouse"] - row["human"] >= 0.099
    for one, other in combinations(CHAINS.values(), 2):
        if len(one) == len(other):
            equal = np.array(list(one)) == np.array(list(other))
            assert equal.mean() <= 0.96, (one, other)  # 0.95 where IMGT's numbers align them


@given(st.text(RESIDUES, min_size=1), st.data())
def test_a_sequence_with_gaps_and_what_stood_in_them_are_the_sequence(sequence: str, data: st.DataObject) -> None:
    positions = data.draw(st.sets(st.integers(0, len(sequence) - 1), min_size=1))
    text, answer = with_gaps(sequence, positions)
    check_gaps(text)
    assert masks_in(text) == len(answer) == len(positions)
    assert fill_gaps(text, answer) == sequence
    assert text.count("[MASK:") == sum(place - 1 not in positions for place in positions)


def test_prompts_are_chains_with_32_gaps_and_no_chain_is_in_both_parts() -> None:
    prompts = prompts_of("antibodies", 400, 64, model="antibody")
    parts = [prompts.test, prompts.validation]
    assert [len(part) for part in parts] == [400, 64]
    assert not {prompt.name for prompt in parts[0]} & {prompt.name for prompt in parts[1]}
    examples = [*parts[0], *parts[1]]
    assert len({prompt.name for prompt in examples}) == 464
    assert len({"".join(str(part if isinstance(part, int) else len(part)) for part in parts_of(prompt.text))
                for prompt in examples}) == 464  # fmt: skip
    for prompt in examples:
        assert masks_in(prompt.text) == len(prompt.labels["answer"]) == 32
        assert fill_gaps(prompt.text, prompt.labels["answer"]) == CHAINS[prompt.name]


def test_prompts_follow_the_seed_and_fewer_are_the_first_of_more() -> None:
    assert prompts_of("antibodies", 8, 4) == prompts_of("antibodies", 8, 4)
    assert prompts_of("antibodies", 8).test == prompts_of("antibodies", 20, 4).test[:8]
    assert prompts_of("antibodies", 8, seed=1).test != prompts_of("antibodies", 8).test
    assert {masks_in(prompt.text) for prompt in prompts_of("antibodies:60", 5).test} == {60}


@pytest.mark.skipif(not is_installed(PEPTIDES), reason="promb, peptides of humans (make real)")
def test_humanness_tells_a_chain_of_humans_from_those_of_mice() -> None:
    assert humanness(PEMBROLIZUMAB) == pytest.approx(0.7142857142857143, abs=1e-12)
    mice = np.array([humanness(sequence) for sequence in CHAINS.values()])
    human = humanness(HUMAN)
    assert human > 0.75 and np.median(mice) < 0.55 and (mice < human).mean() > 0.9


REACTIONS = loaders.load_reactions()


def test_prompts_are_reactions_with_gaps_in_the_product_and_none_is_in_both_parts() -> None:
    prompts = prompts_of("reactions", 500, 100)
    examples = [*prompts.test, *prompts.validation]
    assert {prompt.name for prompt in examples} == set(REACTIONS) and len(examples) == len(REACTIONS) == 600
    for prompt in examples:
        tokens = re.findall(SMILES, prompt.labels["answer"])
        assert fill_gaps(prompt.text, tokens) == "".join(REACTIONS[prompt.name])
        assert masks_in(prompt.text) == len(tokens) == 16 and ">>" in prompt.text.partition("[MASK")[0]
    assert {masks_in(prompt.text) for prompt in prompts_of("reactions:24", 3).test} == {24}
