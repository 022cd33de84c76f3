"""Objects say what they are in one line, and as a table that any page may hold."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rws_theory import classify_pairs, crossings, footrule_distribution, order_test, selection_path, testing
from rws_theory.certified.enclosures import Crossing
from rws_theory.claims import Claim
from rws_theory.crossings import Crossings
from rws_theory.selection import Bracket, Piece, SelectionPath
from rws_theory.show import table_html
from rws_theory.theorem1 import theorem1
from rws_theory.worlds import JointTable, MarkovChain, NGram, frontier, keywords

CLOSED = np.array([[0.0, -np.inf], [0.0, 0.0]])
WORLD = NGram.fit([[0, 1, 0, 1, 0, 2, 2, 1]], order=3, vocabulary=3)
FRONTIER = frontier(WORLD, [0.0, 0.0, 1.0], 12, beta=5.0)
HARD = theorem1([0, -1, Fraction(-7, 2), Fraction(-7, 2)], [0, Fraction(-3, 2), Fraction(-3, 2), -6.5])
TANGENCY = [0, *[0] * 1, *[-2] * 22, *[-4] * 9], [0, *[-1] * 8, *[-3] * 24]
OPEN = Crossings(4, (1.0, 2.0), (0.1, 0.2), 1, (Crossing(0.5, 0.6, None, 0.55),), 2, False, False, "ball")
NOT_PROVED = SelectionPath(1, (Piece(0.5, 2.0, (0,)),), (Bracket(0.5, 1.0, False),), False, "float64 error bound", 9)

SAID = {
    "one crossing": (crossings([1.1, 0.6, 0.3], [1.0, 0.4, 0.4]), "Crossings(1 at 4.8121, all proved)"),
    "open": (OPEN, "Crossings(1 at 0.5 to 0.6 (a cluster), not all proved)"),
    "one of them": (crossings([1.1, 0.6, 0.3], [1.0, 0.4, 0.4]).crossings[0], "Crossing(4.8121)"),
    "path": (
        selection_path([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], 1, 0.01, 32.0),
        "SelectionPath(k=1, 2 pieces over [0.01, 32], certified)",
    ),
    "open path": (NOT_PROVED, "SelectionPath(k=1, 1 piece over [0.5, 2], 1 bracket not proved)"),
    "piece": (NOT_PROVED.pieces[0], "Piece(0.5 to 2: positions 0)"),
    "bracket": (NOT_PROVED.brackets[0], "Bracket(0.5 to 1, relative width 0.5: not proved)"),
    "pairs": (
        classify_pairs([[1.1, 0.6, 0.3], [2.0, 1.0, 0.0]], [[1.0, 0.4, 0.4], [3.0, 1.0, 0.0]]),
        "PairClasses(2 pairs, 1 cross, up to 1 crossing, all proved)",
    ),
    "null": (footrule_distribution(3), "FootruleDistribution(3 values, 0 to 1.3333, mean 0.88889)"),
    "tilt": (
        WORLD.tilt([0.0, 0.0, 1.0], 2.0).tilt(np.eye(3), -0.5),
        "NGram(order=3, vocabulary=3, states=7, arcs=10, tilted by word rewards (beta 2), pair rewards (beta -0.5))",
    ),
    "keywords": (WORLD.tilt(keywords([[0, 1]], 3), 3.0).weights, "Tilt(automaton of 5 states (beta 3))"),
    "frontier": (FRONTIER, "Frontier(6 texts, reward 0 to 12, log p -4.4477 to -17.058, complete)"),
    "its end": (
        FRONTIER.points[-1],
        "FrontierPoint(beta 1.4768, log p -17.058, reward 12, tokens 2, 2, 2, 2, 2, 2, 2, 2, ... (12 in all))",
    ),
    "table": (JointTable(CLOSED), "JointTable(length=2, vocabulary=2, 3 of 4 possible)"),
    "chain": (MarkovChain(np.zeros(2), CLOSED), "MarkovChain(vocabulary=2, 3 of 4 steps possible)"),
    "verdict": (
        HARD,
        "Theorem1Verdict(printed fails (exclusive), mended fails (exclusive), corrected holds; "
        "crossings: 1 below 1, 1 above)",
    ),
    "clause": (HARD.mended[1], "Clause(a, holds: 'one crossing in (0, 1), P^a < P^b below it')"),
    "parity": (
        HARD.parity,
        "Parity(ahead: b near 0, a at 1, b near infinity; crossings: odd below 1, odd above)",
    ),
    "test": (
        order_test([1, 0, 2, 3, 5, 4, 6, 7], alternative="less"),
        "OrderTest(GOD 0.5, random 2.625 +- 0.64952, z -3.27, p 0.00102 less, exact)",
    ),
    "claim": (
        Claim("D-gaps", "Appendix D.1", "a < b. " * 30, "true", "By <exact> arithmetic & search."),
        f"Claim(D-gaps, true: '{'a < b. ' * 9}a < ...')",
    ),
}
HTML = {name: value for name, (value, _) in SAID.items() if hasattr(value, "_repr_html_")}


@pytest.mark.parametrize("name", SAID)
def test_an_object_says_in_one_short_line_what_it_is(name: str) -> None:
    value, said = SAID[name]
    assert repr(value) == said
    assert len(said) <= 120


@given(testing.logit_pairs(), testing.selection_cases())
def test_results_of_any_input_say_what_they_are_in_one_line(pair: Any, case: Any) -> None:
    for value in (crossings(*pair), selection_path(*case), classify_pairs(*(row[None] for row in pair))):
        assert "\n" not in repr(value) and len(repr(value)) <= 160
        tree(value._repr_html_())


def test_the_objects_that_have_a_table_show_it() -> None:
    named = {type(value).__name__ for value in HTML.values()}
    assert named == {"Claim", "Crossings", "Frontier", "OrderTest", "PairClasses", "SelectionPath", "Theorem1Verdict"}


@pytest.mark.parametrize("name", HTML)
def test_a_table_is_whole_and_has_neither_script_nor_colours(name: str) -> None:
    html = HTML[name]._repr_html_().replace("&#x27;", "'")
    table = tree(html)
    assert {node.tag for node in table.iter()} <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert {key for node in table.iter() for key in node.attrib} <= {"style", "colspan"}
    assert "background" not in html and html.count("color:") == html.count("color: inherit") and "#" not in html


def test_a_table_has_what_its_object_says() -> None:
    path = selection_path([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], 1, 0.01, 32.0)
    cells = [[cell.text for cell in row] for row in tree(path._repr_html_()).iter("tr")]
    assert cells == [
        ["from scale", "to scale", "positions", "new", "gone"],
        ["0.01", "4.8121", "0", None, None],
        ["4.8121", "32", "1", "1", "0"],
    ]
    pairs = classify_pairs([[1.1, 0.6, 0.3], [2.0, 1.0, 0.0]], [[1.0, 0.4, 0.4], [3.0, 1.0, 0.0]])
    cells = [[cell.text for cell in row] for row in tree(pairs._repr_html_()).iter("tr")]
    assert cells == [["crossings", "pairs", "by bound", "by parity"], ["0", "1", "1", "0"], ["1", "1", "0", "1"]]


def test_the_table_of_a_verdict_has_every_clause() -> None:
    cells = [[cell.text for cell in row] for row in tree(HARD._repr_html_()).iter("tr")][1:]
    assert [row[0] for row in cells] == ["exclusive", "a", "b", "c", "low", "high", "none"]
    assert [row[2:] for row in cells[:4]] == [
        ["fails", "fails"],
        ["holds", "holds"],
        ["does not apply", "holds"],
        ["does not apply", "does not apply"],
    ]
    assert [row[2:] for row in cells[4:]] == [[None, "holds"], [None, "holds"], [None, "does not apply"]]


printable = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"), max_size=20)


@given(st.lists(st.tuples(printable, printable), min_size=1, max_size=3), printable, printable)
def test_whatever_the_texts_they_are_text(rows: list[tuple[str, str]], name: str, caption: str) -> None:
    table = tree(table_html((name, "<b>"), rows, caption))
    assert [cell.text or "" for cell in table.iter("th")] == [name, "<b>"]
    assert [cell.text or "" for cell in table.iter("td")] == [text for row in rows for text in row]
    assert [node.text for node in table.iter("caption")] == ([caption] if caption else [])


def test_a_long_table_counts_what_it_leaves_out() -> None:
    table = tree(table_html(("n", "square"), [(n, n * n) for n in range(1200)], most=3))
    texts = [cell.text for cell in table.iter("td")]
    assert texts == ["0", "0", "1", "1", "2", "4", "and 1,197 more"]
    assert [cell.attrib["style"].rpartition(" ")[2] for cell in table.iter("td")][:2] == ["right", "right"]


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        table_html(("a", "b"), [("1",)])


def tree(html: str) -> ElementTree.Element:
    """Parse HTML that must be well-formed as XML."""
    return ElementTree.fromstring(html)
