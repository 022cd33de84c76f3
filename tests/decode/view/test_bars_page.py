"""The page of bars along a scale: what it is given is what it draws, whatever the words are."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from interactive_pages import HOSTILE, data_of, elements_of

from rws_decode.view.bars_page import BarsCase, bars_page

SCALES = np.geomspace(0.5, 8.0, 5)
NAMES = ("cat", "dog", "end")
VALUES = np.arange(15.0).reshape(5, 3)
CASE = BarsCase("first", {"value": VALUES}, {"sum": VALUES.sum(axis=1)}, list("abcde"), "value [nats]", "sum [nats]")


def test_the_numbers_are_those_given() -> None:
    values = np.where(VALUES == 4, np.nan, np.where(VALUES == 14, np.inf, VALUES))
    case = replace(CASE, bars={"value": values}, chosen=VALUES % 2 == 0, marks=[1.5], limits=(0, 1))
    data = data_of(bars_page("Bars", "said", "c", SCALES, NAMES, [case, CASE], start=3.7))
    assert data["at"] == [0.5, 1, 2, 4, 8] and data["start"] == 3 and data["names"] == list(NAMES)
    first, second = data["cases"]
    assert first["bars"][0]["values"][1] == [3, None, 5] and first["bars"][0]["values"][4] == [12, 13, "Infinity"]
    assert first["chosen"] == [[0, 2], [1], [0, 2], [1], [0, 2]] and first["marks"] == [1.5]
    assert (first["limits"], second["limits"], second["chosen"]) == ([0, 1], None, None)
    assert second["lines"] == [{"name": "sum", "values": [3, 12, 21, 30, 39]}] and second["said"] == list("abcde")


@pytest.mark.parametrize("word", HOSTILE)
def test_words_stay_text(word: str) -> None:
    case = replace(CASE, name=word, said=[word] * 5, bars={word: VALUES}, lines={word: VALUES[:, 0]})
    page = bars_page(word or "Bars", word, word, SCALES, [word] * 3, [case])
    elements = elements_of(page.html)
    assert elements.wrong == elements.open_ == [] and len(elements.named("script")) == 2
    assert not elements.named("img") and data_of(page)["cases"][0]["said"] == [word] * 5


def test_misuse_is_refused_in_one_line() -> None:
    for said, scales, case in (
        ("scales are [1.0, 2.0, 3.0]: such as numpy.geomspace(0.1, 10, 60) gives", [1.0, 2.0, 3.0], CASE),
        ("scales are [1.0]", [1.0], CASE),
        ("bars of 'first' holds 'value' of shape (4, 3): (5, 3)", SCALES, replace(CASE, bars={"value": VALUES[1:]})),
        ("lines of 'first' holds 'sum' of shape (4,): (5,)", SCALES, replace(CASE, lines={"sum": VALUES[1:, 0]})),
        ("chosen of 'first' has shape (5, 2): (5, 3)", SCALES, replace(CASE, chosen=VALUES[:, 1:] > 2)),
        ("said of 'first' holds 4 sentences: 5", SCALES, replace(CASE, said=list("abcd"))),
    ):
        with pytest.raises(ValueError, match=re.escape(said)) as refused:
            bars_page("Bars", "said", "c", scales, NAMES, [case])
        assert "\n" not in str(refused.value)
