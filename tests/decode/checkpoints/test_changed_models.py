"""A model is the one that was written: changed files and lost words are refused or told of, in a line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_lines import main
from tiny_models import SPECIAL, VOCABULARY

from paper_figures.statistics import load_causal
from rws_decode import load_predictor, load_reward
from rws_decode.checkpoints.files import DIGESTS, models_directory
from rws_decode.extra.testing import tiny_checkpoint

SIZE = ["--length", "4", "--steps", "2", "--block", "4", "--json"]


def generated(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> tuple[int, str, list[str]]:
    """Return the exit status, what is printed, and the lines of standard error but for bars."""
    capsys.readouterr()
    status = main(["generate", "--model", str(folder), *words, *SIZE])
    out, err = capsys.readouterr()
    return status, out, [line for line in err.splitlines() if line and "Loading weights" not in line]


def kept_words(folder: Path, words: int) -> None:
    stored = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    special = {token["content"] for token in stored["added_tokens"]}
    vocabulary = stored["model"]["vocab"]
    rest = [word for word in vocabulary if word not in special][:words]
    stored["model"]["vocab"] = {word: token for word, token in vocabulary.items() if word in {*special, *rest}}
    (folder / "tokenizer.json").write_text(json.dumps(stored), encoding="utf-8")


def mini(folder: Path) -> Path:
    without = shutil.ignore_patterns("digests.json")
    return Path(shutil.copytree(models_directory() / "mini", folder / "model", ignore=without))


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
    reward = tiny_checkpoint("classifier", tmp_path / "reward")
    kept_words(reward, 0)
    with pytest.raises(ValueError, match=rf"reward reward cannot be loaded: its tokenizer names 6 of its {VOCABULARY}"):
        load_reward(str(reward))


LOADS: dict[str, Callable[[str], object]] = {
    "mini": load_predictor,
    "english": load_predictor,
    "mini-reward": load_reward,
    "mini-judge": load_reward,
    "mini-causal": load_causal,
}


@pytest.mark.parametrize("name", LOADS)
def test_a_changed_or_missing_file_is_named(name: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(models_directory() / name, tmp_path / name))
    LOADS[name](str(folder))
    digests = json.loads((folder / DIGESTS).read_text())
    assert {path.name for path in folder.iterdir()} - {DIGESTS, "README.md"} == set(digests)
    for file in digests:
        content = (folder / file).read_bytes()
        for change in (lambda path: path.write_bytes(path.read_bytes() + b" "), Path.unlink):
            change(folder / file)
            with pytest.raises(ValueError, match=rf"^\w+ {name} cannot be loaded: |holds no config.json") as refused:
                LOADS[name](str(folder))
            assert "\n" not in str(refused.value) and (file in str(refused.value))
            (folder / file).write_bytes(content)


def without(name: str) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    return lambda arrays: {key: value for key, value in arrays.items() if key != name}
