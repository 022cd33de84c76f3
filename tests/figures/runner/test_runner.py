"""The runner: whatever is killed, fails or is damaged, every unit has its result once and nothing is half there."""

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest
import unit_work
from misuse import refused
from unit_work import ORIGIN

from paper_figures.runner import ResultsWarning, Unit, read_failures, read_unit_rows, run_units, runner, unit_hash
from paper_figures.runner.executors import Workers, kept_open, processes
from paper_figures.runner.parts import read_part, write_part
from paper_figures.runner.worker import Measured

ROWS = partial(unit_work.each, unit_work.rows)
ROOT = Path(runner.__file__).parents[2]
PATHS = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])


def parts(out: Path) -> list[Path]:
    return sorted(out.glob("tiny/units-*/*.parquet"))


def test_killed_again_and_again_ends_with_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count, batch = 200, 2
    monkeypatch.setenv("PYTHONPATH", PATHS)  # the server that forks imports what it preloads from there
    unit_work.run(tmp_path / "calm", count, unit_work.rows, batch=7)
    context = get_context("forkserver")
    context.set_forkserver_preload(["unit_work", "tqdm", "pandas", "pyarrow.parquet"])
    moments = random.Random(0)
    out, grew = tmp_path / "killed", []
    # Four times; more where the machine is so busy that four runs get nowhere.
    while len(grew) < 4 or (len(set(grew)) < 3 and len(grew) < 60):
        started = tmp_path / f"started-{len(grew)}"
        run = context.Process(target=unit_work.run_quietly, args=(str(out), count, batch, str(started)))
        run.start()
        while not started.exists():
            time.sleep(0.002)
        time.sleep(moments.uniform(0.0, 0.5))
        run.kill()
        run.join()
        assert run.exitcode == -signal.SIGKILL
        # Whatever is there is whole.
        assert all(read_part(path) for path in parts(out))
        grew.append(len(parts(out)))
    assert grew == sorted(grew) and len(set(grew)) > 2
    before = {path: path.stat().st_mtime_ns for path in parts(out)}
    report = unit_work.run(out, count, unit_work.rows, batch=batch)
    assert len(report.found) + len(report.computed) == count and not report.failed
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert unit_work.table(out) == unit_work.table(tmp_path / "calm")


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv("MARKS", str(tmp_path / "marks"))
    return tmp_path / "marks"


def test_rerun_computes_only_what_is_missing(marks: Path, tmp_path: Path) -> None:
    unit_work.run(tmp_path / "out", 10, unit_work.slow, batch=3)
    removed = parts(tmp_path / "out")[1]
    lost = read_part(removed).units
    removed.unlink()
    report = unit_work.run(tmp_path / "out", 14, unit_work.slow, batch=3)
    assert set(lost) <= set(report.computed) and len(report.computed) == len(lost) + 4
    assert sorted(Counter(unit_work.asked(marks)).values()) == [1] * (14 - len(lost)) + [2] * len(lost)
    unit_work.run(tmp_path / "calm", 14)
    assert unit_work.table(tmp_path / "out") == unit_work.table(tmp_path / "calm")


def test_pool_whose_process_is_killed_goes_on(marks: Path, tmp_path: Path) -> None:
    def kill() -> None:
        while len(unit_work.asked(marks)) < 5:
            time.sleep(0.005)
        os.kill(int(next(marks.glob("*")).name), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    report = unit_work.run(tmp_path / "out", 40, unit_work.slow, batch=2, backend=processes(1))
    killer.join()
    assert len(report.computed) == 40 and not report.failed
    unit_work.run(tmp_path / "calm", 40)
    assert unit_work.table(tmp_path / "out") == unit_work.table(tmp_path / "calm")


def test_failing_unit_is_recorded_and_retried_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENDED", str(tmp_path / "mended"))
    report = unit_work.run(tmp_path, 7, unit_work.failing, batch=3)
    assert len(report.failed) == 1 and len(report.computed) == 6
    (failure,) = read_failures(tmp_path)
    assert failure["unit"] == report.failed[0] and failure["fields"]["prompt"] == "prompt 2"
    assert failure["error"]["type"] == "KeyError" and "no such thing" in failure["error"]["message"]
    assert "unit_work.py" in failure["error"]["traceback"]
    assert "prompt 2" not in unit_work.prompts(tmp_path)
    (tmp_path / "mended").touch()
    assert unit_work.run(tmp_path, 7, unit_work.failing, batch=3).failed == report.failed
    mended = unit_work.run(tmp_path, 7, unit_work.failing, batch=3, retry_failed=True)
    assert mended.computed == report.failed and not mended.failed and not read_failures(tmp_path)
    assert set(unit_work.prompts(tmp_path)) == {f"prompt {number}" for number in range(7)}


def test_unit_that_ends_its_process_is_blamed_alone(tmp_path: Path) -> None:
    report = unit_work.run(tmp_path, 7, unit_work.exiting, batch=3, backend=processes(2))
    assert len(report.failed) == 1 and len(report.computed) == 6
    (failure,) = read_failures(tmp_path)
    assert failure["fields"]["prompt"] == "prompt 2" and failure["crashes"] == 3


def test_a_pool_serves_several_runs_and_is_replaced_if_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_MOST_CRASHES", 1)
    with kept_open(processes(1)) as backend:
        processes_of = [unit_work.run(tmp_path / name, 2, unit_work.who, backend=backend).read() for name in "ab"]
        assert len(set(processes_of[0]["pid"]) | set(processes_of[1]["pid"])) == 1
        assert len(unit_work.run(tmp_path / "c", 3, unit_work.exiting, backend=backend).failed) == 1
        assert len(unit_work.run(tmp_path / "d", 2, unit_work.who, backend=backend).computed) == 2


def test_ctrl_c_does_not_reach_a_process_that_still_starts(capfd: pytest.CaptureFixture[str]) -> None:
    process = Workers().Process(target=time.sleep, args=(0,))
    process.start()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join(60)
    assert process.exitcode == 0 and "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_full_disk_leaves_nothing_half_written(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = getattr(os, where), []

    def full(*args: object) -> object:
        calls.append(args)
        if len(calls) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args)

    monkeypatch.setattr(os, where, full)
    with pytest.raises(OSError, match="results cannot be written: No space left on device"):
        unit_work.run(tmp_path, 9, batch=2)
    monkeypatch.undo()
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in left} <= {".json", ".parquet"} and not list(tmp_path.rglob("*.failed.json"))
    assert len(parts(tmp_path)) == 2 and len(read_unit_rows(tmp_path)["unit"].unique()) == 4
    assert len(unit_work.run(tmp_path, 9, batch=2).computed) == 5


def test_damaged_and_foreign_files_are_named_and_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unit_work.run(tmp_path, 8, batch=2)
    whole = unit_work.table(tmp_path)
    cut, flipped, renamed, _ = parts(tmp_path)
    cut.write_bytes(cut.read_bytes()[:-20])
    data = bytearray(flipped.read_bytes())
    data[60] ^= 255
    flipped.write_bytes(bytes(data))
    renamed.rename(renamed.with_name("0" * 64 + ".parquet"))
    (cut.parent / "notes.txt").write_text("mine")
    with pytest.warns(ResultsWarning) as caught:
        assert len(read_unit_rows(tmp_path)["unit"].unique()) == 2
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 4 and all("\n" not in line for line in messages)
    for name in (cut.name, flipped.name, "0" * 64, "notes.txt"):
        assert sum(name in line for line in messages) == 1
    assert len(unit_work.run(tmp_path, 8, batch=2).computed) == 6
    assert cut.name in capsys.readouterr().err
    with pytest.warns(ResultsWarning):
        assert unit_work.table(tmp_path) == whole


def test_unit_in_two_parts_counts_once_and_a_difference_is_told(tmp_path: Path) -> None:
    unit_work.run(tmp_path, 4, batch=4)
    whole = unit_work.table(tmp_path)
    unit = unit_work.units(4)[1]
    name = unit_hash(unit, ORIGIN)
    same = [row | {"seconds": 3.0} for row in unit_work.rows(unit)]
    path = write_part(parts(tmp_path)[0].parent, [unit], [name], [same])
    assert [row | {"seconds": None} for row in whole[1:]] == [
        row | {"seconds": None} for row in read_unit_rows(tmp_path).to_dict("records")
    ]
    path.unlink()
    write_part(path.parent, [unit], [name], [[row | {"value": -1.0} for row in same]])
    with pytest.warns(ResultsWarning, match="differs from that in"):
        assert len(read_unit_rows(tmp_path)) == len(whole) - 1


def test_other_code_and_other_model_files_are_kept_apart(tmp_path: Path) -> None:
    unit_work.run(tmp_path, 4)
    first = read_unit_rows(tmp_path)
    other = replace(ORIGIN, code="other")
    report = run_units(unit_work.units(2), ROWS, tmp_path, origin=other, progress=False)
    assert len(report.computed) == 2 and read_unit_rows(tmp_path)["code"].unique().tolist() == [other.name]
    assert read_unit_rows(tmp_path, ORIGIN.name[:6]).equals(first)
    refused(lambda: read_unit_rows(tmp_path, "zz"), "code is 'zz': it must begin one of")
    trained = replace(other, models=dict.fromkeys(other.models, "new"))
    again = run_units(unit_work.units(2), ROWS, tmp_path, origin=trained, progress=False)
    assert len(again.computed) == 2
    with pytest.warns(ResultsWarning, match="2 units of earlier model files are left out"):
        assert set(read_unit_rows(tmp_path)["unit"]) == set(again.asked)


def test_worker_with_other_code_refuses(tmp_path: Path) -> None:
    strange = replace(ORIGIN, checked=True)
    run = partial(run_units, unit_work.units(2), ROWS, tmp_path, origin=strange, progress=False)
    refused(run, "has other code or library versions than this one")
    assert not parts(tmp_path) and not list(tmp_path.rglob("*.failed.json"))


def test_rows_without_results_and_traces_beside_rows(tmp_path: Path) -> None:
    class Table:
        def save(self, path: Path) -> Path:
            path.parent.mkdir(exist_ok=True)
            path.write_text("trace")
            return path

    def traced(unit: Unit) -> Measured:
        return Measured([{"value": 1}] if unit.seed else [], [Table()] if unit.seed else [])

    report = run_units(unit_work.units(4), partial(unit_work.each, traced), tmp_path, origin=ORIGIN, progress=False)
    frame = report.read()
    assert len(report.computed) == 4 and frame["prompt"].tolist() == ["prompt 1", "prompt 3"]
    assert all((report.folder / name).read_text() == "trace" for name in frame["trace"])
    again = run_units(unit_work.units(4), partial(unit_work.each, traced), tmp_path, origin=ORIGIN, progress=False)
    assert len(again.found) == 4


def test_pool_ends_with_the_process_that_made_it(marks: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time, unit_work\n"
        "from pathlib import Path\n"
        "from paper_figures.runner.executors import processes\n"
        "if __name__ == '__main__':\n"
        f"    unit_work.run(Path({str(tmp_path / 'out')!r}), 4000, unit_work.slow, backend=processes(1))\n"
    )
    (tmp_path / "main.py").write_text(code)
    run = subprocess.Popen([sys.executable, str(tmp_path / "main.py")], env=os.environ | {"PYTHONPATH": PATHS})
    while not unit_work.asked(marks):
        time.sleep(0.01)
    run.kill()
    run.wait()
    worker = int(next(marks.glob("*")).name)
    until = time.monotonic() + 60
    while time.monotonic() < until and _runs(worker):
        time.sleep(0.02)
    assert not _runs(worker)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # Gone, too, once nobody but init is left to ask for its status.
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
