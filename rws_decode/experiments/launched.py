"""An experiment under `accelerate launch` or `torchrun`: the first process runs it, all of them decode.

    accelerate launch --num_processes 4 -m rws_decode experiment NAME --out DIR --device cuda

Every process has a device of its own: `cuda` is the LOCAL_RANK-th that its machine shows, and no other is seen by it.
The first process does all that it does alone (rounds, tables, results.json, standard output), and hands batches to the
others and to itself, one at a time to whoever is free; they are cut as ever, so that results are the same. Whoever
computes a batch writes it: all machines must see --out under the same path. The others print nothing and end with the
first.

No process waits for one that is gone. They find each other through the launcher's store, within `PATIENCE` seconds, and
then keep a socket to the first, which the operating system closes with the process: the first then ends in one line,
another at once or after its batch. What is on disk stays, and the same call with any number of processes does what is
missing. A unit that ends the process that it runs in ends the run: `--workers` finds such units and records them.

What goes over the sockets is pickled, as between the processes of `torch.distributed`: only processes of this run take
part, by a key of its own that the launcher's store holds, and whoever reads that store could too. Use a network that
you trust.

`accelerate launch --cpu` starts one process where there is no MPI; `accelerate launch --multi_gpu --num_processes N`
with `--device cpu` starts N on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import secrets
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from multiprocessing.connection import Client, Connection, Listener
from queue import SimpleQueue
from typing import Any

from rws_decode.distributed import Place
from rws_decode.experiments.executors import backend_of, given, set_threads

__all__ = ["PATIENCE", "check_launched", "own_device", "run_together"]

PATIENCE = timedelta(minutes=10)
_DEVICES = ("device", "reward_device")


def own_device(place: Place, visible: str | None) -> str:
    """Return what CUDA_VISIBLE_DEVICES is to be in a process, "" for none, where it was `visible`, None for not set.

    >>> own_device(Place(5, 1, 8), None), own_device(Place(5, 1, 8), "4,6"), own_device(Place(5, 1, 8), "4")
    ('1', '6', '')
    """
    if visible is None:
        return str(place.local)
    listed = visible.split(",")
    return listed[place.local] if place.local < len(listed) else ""


def run_together(place: Place, args: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Run an experiment in the first process, work for it in the others; return the exit status.

    run: called in the first, with the options and among them a `backend` of all processes. In the first alone,
    ValueError as `check_launched` has it and where a process lacks the CUDA device that it is to use, ConnectionError
    where one is gone, TimeoutError where one does not come.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = own_device(place, os.environ.get("CUDA_VISIBLE_DEVICES"))
    set_threads(args.threads)
    if place.rank:
        return _serve(place, _lacking(place, args))
    with _gathered(place) as (peers, told):
        check_launched(place, args)
        for problem in (_lacking(place, args), *told):
            if problem:
                raise ValueError(problem)
        with _Together(peers, args.threads) as executor:
            own = {"backend": given(executor, place.size), "workers": place.size}
            try:
                return run(argparse.Namespace(**(vars(args) | own)))
            except ValueError as error:
                if executor.gone is None:
                    raise
                raise ConnectionError(f"{executor.gone}: run again to do what is missing") from error


def check_launched(place: Place, args: argparse.Namespace) -> None:
    """Raise ValueError for options that several processes do not take: workers, a scheduler, a device's index."""
    several = f"{place.size} processes were launched"
    for name, usual in (("workers", 1), ("scheduler", None)):
        if (value := getattr(args, name)) != usual:
            raise ValueError(f"--{name} is {value}: {several}, which share the work; leave it out")
    for name in _DEVICES:
        if ":" in (value := getattr(args, name, None) or ""):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: {several}, each with its own; name no index")
    backend_of(args)  # refuses numbers that are none


def _lacking(place: Place, args: argparse.Namespace) -> str:
    """Return what this process lacks, in one line; "" where it has the device that it is to use."""
    import torch

    asked = [name for name in _DEVICES if (getattr(args, name, None) or "").startswith("cuda")]
    if not asked or torch.cuda.is_available():
        return ""
    return f"--{asked[0].replace('_', '-')} is cuda: process {place.rank} has none, one for each process is needed"


@contextmanager
def _gathered(place: Place) -> Iterator[tuple[list[Connection], list[str]]]:
    """Yield a connection to every other process, and what each of them lacks; at the end they are told to end."""
    store = _store()
    key = secrets.token_bytes(32)
    peers: list[Connection] = []
    try:
        with Listener((os.environ["MASTER_ADDR"], 0), backlog=place.size, authkey=key) as listener:
            store.set("rws_decode", json.dumps([*listener.address, key.hex()]))
            for rank in range(1, place.size):
                _wait(store, f"rws_decode {rank}")
                peers.append(listener.accept())
            told = [peer.recv() for peer in peers]
    except EOFError as error:
        raise ConnectionError("a launched process is gone before the first batch") from error
    try:
        yield peers, told
    finally:
        for peer in peers:
            with suppress(OSError):
                peer.send(None)
                peer.close()


def _serve(place: Place, problem: str) -> int:
    """Do what the first process asks until it ends; return 0 where it said so, 1 where it is gone."""
    store = _store()
    _wait(store, "rws_decode")
    host, port, key = json.loads(store.get("rws_decode"))
    store.set(f"rws_decode {place.rank}", "")
    try:
        with Client((host, port), authkey=bytes.fromhex(key)) as first:
            first.send(problem)
            while (asked := first.recv()) is not None:
                function, words, named = asked
                try:
                    answer = (function(*words, **named), None)
                except (Exception, SystemExit) as error:
                    answer = (None, _portable(error))
                first.send(answer)
    except (EOFError, ConnectionError):
        return 1
    return 0


def _store() -> Any:
    from torch.distributed.rendezvous import rendezvous

    store, _, _ = next(rendezvous("env://", timeout=PATIENCE))
    return store


def _wait(store: Any, name: str) -> None:
    from torch.distributed import DistError

    try:
        store.wait([name], PATIENCE)
    except DistError as error:
        raise TimeoutError(f"a launched process did not come within {PATIENCE.total_seconds():g} s") from error


def _portable(error: BaseException) -> BaseException:
    """Return an error that another process can read, with its traceback as a note."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))  # of this process's own making
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Together(ThreadPoolExecutor):
    """An executor over this process and those at the other ends of connections; broken once one of them is gone."""

    def __init__(self, peers: Sequence[Connection], threads: int | None = None) -> None:
        super().__init__(len(peers) + 1, initializer=set_threads, initargs=(threads,))
        self.gone: str | None = None
        self._free: SimpleQueue[Connection | None] = SimpleQueue()
        for peer in (None, *peers):
            self._free.put(peer)

    def submit(self, fn: Callable[..., Any], /, *words: Any, **named: Any) -> Future[Any]:
        """Have fn called by whichever process is free."""
        return super().submit(self._call, fn, words, named)

    def __exit__(self, *error: object) -> None:
        self.shutdown(cancel_futures=True)

    def _call(self, fn: Callable[..., Any], words: tuple[Any, ...], named: dict[str, Any]) -> Any:
        peer = self._free.get()
        try:
            if self.gone is not None:
                raise BrokenExecutor(self.gone)
            return fn(*words, **named) if peer is None else self._ask(peer, (fn, words, named))
        finally:
            self._free.put(peer)

    def _ask(self, peer: Connection, task: tuple[Any, ...]) -> Any:
        try:
            peer.send(task)
            found, error = peer.recv()
        except (EOFError, OSError) as problem:
            self.gone = "a launched process is gone"
            raise BrokenExecutor(self.gone) from problem
        if error is not None:
            raise error
        return found
