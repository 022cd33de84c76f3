"""The keyword prompts: the set that ships, and what counts as included."""

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from misuse import refused

from paper_figures.data import inclusion
from paper_figures.data.loaders import load_keyword_set

OWN = [(prompt.text, prompt.text.partition("\n")[0], prompt.labels["keywords"]) for prompt in load_keyword_set()]
# Appendix D of the paper, in its order.
TOPICS = "science technology economy health sports environment politics education culture entertainment".split()


def test_the_set_is_a_hundred_prompts_ten_for_each_topic_of_the_paper() -> None:
    assert Counter(prompt.labels["topic"] for prompt in load_keyword_set()) == dict.fromkeys(TOPICS, 10)
    assert len({prompt.name for prompt in load_keyword_set()}) == len({instruction for _, instruction, _ in OWN}) == 100
    assert all(len(keywords) == 4 and len(inclusion.words_of(instruction)) >= 12 for _, instruction, keywords in OWN)
    assert all("anchor keywords" in instruction for _, instruction, _ in OWN)
    words = [sum(len(inclusion.words_of(keyword)) for keyword in keywords) for _, _, keywords in OWN]
    assert Counter(words) == {8: 98, 9: 2}


def test_what_the_model_reads_includes_every_keyword_and_the_wording_none() -> None:
    for text, instruction, keywords in OWN:
        assert inclusion.included_keywords(keywords, text) == (True,) * 4
        assert inclusion.included_keywords(keywords, instruction) == (False,) * 4


def test_included() -> None:
    for keyword, text in INCLUDED:
        assert inclusion.included_keywords([keyword], text) == (True,), (keyword, text)
    for keyword, text in NOT_INCLUDED:
        assert inclusion.included_keywords([keyword], text) == (False,), (keyword, text)
    refused(lambda: inclusion.included_keywords(["--"], "text"), "keyword is '--'")


INCLUDED = [
    *(("battery", "The BATTERIES failed."), ("root hairs", "each root hair drinks"), ("daily habit", "a daily\nhabit")),
    *(("papier mache", "papier-mache noses"), ("veterans' letters", "a veteran\u2019s letter"), ("child", "children")),
    *(("shelf", "two shelves"), ("hope", "hoping"), ("hoping", "hoped"), ("café", "two cafe\u0301s"), ("ﬁre", "fire")),
    *(("voting age", "“Voting age”, she said"), ("veterans' letters", "the veterans' letters")),
]
NOT_INCLUDED = [
    *(("art", "the party starts"), ("white cells", "It was white. Cells came."), ("white cells", "white blood cells")),
    *(("new", "the news"), ("glas", "glass"), ("teach", "a teacher"), ("run", "ran"), ("daily habit", "")),
    *(("fire break", "firebreak"), ("fire break", "the fire - break it"), ("hall", "an assembly-hall")),
]
WORD = st.text("abceinsdgy", min_size=1, max_size=8)


@given(WORD, WORD)
def test_same_word_is_symmetric_reflexive_and_of_the_lemmas(first: str, second: str) -> None:
    assert inclusion.same_word(first, first)
    assert inclusion.same_word(first, second) == inclusion.same_word(second, first)
    assert all(inclusion.same_word(first, lemma) for lemma in inclusion.lemmas(first))


@given(st.lists(st.sampled_from("red fox reds foxes . , - den".split()), max_size=9))
def test_inclusion_is_that_of_a_search_written_out(words: list[str]) -> None:
    text = " ".join(words)
    assert inclusion.included_keywords(["red fox"], text) == (bool(re.search(r"\breds? fox(es)?\b", text)),)
    assert inclusion.included_keywords(["red fox"], text.upper()) == inclusion.included_keywords(["red fox"], text)
