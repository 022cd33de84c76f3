"""Processes as a launcher starts them, for tests: by accelerate itself, or one by one, to be watched alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import unit_work

from rws_decode.distributed import launched
from rws_decode.experiments.launched import run_together
from rws_decode.experiments.units import Unit

__all__ = ["UNITS", "accelerated", "finished", "one_by_one"]

ROOT, TESTS = Path(__file__).parents[1], Path(__file__).parent
UNITS = 24


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join(map(str, (ROOT, TESTS)))
    return os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"} | more


def accelerated(*words: str) -> subprocess.CompletedProcess[str]:
    """Run something in two processes of `accelerate launch`."""
    options = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no"]
    options += ["--dynamo_backend", "no", "--main_process_port", str(free_port())]
    command = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", *options, *words]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)


def one_by_one(words: Sequence[str], **more: str) -> list[subprocess.Popen[str]]:
    """Start two processes as a launcher does, the first of which is waited for by nobody."""
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())} | more
    return [
        subprocess.Popen(
            [sys.executable, *words],
            env=environment(RANK=str(rank), LOCAL_RANK=str(rank), **shared),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]


def finished(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """Return status, standard output and standard error of each."""
    found = [process.communicate(timeout=120) for process in processes]
    return [(process.returncode, *told) for process, told in zip(processes, found, strict=True)]


def dying(unit: Unit) -> list[dict[str, Any]]:
    """Return the unit's rows, but for DYING of "R N" end the process of rank R when it is asked for its N-th unit.

    The other waits for that with its second unit, or it might do all the work before.
    """
    asked.append(unit.prompt)
    if "DYING" in os.environ:
        rank, number = os.environ["DYING"].split()
        last_words = Path(f"{sys.argv[1]} dying")
        if os.environ["RANK"] != rank:
            if len(asked) == 2:
                wait_for(last_words)
        elif len(asked) == int(number):
            last_words.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return unit_work.rows(unit)


def wait_for(path: Path, seconds: float = 60.0) -> None:
    """Return once a file is there; RuntimeError if it does not come."""
    until = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > until:
            raise RuntimeError(f"{path} does not come")
        time.sleep(0.01)


asked: list[str] = []


def run(args: Namespace) -> int:
    """Run units in this process and its peer; print how many were computed."""
    import launched_processes  # by the name that the peer knows the work by

    report = unit_work.run(Path(args.out), UNITS, launched_processes.dying, backend=args.backend)
    print(len(report.computed), args.workers)
    return 0


if __name__ == "__main__":
    place = launched()
    assert place is not None
    try:
        options = Namespace(out=sys.argv[1], threads=None, workers=1, scheduler=None, batch=1, device="cpu")
        sys.exit(run_together(place, options, run))
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
