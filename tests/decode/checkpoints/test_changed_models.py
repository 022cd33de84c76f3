"""A model is the one that was written: changed files and lost words are refused in a line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from misuse import refused
from tiny_models import SPECIAL, VOCABULARY

from paper_figures.statistics import load_causal
from rws_decode import load_predictor, load_reward
from rws_decode.checkpoints import DIGESTS, models_directory
from rws_decode.extra.testing import tiny_checkpoint


def test_a_tokenizer_of_special_tokens_alone_is_refused(tmp_path: Path) -> None:
    for layout, load in (("bert", load_predictor), ("classifier", load_reward)):
        folder = tiny_checkpoint(layout, tmp_path / layout)
        stored = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        special = {token["content"] for token in stored["added_tokens"]}
        vocabulary = stored["model"]["vocab"]
        stored["model"]["vocab"] = {word: token for word, token in vocabulary.items() if word in special}
        (folder / "tokenizer.json").write_text(json.dumps(stored), encoding="utf-8")
        named = f"{layout} cannot be loaded: its tokenizer names {len(SPECIAL)} of its {VOCABULARY} tokens, restore"
        refused(lambda load=load, folder=folder: load(str(folder)), named)


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
            with pytest.raises(ValueError, match=rf"^\w+ {name} cannot be loaded: |holds no config.json") as caught:
                LOADS[name](str(folder))
            assert "\n" not in str(caught.value) and file in str(caught.value)
            (folder / file).write_bytes(content)
