"""Objects say what they are in one line, and as a table that any page may hold."""

import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rws_theory as theory
from rws_theory import Crossing, Crossings, SelectionPath
from rws_theory.claims import Claim
from rws_theory.selection import Bracket, Piece
from rws_theory.show import table_html
from rws_theory.theorem1 import theorem1
from rws_theory.worlds import NGram, frontier

PAIR = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]
WORLD = NGram.fit([[0, 1, 0, 1, 0, 2, 2, 1]], order=3, vocabulary=3)
FRONTIER = frontier(WORLD, [0.0, 0.0, 1.0], 12, beta=5.0)
HARD = theorem1([0, -1, Fraction(-7, 2), Fraction(-7, 2)], [0, Fraction(-3, 2), Fraction(-3, 2), -6.5])
OPEN = Crossings(4, (1.0, 2.0), (0.1, 0.2), 1, (Crossing(0.5, 0.6, None, 0.55),), 2, False, False, "ball")
NOT_PROVED = SelectionPath(1, (Piece(0.5, 2.0, (0,)),), (Bracket(0.5, 1.0, False),), False, "float64 error bound", 9)

SAID = {
    "one crossing": (theory.crossings(*PAIR), "Crossings(1 at 4.8121, all proved)"),
    "open": (OPEN, "Crossings(1 at 0.5 to 0.6 (a cluster), not all proved)"),
    "path": (theory.selection_path(PAIR, 1, 0.01, 32.0), "SelectionPath(k=1, 2 pieces over [0.01, 32], certified)"),
    "open path": (NOT_PROVED, "SelectionPath(k=1, 1 piece over [0.5, 2], 1 bracket not proved)"),
    "tilt": (
        WORLD.tilt([0.0, 0.0, 1.0], 2.0).tilt(np.eye(3), -0.5),
        "NGram(order=3, vocabulary=3, states=7, arcs=10, tilted by word rewards (beta 2), pair rewards (beta -0.5))",
    ),
    "frontier": (FRONTIER, "Frontier(6 texts, reward 0 to 12, log p -4.4477 to -17.058, complete)"),
    "verdict": (
        HARD,
        "Theorem1Verdict(printed fails (exclusive), mended fails (exclusive), corrected holds; "
        "crossings: 1 below 1, 1 above)",
    ),
    "claim": (
        Claim("D-gaps", "Appendix D.1", "a < b. " * 30, "true", "By <exact> arithmetic & search."),
        f"Claim(D-gaps, true: '{'a < b. ' * 9}a < ...')",
    ),
}
HTML = {name: value for name, (value, _) in SAID.items() if hasattr(value, "_repr_html_")}
TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"), max_size=20)


def tree(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


@pytest.mark.parametrize("name", SAID)
def test_an_object_says_in_one_short_line_what_it_is(name: str) -> None:
    value, text = SAID[name]
    assert repr(value) == text and len(text) <= 120


@given(theory.testing.logit_pairs(), theory.testing.selection_cases())
def test_results_of_any_input_say_what_they_are_in_one_line(pair: Any, case: Any) -> None:
    for value in (
        theory.crossings(*pair),
        theory.selection_path(*case),
        theory.classify_pairs(*(row[None] for row in pair)),
    ):
        assert "\n" not in repr(value) and len(repr(value)) <= 160
        tree(value._repr_html_())


@pytest.mark.parametrize("name", HTML)
def test_a_table_is_whole_and_has_neither_script_nor_colours(name: str) -> None:
    html = HTML[name]._repr_html_().replace("&#x27;", "'")
    table = tree(html)
    assert {node.tag for node in table.iter()} <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert {key for node in table.iter() for key in node.attrib} <= {"style", "colspan"}
    assert "background" not in html and html.count("color:") == html.count("color: inherit") and "#" not in html


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3), TEXT, TEXT)
def test_whatever_the_texts_they_are_text(rows: list[tuple[str, str]], name: str, caption: str) -> None:
    table = tree(table_html((name, "<b>"), rows, caption))
    assert [cell.text or "" for cell in table.iter("th")] == [name, "<b>"]
    assert [cell.text or "" for cell in table.iter("td")] == [text for row in rows for text in row]
    assert [node.text for node in table.iter("caption")] == ([caption] if caption else [])
