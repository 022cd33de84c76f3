"""The reactions that ship, and the prompts that are made of them: products with gaps, and what stood there."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest
from documented_commands import snippets

from paper_figures.data.reactions import load_reactions
from paper_figures.studies.design.prompts import prompts_of
from rws_decode.checkpoints.packages import PACKAGED, is_installed
from rws_decode.text.alphabets import SMILES
from rws_decode.text.gaps import fill_gaps, masks_in

REACTIONS = load_reactions()


def test_prompts_are_reactions_with_gaps_in_the_product_and_none_is_in_both_parts() -> None:
    prompts = prompts_of("reactions", 500, 100)
    asked = [*prompts.test, *prompts.validation]
    assert {prompt.name for prompt in asked} == set(REACTIONS) and len(asked) == len(REACTIONS) == 600
    for prompt in asked:
        tokens = re.findall(SMILES, prompt.labels["answer"])
        assert fill_gaps(prompt.text, tokens) == "".join(REACTIONS[prompt.name])
        assert masks_in(prompt.text) == len(tokens) == 16 and ">>" in prompt.text.partition("[MASK")[0]
    assert {masks_in(prompt.text) for prompt in prompts_of("reactions:24", 3).test} == {24}
    with pytest.raises(ValueError, match=r"^data is 'reactions:25': reactions:N is needed, N tokens of the product of"):
        prompts_of("reactions:25", 3)


@pytest.mark.skipif(find_spec("rdkit") is None, reason="rdkit (make real)")
def test_the_reactions_are_canonical_and_most_of_them_balanced() -> None:
    from rdkit import Chem

    from rws_decode.rewards.chemistry import balanced, valid

    texts = ["".join(tokens) for tokens in REACTIONS.values()]
    assert all(valid(text) == 1 for text in texts) and sum(balanced(text) == 0 for text in texts) == 572
    for text in texts:
        left, product = text.split(">>")
        assert Chem.CanonSmiles(product) == product not in left.split(".") and not re.search(r":\d+\]", text)


@pytest.mark.skipif(not find_spec("rdkit") or not is_installed(PACKAGED["reactions-small"]), reason="rdkit (make real)")
def test_the_guides_comparison_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = snippets("docs/guides/reactions.md")
    names: dict[str, object] = {}
    exec(code.replace('"reactions", 200', '"reactions", 4').replace('("reactions")', '("reactions-small")'), names)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == names["methods"] and lines[0].endswith(" 4 4")
