"""Commands that are stopped, or cannot write: how they end, what is left, what the same command does then."""

import errno
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, Popen
from types import MappingProxyType
from typing import Any
from unittest import mock

import pytest
from command_lines import decoding

from rws_decode import load_trace
from rws_decode.cli.exits import CLOSED, TERMINATED, ended
from rws_decode.common import files as rws_files

ROOT = Path(__file__).parents[2]
CROSSINGS = ["-m", "rws_decode", "crossings", "[1.1,0.6,0.3]", "[1.0,0.4,0.4]"]
GENERATE = ["generate", "--model", "mini", "--prompt", "a cat", "--length", "8", "--steps", "4", "--block", "8"]


def environment(**more: str) -> dict[str, str]:
    # Buffered, as users have it: what is left in a buffer is written, or fails, at the end.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    # What is typed is UTF-8 whatever the locale, as Python has it even in that of C.
    inherited |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"}
    return inherited | more


def started(words: Sequence[Any], more: Mapping[str, str] = MappingProxyType({}), **options: Any) -> Popen[bytes]:
    # SIGINT is ignored in what a shell runs in the background, and children would be born so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return Popen([sys.executable, *map(os.fsencode, words)], env=environment(**more), stderr=PIPE, **options)
    finally:
        signal.signal(signal.SIGINT, before)


# Output that nobody reads, or that does not fit.


@pytest.mark.parametrize("words", [CROSSINGS, ["-m", "paper_figures", "experiment", "--help"]], ids=["answer", "help"])
def test_a_reader_that_goes_away_ends_a_command_without_a_word(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = started(words, stdout=writing)
    os.close(writing)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (CLOSED, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full: a system that has it, as Linux")
def test_output_that_does_not_fit_is_told_in_a_line() -> None:
    with open("/dev/full", "wb") as full:
        process = started(CROSSINGS, stdout=full)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 2 and errors.count(b"\n") == 1 and os.strerror(errno.ENOSPC).encode() in errors


@pytest.mark.parametrize(
    ("name", "encoding", "message"),
    [(b"caf\xe9.npy", "utf-8", rb"caf\udce9.npy"), ("\u05e9🐈.npy".encode(), "ascii", rb"\U0001f408")],
    ids=["bytes", "ascii"],
)
def test_arguments_that_cannot_be_shown_are_told_in_a_line(name: bytes, encoding: str, message: bytes) -> None:
    process = started(["-m", "rws_theory", "crossings", name, "[1,2]"], {"PYTHONIOENCODING": encoding})
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2 and errors.count(b"\n") == 1 and message in errors


@pytest.mark.parametrize(
    ("redirection", "more"), [("2>&-", {}), ("2>/dev/full", {"PYTHONIOENCODING": "ascii"})], ids=["closed", "full"]
)
def test_the_answer_is_printed_whatever_standard_error_takes(redirection: str, more: dict[str, str]) -> None:
    words = ["-m", "rws_decode", *GENERATE, "--prompt", "a caf\u00e9 \U0001f408"]  # noted as unknown words
    line = f"exec {shlex.join([sys.executable, *words])} {redirection}"
    done = subprocess.run(["/bin/sh", "-c", line.encode()], env=environment(**more), capture_output=True, timeout=120)
    assert done.returncode == 0 and b"\nanswer: " in done.stdout and b"Traceback" not in done.stderr
    assert rb"caf\xe9 \U0001f408" in done.stdout or "caf\u00e9 \U0001f408".encode() in done.stdout


# Interrupts. The study is stopped by a unit that tells when it has begun, and then waits for the signal.

STUDY = """
import os, sys, time
from pathlib import Path
from rws_decode.cli.exits import ended
from paper_figures.runner.executors import in_process, processes
from paper_figures.runner.runner import run_units
from paper_figures.runner.units import Model, Origin, Unit

def work(units):
    for unit in units:
        folder = Path(unit.settings["folder"])
        if unit.prompt == "2" and not (folder / "go").exists():
            (folder / "begun").touch()
            while not (folder / "go").exists():
                time.sleep(0.01)
    return [[{"text": unit.prompt}] for unit in units]

def run():
    folder = sys.argv[1]
    texts = map(str, range(4))
    units = [Unit(experiment="study", prompt=text, strategy={"name": "default"}, settings={"folder": folder})
             for text in texts]
    backend = in_process() if sys.argv[2] == "1" else processes(2)
    report = run_units(units, work, folder + "/out", backend=backend, progress=False,
                       origin=Origin("code", {}, {Model("predictor", "mini"): "0"}))
    print(len(report.found), len(report.computed), len(report.failed))
    return 0

if __name__ == "__main__":
    sys.exit(ended("study", run, "; the same command goes on where it was"))
"""


@pytest.mark.parametrize(
    ("number", "status", "word", "workers"),
    [
        (signal.SIGINT, 130, b"interrupted", "1"),
        pytest.param(signal.SIGINT, 130, b"interrupted", "2", marks=pytest.mark.long),
        (signal.SIGTERM, 143, b"terminated", "2"),
    ],
)
def test_stopped_studies_go_on(number: signal.Signals, status: int, word: bytes, workers: str, tmp_path: Path) -> None:
    script = tmp_path / "study.py"
    script.write_text(STUDY)
    words = [str(script), str(tmp_path), workers]
    process = started(words, stdout=PIPE, start_new_session=True)

    def kept() -> int:
        return len(list((tmp_path / "out").rglob("*.parquet")))

    end = time.monotonic() + 120
    while not (tmp_path / "begun").exists() or kept() < 2:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: to every process of it
    else:
        process.send_signal(number)
    out, errors = process.communicate(timeout=120)  # the batch at hand would wait for ever: it is lost, and no other
    (tmp_path / "go").touch()
    assert (process.returncode, out) == (status, b"")
    assert errors == b"study: " + word + b"; the same command goes on where it was\n"
    assert not list(tmp_path.rglob(".*.part"))
    done = kept()
    again = subprocess.run([sys.executable, *words], env=environment(), capture_output=True, timeout=120, check=True)
    assert again.stdout.split() == [str(done).encode(), str(4 - done).encode(), b"0"]


def test_a_fault_of_the_program_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        ended("p", lambda: 1 // 0)
    with pytest.raises(SystemExit):
        ended("p", lambda: sys.exit(3))


def test_a_file_is_not_half_written_where_a_signal_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(handle: int) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(rws_files.os, "fsync", stopped)
    assert ended("p", lambda: len(str(rws_files.write_text(tmp_path / "a.txt", "text")))) == TERMINATED
    assert list(tmp_path.iterdir()) == []


# Disks that are full, folders that cannot be written: root may write anywhere, so that the calls are made to fail.


@pytest.mark.parametrize(
    ("call", "number"), [("fsync", errno.ENOSPC), ("mkstemp", errno.EACCES), ("replace", errno.EACCES)]
)
def test_failed_saves_keep_the_old(number: int, call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*GENERATE, "--trace", str(tmp_path)]
    old = b"what was there"
    (tmp_path / "trace.parquet").write_bytes(old)
    holder = rws_files.tempfile if call == "mkstemp" else rws_files.os
    with mock.patch.object(holder, call, side_effect=OSError(number, os.strerror(number))):
        assert decoding(words) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("python -m rws_decode generate: ") and os.strerror(number) in message
    assert [path.name for path in tmp_path.iterdir()] == ["trace.parquet"]
    assert (tmp_path / "trace.parquet").read_bytes() == old
    if number == errno.ENOSPC:  # nothing lost: the same command, once there is room
        assert decoding(words) == 0 and load_trace(tmp_path / "trace.parquet").length == 8
