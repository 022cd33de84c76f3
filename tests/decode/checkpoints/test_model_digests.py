"""A model of ours is the one that was written: a file that was changed since is named, in a line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from paper_figures.statistics.causal_scores import load_causal
from rws_decode import load_predictor, load_reward
from rws_decode.checkpoints.files import DIGESTS, models_directory

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
    for file in json.loads((folder / DIGESTS).read_text()):
        content = (folder / file).read_bytes()
        for change in (lambda path: path.write_bytes(path.read_bytes() + b" "), Path.unlink):
            change(folder / file)
            with pytest.raises(ValueError, match=rf"^\w+ {name} cannot be loaded: |holds no config.json") as refused:
                LOADS[name](str(folder))
            assert "\n" not in str(refused.value) and (file in str(refused.value))
            (folder / file).write_bytes(content)
    assert {path.name for path in folder.iterdir()} - {DIGESTS, "README.md"} == set(
        json.loads((folder / DIGESTS).read_text())
    )


def without(name: str) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    return lambda arrays: {key: value for key, value in arrays.items() if key != name}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("arcs_3"), r"share_3, states_3, word_3: there and not needed"),
        (without("unigram"), "unigram: "),
        (lambda arrays: arrays | {"word_3": arrays["word_3"][None]}, "word_3 is no list of numbers"),
        (lambda arrays: arrays | {"share_2": arrays["share_2"].astype(str)}, "share_2 is no list of numbers"),
        (lambda arrays: b"PK\3\4 and no archive", "zip file"),
        (lambda arrays: b"", "."),
    ],
    ids=["no arcs", "no unigram", "two axes", "words", "junk", "empty"],
)
def test_a_damaged_world_without_digests_is_refused(
    change: Callable[[dict[str, np.ndarray]], object], said: str, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(models_directory() / "english", tmp_path / "world"))
    (folder / DIGESTS).unlink()
    with np.load(folder / "world.npz") as stored:
        changed = change(dict(stored))
    if isinstance(changed, bytes):
        (folder / "world.npz").write_bytes(changed)
    else:
        np.savez(folder / "world.npz", allow_pickle=False, **changed)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=rf"^model world cannot be loaded: .*{said}") as refused:
        load_predictor(str(folder))
    assert "\n" not in str(refused.value)
