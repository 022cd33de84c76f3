"""The keyword prompts: the sets that there are, the checker on sets that are wrong, and what counts as included."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.data.inclusion import included_keywords, lemmas, same_word, words_of
from paper_figures.data.keywords import (
    TOPICS,
    KeywordPrompt,
    KeywordSet,
    check_keywords,
    difficulty,
    load_keyword_set,
    story_keyword_set,
    write_keyword_set,
)
from rws_decode.mini.stories.answers import keyword_inclusion
from rws_decode.mini.stories.lexicon import TOPICS as STORY_TOPICS
from rws_decode.mini.stories.tasks import sample_split, split_of

OWN = load_keyword_set()
STORIES = story_keyword_set(4, seed=3)


def test_the_set_is_a_hundred_prompts_ten_for_each_topic_of_the_paper() -> None:
    report = check_keywords(OWN)
    assert report.problems == ()
    assert report.topics == dict.fromkeys(TOPICS, 10)
    assert report.near_duplicates == ()
    assert report.repeated == ()
    assert report.easy == ()
    assert max(report.overlaps.values()) <= 3
    assert all(len(prompt.keywords) == 4 for prompt in OWN.prompts)
    assert {len(words_of(prompt.prompt)) >= 12 for prompt in OWN.prompts} == {True}


def test_the_published_examples_are_not_in_the_set() -> None:
    published = "global temperatures;carbon emissions;international agreements;renewable technologies;market analysis"
    published += ";competitive advantage;revenue streams;strategic partnerships"
    assert not any(any(included_keywords(published.split(";"), OWN.text(prompt))) for prompt in OWN.prompts)


def test_what_the_model_reads_includes_every_keyword_and_the_wording_none() -> None:
    for prompt in OWN.prompts:
        assert included_keywords(prompt.keywords, OWN.text(prompt)) == (True,) * 4
        assert included_keywords(prompt.keywords, prompt.prompt) == (False,) * 4


def test_the_card_says_what_the_checker_finds() -> None:
    card = (Path(__file__).parents[3] / "paper_figures" / "data" / "KEYWORDS.md").read_text(encoding="utf-8")
    report = check_keywords(OWN)
    letters = [difficulty.letters for difficulty in report.difficulty.values()]
    words = [difficulty.words for difficulty in report.difficulty.values()]
    assert f"{words.count(8)} prompts have 8 keyword words" in card
    assert f"between {min(letters):.2f} and {max(letters):.2f} letters" in card
    assert f"{sum(report.overlaps.values())} pairs of prompts of one topic" in card
    assert f"{sum(difficulty.given > 0 for difficulty in report.difficulty.values())} prompts use one word" in card


def test_stories_are_held_out_balanced_and_seeded() -> None:
    report = check_keywords(STORIES)
    assert report.problems == ()
    assert report.topics == dict.fromkeys(STORY_TOPICS, 4)
    assert story_keyword_set(4, seed=3) == STORIES
    assert story_keyword_set(4, seed=4) != STORIES
    assert {prompt.length for prompt in STORIES.prompts} == {64}
    # The split is that of the pair with its answer: the prompt must be one that the split can give.
    task = sample_split(random.Random(3), "test", "keywords", "short")
    assert split_of(task.prompt, task.answer) == "test"
    assert task.prompt in {prompt.prompt for prompt in STORIES.prompts}
    with pytest.raises(ValueError, match="per_topic is 0"):
        story_keyword_set(0)
    with pytest.raises(ValueError, match="split is 'train'"):
        story_keyword_set(1, split="train")


def test_inclusion_is_that_of_the_stories_in_their_domain() -> None:
    rng = random.Random(0)
    tasks = [sample_split(rng, "validation", "keywords", band) for band in ("short", "medium") for _ in range(40)]
    counts = set()
    for asked in tasks:
        for answered in tasks[::5]:
            included = sum(included_keywords(asked.keywords, answered.answer))
            assert included == keyword_inclusion(asked.keywords, answered.answer), (asked.keywords, answered.answer)
            counts.add(included)
    assert counts >= {0, 1, 2, 4}


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("battery", "The BATTERIES failed."),
        ("root hairs", "each root hair drinks"),
        ("trapped bubbles", "the ice traps a bubble, trapping bubbles"),
        ("daily habit", "a daily\nhabit"),
        ("fire break", "a fire-break held"),
        ("papier mache", "papier-mache noses"),
        ("veterans' letters", "a veteran\u2019s letter"),
        ("shelf", "two shelves"),
        ("knife", "the knives"),
        ("child", "children"),
        ("bus", "the buses"),
        ("glass", "glasses"),
        ("plan", "planning"),
        ("hope", "hoping"),
        ("carry", "carried"),
        ("hoping", "hoped"),
        ("café", "two cafe\u0301s"),
        ("ﬁre", "fire"),
        ("voting age", "“Voting age”, she said"),
        ("petri-dish", "petri-dishes"),
        ("level design", "levels design"),
        ("veterans' letters", "the veterans' letters"),
        ("lower back", "lower-back pain"),
    ],
)
def test_included(keyword: str, text: str) -> None:
    assert included_keywords([keyword], text) == (True,)


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("art", "the party starts"),
        ("crew", "a screw"),
        ("white cells", "It was white. Cells came."),
        ("white cells", "white, cells"),
        ("white cells", "white blood cells"),
        ("white cells", "cells white"),
        ("new", "the news"),
        ("even", "an evening"),
        ("win", "a wing"),
        ("se", "a seed"),
        ("glas", "glass"),
        ("bu", "bus"),
        ("thing", "th"),
        ("teach", "a teacher"),
        ("run", "ran"),
        ("daily habit", ""),
        ("fire break", "firebreak"),
        ("fire break", "the fire - break it"),
        ("assembly", "an assembly-hall"),
        ("hall", "an assembly-hall"),
        ("file name", "file_name"),
    ],
)
def test_not_included(keyword: str, text: str) -> None:
    assert included_keywords([keyword], text) == (False,)


def test_a_keyword_needs_a_word() -> None:
    with pytest.raises(ValueError, match=r"keyword is '--'"):
        included_keywords(["--"], "text")


WORD = st.text("abceinsdgy", min_size=1, max_size=8)


@given(WORD, WORD)
def test_same_word_is_symmetric_reflexive_and_of_the_lemmas(first: str, second: str) -> None:
    assert same_word(first, first)
    assert same_word(first, second) == same_word(second, first)
    assert all(same_word(first, lemma) for lemma in lemmas(first))


@given(st.lists(st.sampled_from("red fox reds foxes . , - den".split()), max_size=9))
def test_inclusion_is_that_of_a_search_written_out(words: list[str]) -> None:
    text = " ".join(words)
    assert included_keywords(["red fox"], text) == (bool(re.search(r"\breds? fox(es)?\b", text)),)
    assert included_keywords(["red fox"], text.upper()) == included_keywords(["red fox"], text)


def broken(**changes: object) -> KeywordSet:
    first = replace(OWN.prompts[0], **changes)  # pyright: ignore[reportArgumentType]
    return replace(OWN, prompts=(first, *OWN.prompts[1:]))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id": "science-2"}, "id 'science-2' is there 2 times"),
        ({"prompt": OWN.prompts[1].prompt.upper()}, "is there 2 times"),
        ({"topic": "sports"}, "topics are not balanced"),
        ({"keywords": OWN.prompts[0].keywords[:3]}, "it has 3 keywords, 4 are asked for"),
        ({"keywords": ("star", "bright stars", "dust", "gas")}, "'star' is included wherever 'bright stars' is"),
        ({"prompt": "Write of distant galaxies, using all anchor keywords."}, "its wording uses a keyword already"),
        ({"prompt": "Write of the night sky."}, "does not ask for all anchor keywords"),
    ],
)
def test_the_checker_names_what_is_wrong(changes: dict[str, object], problem: str) -> None:
    assert problem in "\n".join(check_keywords(broken(**changes)).problems)


def test_the_checker_finds_what_is_alike() -> None:
    again = broken(keywords=("distant galaxy", "root hair", "tiny moon", "cold dust"))
    assert check_keywords(again).repeated == ("root hair",)
    assert check_keywords(again).overlaps["science"] == 1
    assert check_keywords(broken(keywords=("star", "dust", "gas", "sky"))).easy == ("science-1",)
    near = broken(prompt=OWN.prompts[1].prompt.replace("drink", "eat") + " Sing.")
    assert check_keywords(near).near_duplicates == (("science-1", "science-2"),)
    unseen = replace(OWN, template="{prompt}")
    assert "'distant galaxies' is not in what the model reads" in check_keywords(unseen).problems[0]


def test_difficulty_counts_words_letters_and_what_is_given() -> None:
    prompt = KeywordPrompt("a", "b", "Write about walking dogs.", ("dog walk", "park bench"))
    assert difficulty(prompt).words == 4
    assert difficulty(prompt).letters == 16 / 4
    assert difficulty(prompt).given == 2


def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    for keywords in (OWN, STORIES):
        assert load_keyword_set(write_keyword_set(tmp_path / "set.json", keywords)) == keywords


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "no keyword set"),
        ('{"name": "a", "template": "{prompt}", "prompts": []}', "no keyword set"),
        ('{"name": "a", "template": "{prompt}", "prompts": [{"id": "1"}]}', "prompt 1 has no topic"),
        (
            json.dumps({"name": "a", "template": "", "prompts": [dict(id="1", topic="t", prompt="p", keywords=["-"])]}),
            "prompt 1 has a keyword that is no text",
        ),
    ],
)
def test_wrong_files_are_refused_in_one_line(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        load_keyword_set(file)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="no such file"):
        load_keyword_set(tmp_path / "none.json")
