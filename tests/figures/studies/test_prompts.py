"""Sources of prompts: test and validation apart, drawn by a seed, the same in every process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper_figures.studies.design.prompts import prompts_of
from rws_decode.mini.stories.answers import judge
from rws_decode.testing import tiny_checkpoint


@pytest.mark.parametrize("source", ["stories", "stories:all", "stories:puzzle", "dialogues", "keywords", "humaneval"])
def test_test_and_validation_share_no_prompt_and_follow_from_the_seed(source: str) -> None:
    prompts = prompts_of(source, 8, 5, seed=3)
    again, other = prompts_of(source, 8, 5, seed=3), prompts_of(source, 8, 5, seed=4)
    assert prompts == again and prompts.digest == again.digest != other.digest
    texts = [prompt.turns for part in (prompts.test, prompts.validation) for prompt in part]
    assert len(set(texts)) == 13 and len({prompt.name for prompt in prompts.test}) == 8
    assert {prompt.turns for prompt in prompts.test} != {prompt.turns for prompt in other.test}


def test_more_prompts_begin_with_the_same_stories() -> None:
    few, many = prompts_of("stories:continuation", 4, seed=1), prompts_of("stories:continuation", 9, seed=1)
    assert many.test[:4] == few.test


def test_all_kinds_of_stories_come_in_turn() -> None:
    prompts = prompts_of("stories:all", 8)
    assert [prompt.labels["kind"] for prompt in prompts.test] == ["keywords", "continuation", "dialogue", "puzzle"] * 2
    assert all(judge(prompt.text, "").kind == prompt.labels["kind"] for prompt in prompts.test)


def test_dialogues_have_two_turns() -> None:
    assert {len(prompt.turns) for prompt in prompts_of("dialogues", 4, 2).test} == {2}


def test_benchmark_rows_are_drawn_and_keep_their_order(tmp_path: Path) -> None:
    rows = [
        {"question_id": number, "category": category, "turns": [f"q {number}", "and then ?"]}
        for number in range(30)
        for category in ["math" if number < 15 else "writing"]
    ]
    (tmp_path / "question.jsonl").write_text("\n".join(map(json.dumps, rows)))
    prompts = prompts_of(f"mt-bench:{tmp_path / 'question.jsonl'}", 10, 6)
    for part in (prompts.test, prompts.validation):
        numbers = [int(prompt.name) for prompt in part]
        assert numbers == sorted(numbers) and all(len(prompt.turns) == 2 for prompt in part)
    assert {prompt.labels["category"] for prompt in prompts.test} == {"math", "writing"}
    # How many are held for validation does not change the test.
    assert prompts_of(f"mt-bench:{tmp_path / 'question.jsonl'}", 10).test == prompts.test
    everything = prompts_of(f"mt-bench:{tmp_path / 'question.jsonl'}", None, 6)
    assert len(everything.test) == 24 and len(everything.validation) == 6


def test_file_and_examples_keep_their_first_prompts(tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("one\n\ntwo\nthree\ntwo\nfour\n", encoding="utf-8")
    prompts = prompts_of(f"text:{tmp_path / 'prompts.txt'}", 2, 2)
    assert [prompt.text for prompt in prompts.test] == ["one", "two"]
    assert [prompt.text for prompt in prompts.validation] == ["three", "four"]
    tiny_checkpoint(
        "bert",
        tmp_path / "model",
        files={"examples.json": [{"kind": "a", "prompt": "x"}, {"kind": "b", "prompt": "y"}]},
    )
    model = str(tmp_path / "model")
    assert [prompt.text for prompt in prompts_of("examples", None, model=model).test] == ["x", "y"]
    assert [prompt.name for prompt in prompts_of("examples:b", 1, model=model).test] == ["1"]


@pytest.mark.parametrize(
    ("source", "count", "message"),
    [
        ("stories:tales", 1, "data is 'stories:tales'"),
        ("text", 1, "text:FILE is needed"),
        ("text:/nowhere", 1, "no such file"),
        ("keywords", 101, "has 100 different prompts, 101 are wanted"),
    ],
)
def test_misuse_names_what_is_wrong(source: str, count: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prompts_of(source, count)
