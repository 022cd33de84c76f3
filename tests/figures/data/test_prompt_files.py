"""Prompts of files, a row each, and of sources: drawn by a seed, test and validation apart; refusals are one line."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from misuse import refused

from paper_figures.data import examples, prompt_files
from paper_figures.studies.prompts import prompts_of
from rws_decode.extra.stories.answers import judge
from rws_decode.extra.testing import tiny_checkpoint

PROMPTS = ["the cat sat", 'say "yes", twice', "caf\u00e9 ?"]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    lines = "\n".join(map(json.dumps, rows))
    if path.name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.name.endswith(".csv"):
        cells = ['"{}",{}'.format(str(row["prompt"]).replace('"', '""'), number) for number, row in enumerate(rows)]
        path.write_text("prompt,id\n" + "\n".join(cells) + "\n", encoding="utf-8")
    elif path.name.endswith(".txt"):
        path.write_text("\n\n".join(str(row["prompt"]) for row in rows), encoding="utf-8")
    else:
        text = lines if ".jsonl" in path.name else json.dumps(rows)
        path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("ending", prompt_files.PROMPT_ENDINGS)
def test_every_ending_gives_the_same_prompts(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"prompts{ending}", [{"prompt": prompt} for prompt in PROMPTS])
    assert prompt_files.read_prompts(path) == [prompt_files.PromptRow((prompt,)) for prompt in PROMPTS]


def test_a_row_may_have_turns_and_keywords(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"prompt": ["a ?", "b", "c ?"], "answer": 1}, {"prompt": "d", "keywords": ["e f"]}]
    read = prompt_files.read_prompts(write(tmp_path / "rows.jsonl", rows))
    assert read == [prompt_files.PromptRow(("a ?", "b", "c ?")), prompt_files.PromptRow(("d",), ("e f",))]
    (tmp_path / "rows.csv").write_text('prompt,keywords\nd,"e f, g"\n')
    assert prompt_files.read_prompts(tmp_path / "rows.csv") == [prompt_files.PromptRow(("d",), ("e f", "g"))]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.jsonl", "", "it holds no row"),
        ("field.jsonl", '{"prompt": "a"}\n{"question": "b", "id": 1}', "row 2 has no field prompt; it has question"),
        ("number.jsonl", '{"prompt": 3}', "row 1: prompt is '3', a text or a list of texts is needed"),
        ("words.jsonl", '{"prompt": "a", "keywords": [1]}', "row 1: keywords are '[1]', a list of texts is needed"),
        ("cells.csv", "prompt,id\na,1\nb\n", "line 3 has 1 cells, the first has 2"),
        ("quote.csv", 'prompt\n"a\n', "is not CSV"),
        ("half.jsonl", '{"prompt": "a"}\n{"prom', "line 2 is not JSON"),
        ("notes.md", "a", "are read; text:"),
    ],
)
def test_unreadable_files_are_named_in_one_line(name: str, content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    refused(lambda: prompt_files.read_prompts(path, "--data"), f"--data is {path}: ... {message}")


def test_unknown_words_are_found_in_a_vocabulary_of_words_and_in_a_world() -> None:
    assert examples.unknown_words("mini", "The Violin . zorp") == (["zorp"], False)
    assert examples.unknown_words("english", "peace, and zorp") == (["zorp"], False)
    assert examples.unknown_words("english", "zorp flurb !") == (["zorp", "flurb"], True)
    assert examples.unknown_words("mini", "? .") == ([], False)  # marks are no words
    refused(lambda: examples.unknown_words("nowhere", "a"), "model is 'nowhere'")


@pytest.mark.parametrize("source", ["stories", "stories:all", "stories:puzzle", "dialogues", "keywords", "humaneval"])
def test_test_and_validation_share_no_prompt_and_follow_from_the_seed(source: str) -> None:
    prompts = prompts_of(source, 8, 5, seed=3)
    again, other = prompts_of(source, 8, 5, seed=3), prompts_of(source, 8, 5, seed=4)
    assert prompts == again and prompts.digest == again.digest != other.digest
    texts = [prompt.turns for part in (prompts.test, prompts.validation) for prompt in part]
    assert len(set(texts)) == 13 and len({prompt.name for prompt in prompts.test}) == 8
    assert {prompt.turns for prompt in prompts.test} != {prompt.turns for prompt in other.test}


def test_all_kinds_of_stories_come_in_turn() -> None:
    prompts = prompts_of("stories:all", 8)
    assert [prompt.labels["kind"] for prompt in prompts.test] == ["keywords", "continuation", "dialogue", "puzzle"] * 2
    assert all(judge(prompt.text, "").kind == prompt.labels["kind"] for prompt in prompts.test)


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
    ("source", "count", "validation", "message"),
    [
        ("text", 1, 0, "text:FILE is needed"),
        ("keywords", 101, 0, "has 100 different prompts, 101 are wanted"),
        ("antibodies:0", 1, 0, "data is 'antibodies:0': antibodies:N is needed, N residues of each, 1 to 109"),
        ("antibodies", 400, 73, "it has 472, 473 are wanted"),
        ("reactions:25", 3, 0, "data is 'reactions:25': reactions:N is needed, N tokens of the product of"),
    ],
)
def test_misuse_names_what_is_wrong(source: str, count: int, validation: int, message: str) -> None:
    refused(lambda: prompts_of(source, count, validation), message)
