"""Files with a prompt per row: every ending gives the same prompts, and what cannot be read is one clear line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paper_figures.data.examples import unknown_words
from paper_figures.data.prompt_files import PROMPT_ENDINGS, PromptRow, read_prompts

PROMPTS = ["the cat sat", 'say "yes", twice', "caf\u00e9 ?"]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write rows as the file's ending says."""
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


@pytest.mark.parametrize("ending", PROMPT_ENDINGS)
def test_every_ending_gives_the_same_prompts(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"prompts{ending}", [{"prompt": prompt} for prompt in PROMPTS])
    assert read_prompts(path) == [PromptRow((prompt,)) for prompt in PROMPTS]


def test_a_row_may_have_turns_and_keywords(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"prompt": ["a ?", "b", "c ?"], "answer": 1}, {"prompt": "d", "keywords": ["e f"]}]
    read = read_prompts(write(tmp_path / "rows.jsonl", rows))
    assert read == [PromptRow(("a ?", "b", "c ?")), PromptRow(("d",), ("e f",))]
    (tmp_path / "rows.csv").write_text('prompt,keywords\nd,"e f, g"\n')
    assert read_prompts(tmp_path / "rows.csv") == [PromptRow(("d",), ("e f", "g"))]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no.jsonl", None, "no such file"),
        ("folder.csv", "folder", "a directory"),
        ("empty.jsonl", "", "it holds no row"),
        ("empty.json", "[]", "it holds no row"),
        ("empty.csv", "prompt\n", "it holds no row; the first line names the columns"),
        ("empty.txt", "\n \n", "it holds no prompt"),
        (
            "field.jsonl",
            '{"prompt": "a"}\n{"question": "b", "id": 1}',
            "row 2 has no field prompt; it has question, id",
        ),
        ("field.csv", "question\nb\n", "row 1 has no field prompt; it has question"),
        ("blank.jsonl", '{"prompt": " "}', "row 1: prompt is ' ', a text or a list of texts is needed"),
        ("number.jsonl", '{"prompt": 3}', "row 1: prompt is '3', a text or a list of texts is needed"),
        ("words.jsonl", '{"prompt": "a", "keywords": [1]}', "row 1: keywords are '[1]', a list of texts is needed"),
        ("cells.csv", "prompt,id\na,1\nb\n", "line 3 has 1 cells, the first has 2"),
        ("quote.csv", 'prompt\n"a\n', "is not CSV"),
        ("half.jsonl", '{"prompt": "a"}\n{"prom', "line 2 is not JSON"),
        ("bytes.txt", b"caf\xe9", "not UTF-8"),
        ("bytes.csv", b"prompt\ncaf\xe9", "not UTF-8"),
        ("half.parquet", b"PAR1", "not Parquet"),
        ("notes.md", "a", "are read; text:"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_the_file(
    name: str, content: str | bytes | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError) as caught:
        read_prompts(path, "--data")
    said = str(caught.value)
    assert said.startswith(f"--data is {path}: ") and message in said and "\n" not in said


def test_unknown_words_are_found_in_a_vocabulary_of_words_and_in_a_world() -> None:
    assert unknown_words("mini", "The Violin . zorp") == (["zorp"], False)
    assert unknown_words("english", "peace, and zorp") == (["zorp"], False)
    assert unknown_words("english", "zorp flurb !") == (["zorp", "flurb"], True)
    assert unknown_words("mini", "? .") == ([], False)  # marks are no words
    with pytest.raises(ValueError, match="model is 'nowhere'"):
        unknown_words("nowhere", "a")
