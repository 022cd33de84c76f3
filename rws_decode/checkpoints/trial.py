"""Try a checkpoint's tokenizer and templates in a copy of this process, with limits on time and memory."""

from __future__ import annotations

import os
import select
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

_SECONDS = 10  # a thousand times what a text of some pages takes


def tried(work: Callable[[], object]) -> None:
    """Do some work in a copy of this process; ValueError where it would not end here, or would fill the memory.

    The copy has 10 seconds of processor time, which pass no faster on a busy machine, and 1 GB of new memory. What the
    work raises is left to whoever does it here. It is tried on Linux alone: elsewhere libraries do not survive a copy.
    """
    if sys.platform != "linux":
        return
    ended, end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the copy does without
        copy = os.fork()
    if not copy:
        _do(work)
    os.close(end)
    try:
        select.select([ended], [], [], 12 * _SECONDS)  # until the copy ends, and with it its side of the pipe
    finally:
        os.kill(copy, signal.SIGKILL)
        _, status = os.waitpid(copy, 0)
        os.close(ended)
    if status:
        raise ValueError(f"the tokenizer or its chat template takes more than {_SECONDS} s or 1 GB for a text")


def _full(frame: FrameType, event: str, raised: Any) -> Any:
    """End the process at a MemoryError, even a caught one: with more memory, the work it skips would be done."""
    frame.f_trace_lines = False
    if event == "exception" and issubclass(raised[0], MemoryError):
        os._exit(1)
    return _full


def _do(work: Callable[[], object]) -> NoReturn:
    status = 0
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + 2**30
        for kind, limit in ((resource.RLIMIT_CPU, _SECONDS), (resource.RLIMIT_AS, most), (resource.RLIMIT_CORE, 0)):
            hard = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads are not copied
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.settrace(_full)
        work()
    except MemoryError:
        status = 1
    finally:
        os._exit(status)
