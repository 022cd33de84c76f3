"""How a command ends: with a status and at most one line, whatever stops it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["CLOSED", "INTERRUPTED", "TERMINATED", "Terminated", "ended"]

# 128 and the number of the signal, as shells count them.
INTERRUPTED, CLOSED, TERMINATED = 130, 141, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM came: an interrupt like that of the keyboard, so that files half written are removed on the way out."""


def ended(program: str, run: Callable[[], int], note: str = "") -> int:
    """Run a command and return its exit status; one line on standard error says why where it is neither 0 nor its own.

    ValueError and OSError give 2; an interrupt `INTERRUPTED` and SIGTERM `TERMINATED`, the line ending in `note`; a
    reader that closes standard output early `CLOSED`, and no line. Standard output is flushed here, so that what it
    cannot take is told like any other failure. Any other exception is passed on: it is a fault of the program.

    >>> ended("add", lambda: 0)
    0
    """
    try:
        with _terminable():
            try:
                return run()
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
    except BrokenPipeError:
        _give_up_output()
        return CLOSED
    except (ValueError, OSError) as error:
        _give_up_output()
        return _told(f"{program}: {' '.join(str(error).split()) or type(error).__name__}", 2)
    except Terminated:
        return _told(f"{program}: terminated{note}", TERMINATED)
    except KeyboardInterrupt:
        return _told(f"{program}: interrupted{note}", INTERRUPTED)


def _told(line: str, status: int) -> int:
    try:
        print(line, file=sys.stderr, flush=True)
    except BrokenPipeError:
        return CLOSED
    return status


def _give_up_output() -> None:
    # What a full or closed output did not take would be tried again at exit, and fail with a traceback.
    out = sys.stdout
    if out is None:
        return
    try:
        out.flush()
    except OSError:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        except (OSError, ValueError):
            return


@contextmanager
def _terminable() -> Iterator[None]:
    """Raise `Terminated` where SIGTERM comes, unless whoever called this process has it ignored or handled."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        # Once: a second one ends the process at once.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
