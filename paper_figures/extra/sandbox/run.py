"""Run a generated program against its checks, in two confined processes, and say how that ended."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from paper_figures.extra.sandbox import worker
from paper_figures.extra.sandbox.bubblewrap import (
    ENVIRONMENT,
    SCRATCH,
    Limits,
    check_bubblewrap,
    confined,
    in_memory,
    interpreter,
    rules,
)

Status = Literal["passed", "wrong", "error", "ended", "time", "output", "refused"]
STATUSES: dict[Status, str] = {
    "passed": "every check holds",
    "wrong": "a check does not hold",
    "error": "the program raised an exception",
    "ended": "its process ended, or was killed for its use of memory or processor time, before it had answered",
    "time": "the wall time was used up",
    "output": "it wrote more than the limit",
    "refused": "it handed back something other than plain data",
}
_START_SECONDS = 60.0
_ENDING_SECONDS = 0.5
_KEPT = 4096


@dataclass(frozen=True)
class Execution:
    """How one program fared: `status` (see STATUSES) and a line of `detail`.

    seconds: of wall time in the program and its checks; output: the first 4096 bytes that it wrote, decoded.
    """

    status: Status
    detail: str
    seconds: float
    output: str

    @property
    def passed(self) -> bool:
        """True where every check holds."""
        return self.status == "passed"


def execute(
    program: str,
    test: str,
    entry_point: str,
    *,
    setup: str = "",
    allow_code_execution: bool = False,
    limits: Limits | None = None,
) -> Execution:
    """Run `program`, then the `check(candidate)` that `test` defines on its function `entry_point`.

    setup: code of trusted origin that the checks may use (HumanEval's prompt, for the helpers that it defines).

    Program and checks run in two processes, both under bubblewrap. The program gets no network, a scratch directory
    that is removed, an empty environment, and `limits`. The verdict comes from the checking process, in which no line
    of the program runs: calls and values pass between the two as plain data. So the program cannot change the verdict
    by its exit status, printed text, patched modules or stack frames, and it cannot read the checks. Only a hole in the
    kernel lets a wrong program pass. A value other than plain data fails. Where the program changes an argument in
    place, the checks do not see it.

    An exception that the function lets out fails the program, unless the check expects it in a `try` of its own.
    StopIteration and StopAsyncIteration, which end a `zip(map(candidate, ...))` in silence, reach the check as
    RuntimeError, as PEP 479 does it for generators. No check of HumanEval expects an exception.

    ValueError unless allow_code_execution is True, where bubblewrap does not work, and for a test that is broken by
    itself; OSError where the confined processes do not start.

    >>> execute("", "", "f")
    Traceback (most recent call last):
    ValueError: allow_code_execution is False: generated programs run only where it is True
    """
    if allow_code_execution is not True:
        raise ValueError(
            f"allow_code_execution is {allow_code_execution!r}: generated programs run only where it is True"
        )
    check_bubblewrap()
    limits = Limits() if limits is None else limits
    job = {"entry_point": entry_point, "limits": asdict(limits), "scratch": SCRATCH}
    with contextlib.ExitStack() as stack:
        pipes = [stack.enter_context(_Pipe()) for _ in range(5)]
        calls, replies, verdict, output, complaints = pipes
        start = _starter(stack, limits)
        candidate = start(
            job | {"role": "candidate", "program": program, "requests": calls.reader, "replies": replies.writer},
            (calls.reader, replies.writer),
            output.writer,
        )
        checker = start(
            job
            | {"role": "checker", "setup": setup, "test": test}
            | {"requests": calls.writer, "replies": replies.reader, "verdict": verdict.writer},
            (calls.writer, replies.reader, verdict.writer),
            complaints.writer,
        )
        # Each end lives in one process only, so that the end of that process is the end of the file.
        for pipe, kept in zip(pipes, ("", "", "reader", "reader", "reader"), strict=True):
            pipe.keep(kept)
        return _supervise(verdict.reader, output.reader, complaints.reader, candidate, checker, limits)


class _Pipe:
    def __enter__(self) -> _Pipe:
        self.reader, self.writer = os.pipe()
        self._open = {"reader": self.reader, "writer": self.writer}
        return self

    def keep(self, end: str) -> None:
        for name in [name for name in self._open if name != end]:
            os.close(self._open.pop(name))

    def __exit__(self, *_: object) -> None:
        self.keep("")


@dataclass(frozen=True)
class _Worker:
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        self.process.kill()  # also where it has left its group
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ending(self) -> str:
        """Return how the process ended, giving it a moment to; empty where it lives."""
        try:
            code = self.process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return ""
        if code < 0 or code > 128:  # bubblewrap reports signal n as status 128 + n
            number = -code if code < 0 else code - 128
            return f"killed by {signal.Signals(number).name}" if number in set(signal.Signals) else f"status {code}"
        return f"exit status {code}"


def _starter(stack: contextlib.ExitStack, limits: Limits) -> Callable[[dict[str, Any], tuple[int, ...], int], _Worker]:
    """Return a function that starts a confined process for a job; the stack kills it in the end."""
    source = Path(worker.__file__).read_text(encoding="utf-8")
    # -P -s -S: neither the working directory nor any installed package can be imported. -u: what a program writes is
    # there before it answers.
    words = [interpreter(), "-P", "-s", "-S", "-B", "-u", "-X", "utf8", "-c", source]

    def start(job: dict[str, Any], descriptors: tuple[int, ...], output: int) -> _Worker:
        with in_memory(json.dumps(job).encode()) as paper, rules() as refused:
            process = subprocess.Popen(
                confined(words, limits, refused.fileno()),
                stdin=paper,
                stdout=output,
                stderr=output,
                pass_fds=(*descriptors, refused.fileno()),
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        started = _Worker(process)
        stack.callback(started.kill)
        return started

    return start


def _supervise(
    verdict: int, output: int, complaints: int, candidate: _Worker, checker: _Worker, limits: Limits
) -> Execution:
    """Read both processes until the verdict is there or a limit is reached."""
    begun: float | None = None
    deadline = time.monotonic() + _START_SECONDS
    texts = {verdict: b"", output: b"", complaints: b""}
    written = 0
    outcome: tuple[Status, str] | None = None
    with selectors.DefaultSelector() as selector:
        for descriptor in texts:
            selector.register(descriptor, selectors.EVENT_READ)
        while outcome is None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                if begun is None:
                    raise OSError(f"the sandbox did not start: {_last_line(texts)}")
                outcome = ("time", f"more than {limits.seconds:g} s")
                break
            # The verdict last, so that what was written before it has been read.
            for key, _ in sorted(selector.select(min(remaining, 0.05)), key=lambda event: event[0].fd == verdict):
                chunk = os.read(key.fd, 2**16)
                if not chunk:
                    selector.unregister(key.fd)
                if key.fd == output:
                    written += len(chunk)
                    chunk = chunk[: max(0, _KEPT - len(texts[output]))]
                if len(texts[key.fd]) < 2**16:
                    texts[key.fd] += chunk
            if begun is None and texts[verdict].startswith(b'{"status": "begun"}\n'):
                begun = time.monotonic()
                deadline = begun + limits.seconds
            if written > limits.output_bytes:
                outcome = ("output", f"more than {limits.output_bytes} bytes")
            elif verdict not in selector.get_map():
                if begun is None:
                    raise OSError(f"the sandbox did not start: {_last_line(texts)}")
                outcome = _outcome(texts[verdict], candidate, checker)
    seconds = 0.0 if begun is None else time.monotonic() - begun
    return Execution(*outcome, seconds, texts[output].decode("utf-8", "replace"))


def _outcome(verdict: bytes, candidate: _Worker, checker: _Worker) -> tuple[Status, str]:
    """Return status and detail of what the checking process wrote."""
    lines = [json.loads(line) for line in verdict.splitlines()]
    if len(lines) < 2:
        return "ended", f"the checks were cut short: {checker.ending()}"
    status, detail = lines[1]["status"], lines[1]["detail"]
    if status == "broken test":
        raise ValueError(f"test cannot be used: {detail}")
    if status == "ended" and (ending := candidate.ending()):
        detail += f" ({ending})"
    return status, detail


def _last_line(texts: dict[int, bytes]) -> str:
    lines = b"\n".join(texts.values()).decode("utf-8", "replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "nothing was said")
