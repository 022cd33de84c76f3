"""Files are whole or absent."""

import os
from pathlib import Path

import pytest

from rws_decode.common.files import write_bytes, write_text


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "a.txt"
    write_text(target, "old and long")
    assert write_text(target, "new") == target
    assert target.read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["a.txt"]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write_bytes(tmp_path / "a.bin", b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/a\.bin'$"):
        write_bytes(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_pipe_stays_what_it_is_and_a_link_leads_to_its_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"pipe is no regular file$"):
        write_bytes(tmp_path / "pipe", b"new")
    (tmp_path / "link").symlink_to(write_bytes(tmp_path / "a.bin", b"old"))
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "link").is_symlink()
    assert (tmp_path / "a.bin").read_bytes() == b"new"
