"""The runner on a local Dask cluster: a worker killed mid-run costs nothing, and one that dies of a unit is found."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import unit_work
from distributed import LocalCluster
from misuse import refused

from paper_figures.runner import on_cluster, read_failures
from paper_figures.runner.executors import _tell_waiting

pytestmark = pytest.mark.filterwarnings("default")  # what Dask warns of is not ours

UNITS = 40


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a cluster of two worker processes, whose tasks may die with their worker but once."""
    import dask

    os.environ["MARKS"] = str(tmp_path_factory.mktemp("marks"))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
    ):
        yield cluster.scheduler_address
    del os.environ["MARKS"]


def test_killed_worker_loses_nothing(scheduler: str, tmp_path: Path) -> None:
    backend = on_cluster(scheduler)
    marks = Path(os.environ["MARKS"])
    killed = []

    def kill() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and not killed:
            busy = sorted(marks.glob("*"))
            if len(busy) == 2 and len(unit_work.asked(marks)) >= 6:
                killed.append(int(busy[0].name))
                os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.005)

    killer = threading.Thread(target=kill)
    killer.start()
    report = unit_work.run(tmp_path / "cluster", UNITS, unit_work.slow, batch=2, backend=backend)
    killer.join()
    assert killed and not report.failed and len(report.computed) == UNITS
    unit_work.run(tmp_path / "calm", UNITS, unit_work.rows)
    assert unit_work.table(tmp_path / "cluster") == unit_work.table(tmp_path / "calm")
    # And nothing is left to do.
    again = unit_work.run(tmp_path / "cluster", UNITS, unit_work.slow, batch=2, backend=backend)
    assert not again.computed and len(again.found) == UNITS


def test_unit_that_ends_its_worker_is_recorded_alone(scheduler: str, tmp_path: Path) -> None:
    report = unit_work.run(tmp_path, 6, unit_work.exiting, backend=on_cluster(scheduler))
    assert len(report.failed) == 1 and len(report.computed) == 5
    (failure,) = read_failures(tmp_path)
    assert failure["fields"]["prompt"] == "prompt 2" and failure["error"]["type"] == "KilledWorker"


def test_a_scheduler_that_is_not_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text("{}")
    nobody = r"no Dask scheduler answers there"
    refused(lambda: on_cluster("tcp://127.0.0.1:9", timeout=0.5), f"scheduler is tcp://127.0.0.1:9: {nobody}")
    refused(lambda: on_cluster(str(file)), f"scheduler.json: {nobody} (the file is not one that")
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused(lambda: on_cluster("tcp://127.0.0.1:8786"), 'Dask is not installed; run pip install "rws-toolkit[cluster]"')


def test_a_cluster_without_workers_is_waited_for_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    over = threading.Event()
    _tell_waiting("tcp://here", over.set, over)
    assert capsys.readouterr().err == "waiting for workers of tcp://here ...\n"


@pytest.mark.long
def test_a_cluster_without_workers_is_waited_for_in_words_and_until_a_signal(tmp_path: Path) -> None:
    words = "experiment controls --prompts 1 --length 4 --steps 2 --block 4 --scheduler".split()
    with LocalCluster(n_workers=0, dashboard_address=None, scheduler_port=0) as cluster:
        command = [sys.executable, "-m", "paper_figures", *words, cluster.scheduler_address, "--out", str(tmp_path)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            killer = threading.Timer(300, process.kill)
            killer.start()
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            waiting = any(line == f"waiting for workers of {cluster.scheduler_address} ...\n" for line in lines)
            process.terminate()
            assert process.wait() == 143 and waiting
            killer.cancel()
