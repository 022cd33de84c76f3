"""The code cites the proofs of docs/theory.md by numbers that exist there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rws_decode
import rws_theory

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
# An equation is a line, indented as a formula, that ends with its number.
EQUATIONS = [int(number) for number in re.findall(r"^ {4}.*\(T(\d+)\)$", PAGE, re.MULTILINE)]
CODE = sorted(path for package in (rws_theory, rws_decode) for path in Path(str(package.__file__)).parent.rglob("*.py"))


def cited(text: str) -> set[int]:
    """Return the equations that a text cites."""
    return {int(number) for number in re.findall(r"\(T(\d+)\)", text)}


def test_equations_are_numbered_in_order_without_gaps() -> None:
    expected = list(range(1, len(EQUATIONS) + 1))
    assert expected == EQUATIONS and len(expected) > 50


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in CODE])
def test_every_citation_is_on_the_page(path: Path) -> None:
    assert cited(path.read_text(encoding="utf-8")) <= set(EQUATIONS)


def test_sections_that_are_cited_are_on_the_page() -> None:
    sections = {int(number) for number in re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)}
    text = " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in CODE)
    named = {int(number) for number in re.findall(r"docs/theory\.md, (?:end of )?sections? (\d+)", text)}
    assert named and named <= sections


def test_the_page_cites_only_its_own_equations_and_claims_of_the_ledger() -> None:
    from rws_theory.claims import CHECKS

    assert cited(PAGE) <= set(EQUATIONS)
    ids = set(re.findall(r"`((?:AB|S\d|S52|T\d[abc]?|GOD|A|D|C1|TAB|N)-[a-z0-9-]+)`", PAGE))
    assert ids and ids <= set(CHECKS)
