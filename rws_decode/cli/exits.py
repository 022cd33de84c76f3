"""How a command ends: with a status and at most one line, whatever stops it."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from types import FrameType
from typing import Any, cast

from rws_theory.extras import not_installed
from rws_theory.show import printable

LONGEST = 300  # characters of an error, beside the paths that it names: the middle of a longer one is left out
# 128 and the number of the signal, as shells count them.
INTERRUPTED, CLOSED, TERMINATED = 130, 141, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived. Like an interrupt from the keyboard, it lets files half written be removed on the way out."""


def ended(program: str, run: Callable[[], int], note: str = "") -> int:
    """Run a command and return its exit status.

    What stops it gives a status and one line on standard error:

    - ValueError and OSError: 2, with the error's message.
    - An absent package: 2, with the command that installs it (`extras.not_installed`).
    - An interrupt: `INTERRUPTED`. SIGTERM: `TERMINATED`. The line ends with `note`.
    - A reader that closes standard output early: `CLOSED`, and no line.

    Standard output is flushed here, so that a full disk is reported like any other failure. A character that its
    encoding lacks is printed as an escape. What standard error cannot take, closed or full, is dropped: the answer does
    not depend on it. Any other exception is a fault of the program and is passed on.
    """
    try:
        with _streams(), _terminable():
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
        return _report(error_line(program, str(error).strip() or type(error).__name__), 2)
    except ModuleNotFoundError as error:
        package = (error.name or __name__).partition(".")[0]
        if find_spec(package) is not None:
            raise
        return _report(f"{program}: {not_installed(package)}", 2)
    except Terminated:
        return _report(f"{program}: terminated{note}", TERMINATED)
    except KeyboardInterrupt:
        return _report(f"{program}: interrupted{note}", INTERRUPTED)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return _report(error_line(program, str(error)), 2)  # tokenizers raises it for text, too


def error_line(program: str, message: str) -> str:
    """Return an error as the line that ends a command; of a long message the middle is left out."""
    paths = sum(len(word) for word in message.split() if "/" in word)
    return f"{program}: {printable(message.strip(), LONGEST + min(paths, 4 * LONGEST))}"


def _report(line: str, status: int) -> int:
    with _streams():
        print(line, file=sys.stderr, flush=True)
    return status


def _give_up_output() -> None:
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError:
            _discard(sys.stdout)


def _discard(stream: Any) -> None:
    # Python would try again at exit to write what a full or closed stream did not take, and print a traceback.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Spare:
    """Standard error that never stops a command: it drops what the stream below does not take."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        try:
            self.stream.write(text)
        except OSError:
            _discard(self.stream)
        return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except OSError:
            _discard(self.stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def _streams() -> Iterator[None]:
    """Let standard output show every character, and standard error take what it can."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    before = sys.stderr
    if not isinstance(before, _Spare):
        sys.stderr = cast(Any, _Spare(before or io.StringIO()))
    try:
        yield
    finally:
        sys.stderr = before


@contextmanager
def _terminable() -> Iterator[None]:
    """Raise `Terminated` when SIGTERM arrives, unless the caller of this process ignores or handles it."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        # A second SIGTERM ends the process at once.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
