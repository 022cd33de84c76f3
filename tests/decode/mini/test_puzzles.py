"""Puzzle sets: held out, without repetition, and judged by their one right answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.data.story_sets import story_puzzle_set
from rws_decode.mini.stories.answers import judge
from rws_decode.mini.stories.lexicon import NUMBERS
from rws_decode.mini.stories.tasks import split_of

KINDS = {"add", "subtract", "reverse", "sort", "largest"}


@pytest.mark.parametrize("split", ["test", "validation"])
def test_every_puzzle_is_of_its_split_and_has_its_answer(split: str) -> None:
    rows = story_puzzle_set(400, seed=3, split=split)  # type: ignore[arg-type]
    assert len(rows) == len({row.prompt for row in rows}) == len({row.id for row in rows}) == 400
    assert {row.kind for row in rows} == KINDS
    for row in rows:
        assert split_of(row.prompt, row.answer) == split
        assert judge(row.prompt, row.answer).kind == "puzzle"
        assert judge(row.prompt, row.answer).coherent
        wrong = row.answer.split()
        for other in (wrong[:-1], [*wrong[:-1], wrong[0], "."], ["zebra", "."], []):
            assert not judge(row.prompt, " ".join(other)).coherent


def test_kinds_are_what_they_say() -> None:
    for row in story_puzzle_set(200):
        asked, given_words = row.prompt.split(" : ")[0], row.prompt.split(" : ")[-1].split()
        answer = row.answer.removesuffix(" .").split()
        if row.kind in ("add", "subtract"):
            before, change = (NUMBERS.index(word) + 1 for word in given_words if word in NUMBERS)
            assert ("found" if row.kind == "add" else "lost") in given_words
            assert NUMBERS.index(answer[0]) + 1 == before + (change if row.kind == "add" else -change)
            continue
        assert asked == row.kind
        reading = {"reverse": given_words[::-1], "sort": sorted(given_words, key=_size)}
        assert answer == reading.get(row.kind, [max(given_words, key=_size)])


def _size(word: str) -> int:
    return NUMBERS.index(word) if word in NUMBERS else 0


@given(st.integers(0, 1000), st.integers(1, 12))
def test_set_is_repeated_by_its_seed(seed: int, count: int) -> None:
    rows = story_puzzle_set(count, seed)
    assert rows == story_puzzle_set(count, seed)
    # A smaller set is the beginning of a larger one.
    assert rows == story_puzzle_set(count + 3, seed)[:count]
    assert rows != story_puzzle_set(count, seed + 1)


def test_splits_share_no_prompt() -> None:
    test, validation = (story_puzzle_set(1500, split=split) for split in ("test", "validation"))  # type: ignore[arg-type]
    assert not {row.prompt for row in test} & {row.prompt for row in validation}


def test_what_cannot_be_drawn_is_refused() -> None:
    for count in (0, -1, 5001):
        with pytest.raises(ValueError, match=f"count is {count}: .*1 to 5000"):
            story_puzzle_set(count)
    with pytest.raises(ValueError, match="split is 'mini': one of test, validation"):
        story_puzzle_set(1, split="mini")  # type: ignore[arg-type]
