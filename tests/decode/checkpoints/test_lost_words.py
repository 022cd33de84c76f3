"""A model whose tokenizer has lost its words is refused or told of, and an answer without text is told of."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from checkpoint_files import edit_json

from rws_decode.__main__ import main
from rws_decode.checkpoints.files import models_directory
from rws_decode.rewards import load_reward
from rws_decode.testing import tiny_checkpoint
from rws_decode.testing.networks import SPECIAL, VOCABULARY, WORDS, word_tokenizer

SIZE = ["--length", "4", "--steps", "2", "--block", "4", "--json"]


def generated(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> tuple[int, str, list[str]]:
    """Return the exit status, what is printed, and the lines of standard error but for bars."""
    capsys.readouterr()
    status = main(["generate", "--model", str(folder), *words, *SIZE])
    out, err = capsys.readouterr()
    return status, out, [line for line in err.splitlines() if line and "Loading weights" not in line]


def kept_words(folder: Path, words: int) -> None:
    """Keep the special tokens and the first words of a word-level tokenizer."""
    stored = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    special = {token["content"] for token in stored["added_tokens"]}
    vocabulary = stored["model"]["vocab"]
    rest = [word for word in vocabulary if word not in special][:words]
    stored["model"]["vocab"] = {word: token for word, token in vocabulary.items() if word in {*special, *rest}}
    (folder / "tokenizer.json").write_text(json.dumps(stored), encoding="utf-8")


def mini(folder: Path) -> Path:
    return Path(
        shutil.copytree(models_directory() / "mini", folder / "model", ignore=shutil.ignore_patterns("digests.json"))
    )


@pytest.mark.parametrize(
    ("layout", "tokens", "prompt"),
    [("mini", 1616, ["--prompt", "the cat"]), ("bert", VOCABULARY, ["--input-ids", "[2, 3]"])],
)
def test_a_tokenizer_of_special_tokens_alone_is_refused(
    tmp_path: Path, layout: str, tokens: int, prompt: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = mini(tmp_path) if layout == "mini" else tiny_checkpoint(layout, tmp_path / "model")
    kept_words(folder, 0)
    named = f"its tokenizer names {len(SPECIAL)} of its {tokens} tokens, restore the tokenizer's files"
    status, out, lines = generated(capsys, folder, *prompt)
    assert (status, out) == (2, "")
    assert lines == [f"python -m rws_decode generate: model model cannot be loaded: {named}"]


@pytest.mark.parametrize("layout", ["mini", "llada", "dream"])
def test_an_empty_vocabulary_is_refused_in_one_line(
    tmp_path: Path, layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = mini(tmp_path) if layout == "mini" else tiny_checkpoint(layout, tmp_path / "model")
    if layout != "dream":
        stored = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        empty = {"vocab": {}} | ({"merges": []} if layout == "llada" else {})
        edit_json(folder / "tokenizer.json", model=stored["model"] | empty)
    else:
        (folder / "vocab.json").write_text("{}")
        (folder / "merges.txt").write_text("")
    status, out, lines = generated(capsys, folder, "--prompt", "the cat")
    assert (status, out, len(lines)) == (2, "", 1) and "model model cannot be loaded: its" in lines[0]


def test_a_reward_model_without_words_is_refused(tmp_path: Path) -> None:
    folder = tiny_checkpoint("classifier", tmp_path / "reward")
    assert len(load_reward(str(folder)).score(["the cat"], ["sat"])) == 1
    kept_words(folder, 0)
    with pytest.raises(ValueError, match=rf"reward reward cannot be loaded: its tokenizer names 6 of its {VOCABULARY}"):
        load_reward(str(folder))


def test_some_lost_words_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, lost = tiny_checkpoint("bert", tmp_path / "model"), 4
    assert generated(capsys, folder, "--prompt", "the cat")[2] == []
    word_tokenizer(WORDS[:-lost]).save_pretrained(folder)
    status, out, lines = generated(capsys, folder, "--prompt", "the cat")
    assert status == 0 and max(json.loads(out)["tokens"]) < VOCABULARY - lost
    assert lines == [
        f"note: {lost} of the {VOCABULARY} tokens of model have no word in its tokenizer and are never written"
    ]


def test_an_answer_without_text_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    # 5 is the end of text, and mini goes on with no other token after it.
    status, out, lines = generated(capsys, Path("mini"), "--input-ids", "[5, 6]")
    result = json.loads(out)
    assert (status, result["text"], len(result["tokens"])) == (0, "", 4)
    assert lines == ["note: the answer by default is empty: none of its 4 tokens has a text before the answer ends"]
    assert generated(capsys, Path("mini"), "--example", "3")[2] == []
