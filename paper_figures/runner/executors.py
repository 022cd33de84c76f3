"""Where units run: in this process, in a pool of processes, or on a Dask cluster.

A Dask cluster is joined by the address of its scheduler or by its scheduler file; `dask` and `distributed` are an extra
(`pip install "rws-toolkit[cluster]"`). Workers need the same code and libraries, which they check. They must see the
folder of the results under the same path, as they write them. One thread per worker, and one worker per GPU, is right:
models are loaded once per process. Started by hand:

    dask scheduler --scheduler-file /shared/scheduler.json
    dask worker --scheduler-file /shared/scheduler.json --nthreads 1        (on every node, as often as wanted)
    rws experiment NAME --out /shared/out --scheduler /shared/scheduler.json

`docs/clusters.md` has the commands for a worker per GPU, for Slurm and for Kubernetes.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any

from rws_decode.cli.options import option
from rws_decode.cli.progress import tell
from rws_decode.common.files import read_json
from rws_decode.common.threads import MOST_THREADS, hold_threads

_PATIENCE = 0.5  # seconds that a process which is told to end has to remove the file that it writes


@dataclass(frozen=True)
class Backend:
    """A place to run units: how an executor is opened there, and how many batches it works on at once.

    replaceable: whether a broken one may be replaced by a new one.
    """

    open: Callable[[], AbstractContextManager[Executor]]
    slots: int
    replaceable: bool = True


def in_process(threads: int | None = None) -> Backend:
    """Run units in this process, one batch after another. threads: of PyTorch, as `torch_threads` has it if None."""

    @contextmanager
    def opened() -> Iterator[Executor]:
        context = copy_context()
        context.run(set_threads, threads)
        yield _Inline(context)

    return Backend(opened, 1)


class _Inline(Executor):
    """Call what is submitted at once, in the thread that submits it, so that an interrupt stops the call itself."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(self.context.run(fn, *args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def processes(workers: int, threads: int | None = 1) -> Backend:
    """Run units in a pool of spawned processes, replaced if one of them dies. threads: of PyTorch, in each.

    The processes end with this one, even where it is killed. An exception or interrupt in this process ends them within
    a second or two: the batches in work are lost, and files are whole or absent.
    """
    if workers < 1:
        raise ValueError(f"workers is {workers}: at least 1 is needed")

    @contextmanager
    def opened() -> Iterator[Executor]:
        context = Workers()
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker, initargs=(threads,))
        try:
            yield pool
        except BaseException:
            context.end()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    return Backend(opened, workers)


def on_cluster(scheduler: str, *, timeout: float = 30.0) -> Backend:
    """Run units on the Dask cluster whose scheduler has this address, or whose scheduler file has this path.

    Dask runs a batch again whose worker died, three times at most (`distributed.scheduler.allowed-failures`).
    ValueError in one line where Dask is not installed, or nothing answers within `timeout` seconds.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError(
            f'scheduler is {scheduler}: Dask is not installed; run pip install "rws-toolkit[cluster]"'
        ) from error

    def connect() -> Client:
        try:
            address = _address_in(Path(scheduler)) if Path(scheduler).is_file() else scheduler
            return Client(address, timeout=timeout, set_as_default=False)
        except (OSError, ValueError) as error:  # TimeoutError is an OSError
            reason = " ".join(str(error).split())
            raise ValueError(f"scheduler is {scheduler}: no Dask scheduler answers there ({reason})") from error

    with connect() as client:
        by_worker: Any = client.nthreads()  # declared as what an asynchronous client returns
        threads = sum(by_worker.values())

    @contextmanager
    def opened() -> Iterator[Executor]:
        with connect() as client:
            over, executor = threading.Event(), client.get_executor(pure=False)
            threading.Thread(target=_tell_waiting, args=(scheduler, client.nthreads, over), daemon=True).start()
            try:
                yield executor
            finally:
                over.set()
                # Whoever is done has no batch left, and whoever is stopped waits for none.
                executor.shutdown(wait=False)

    # Workers may join later; what waits at the scheduler costs nothing.
    return Backend(opened, max(threads, 64), replaceable=False)


def _address_in(file: Path) -> str:
    held = read_json(file)
    if not isinstance(held, dict) or not isinstance(held.get("address"), str):
        raise ValueError("the file is not one that a Dask scheduler writes")
    return held["address"]


def _tell_waiting(scheduler: str, workers: Callable[[], Any], over: threading.Event) -> None:
    """Say on standard error that a cluster has no workers, at once and every 30 seconds, until `over` is set."""
    try:
        while not over.is_set():
            if not workers():
                tell(f"waiting for workers of {scheduler} ...")
            over.wait(30)
    except Exception:  # the client is closed, or the scheduler gone, which the run says
        return


@contextmanager
def kept_open(backend: Backend) -> Iterator[Backend]:
    """Yield the backend with one executor for several runs, whose processes keep the models that they have loaded.

    A broken executor is replaced when it is opened the next time, where the backend's may be.
    """
    with ExitStack() as stack:
        opened: list[Executor] = []

        @contextmanager
        def same() -> Iterator[Executor]:
            if opened and backend.replaceable and _broken(opened[0]):
                stack.pop_all().close()
                opened.clear()
            if not opened:
                opened.append(stack.enter_context(backend.open()))
            yield opened[0]

        yield replace(backend, open=same)


def _broken(executor: Executor) -> bool:
    try:
        return isinstance(executor.submit(int).exception(), BrokenExecutor)
    except BrokenExecutor:
        return True


@dataclass(frozen=True)
class RunOptions:
    """Where results go, and where and how units run.

    shared: a backend that is taken as it is. Who runs several studies over one pool of processes gives it.
    """

    out: str = option(help="results go to DIR/STUDY", metavar="DIR")
    workers: int = option(1, "processes that units are spread over", least=1, most=MOST_THREADS)
    scheduler: str | None = option(
        None, "Dask scheduler, or its scheduler file, in their place", metavar="ADDRESS", instead_of="workers"
    )
    threads: int | None = option(
        None, "PyTorch threads per process (default: 1); others may change last digits", least=1, most=MOST_THREADS
    )
    batch: int = option(16, "most answers per decode", least=1)
    retry_failed: bool = option(False, "run units again that failed before")
    dry_run: bool = option(False, "count units, forwards and reward calls, time a few units, and keep nothing")
    shared: Backend | None = field(default=None, kw_only=True)

    def backend(self) -> Backend:
        """Return the backend that the options name; ValueError as `on_cluster` raises it."""
        if self.shared is not None:
            return self.shared
        if self.scheduler is not None:
            return on_cluster(self.scheduler)
        return in_process(self.threads) if self.workers == 1 else processes(self.workers, self.threads or 1)


class _Worker(SpawnProcess):
    def start(self) -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Workers(SpawnContext):
    """Spawned processes that Ctrl-C does not reach: while one still imports, it would print a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[_Worker] = []

    def Process(self, *args: Any, **kwargs: Any) -> _Worker:  # type: ignore[override]
        self.started.append(_Worker(*args, **kwargs))
        return self.started[-1]

    def end(self) -> None:
        """End every process: one that does not follow SIGTERM in `_PATIENCE` seconds is killed."""
        alive = [process for process in self.started if process.is_alive()]
        for process in alive:
            process.terminate()
        until = time.monotonic() + _PATIENCE
        for process in alive:
            process.join(max(0.0, until - time.monotonic()))
            process.kill()


def _begin_worker(threads: int | None) -> None:
    # Ctrl-C reaches every process of a terminal: the one that asks ends, and tells this one to.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, _leave)
    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            # A pool's process waits for ever on a parent that was killed, and keeps its models in memory.
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()
    set_threads(threads)


def _leave(*_: Any) -> None:
    # The exception removes a file that is half written. A pool hands it on as a result, so an alarm ends the process.
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE / 2)
    raise SystemExit(1)


def set_threads(threads: int | None) -> None:
    """Set how many threads PyTorch has in this process, loaded or yet to be, and decodes with; None leaves both."""
    # Work that does without PyTorch need not wait for it; what loads it later reads the variable.
    if threads is not None:
        hold_threads(threads)
        os.environ["OMP_NUM_THREADS"] = str(threads)
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(threads)
