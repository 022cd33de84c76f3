"""Run a generated program against its checks, in two confined processes, and say how that ended."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from paper_figures.sandbox import worker
from paper_figures.sandbox.isolation import (
    ISOLATIONS,
    SCRATCH,
    Isolation,
    Limits,
    available_isolations,
    command,
    environment,
    interpreter,
    process_limit,
    visible_paths,
)

__all__ = ["STATUSES", "Execution", "Status", "execute"]

Status = Literal["passed", "wrong", "error", "ended", "time", "output", "disk", "refused"]
STATUSES: dict[Status, str] = {
    "passed": "every check holds",
    "wrong": "a check does not hold",
    "error": "the program raised an exception",
    "ended": "its process ended, or was killed for its use of memory or processor time, before it had answered",
    "time": "the wall time was used up",
    "output": "it wrote more than the limit",
    "disk": "its scratch directory grew beyond the limit",
    "refused": "it handed back something other than plain data",
}
_START_SECONDS = 60.0
_KEPT = 4096


@dataclass(frozen=True)
class Execution:
    """How one program fared: `status` (see STATUSES), a line of `detail`, and what isolated it.

    seconds: of wall time in the program and its checks; output: the first 4096 bytes that it wrote, decoded.
    """

    status: Status
    detail: str
    isolation: Isolation
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
    isolation: Isolation | None = None,
) -> Execution:
    """Run `program`, then the `check(candidate)` that `test` defines on its function `entry_point`.

    setup: code of trusted origin that the checks may use (HumanEval's prompt, for the helpers that it defines).
    isolation: the strongest that works here unless it is named; the result says which it was.

    Program and checks run in two processes, both confined. The program gets no network, a scratch directory that is
    removed, an empty environment, and `limits`. What decides is the verdict of the checking process, in which no line
    of the program runs: calls and values pass between the two as plain data. Exit statuses, printed text, patched
    modules and stack frames of the program therefore change nothing, and the checks are not there for it to read.
    A value other than plain data fails, and arguments that the program changes in place stay as they were for the
    checks. Under "bubblewrap" and "namespaces" a wrong program can pass by a hole in the kernel only. Under "limits"
    it runs as the same user as the checks, held by resource limits and a guard inside its own interpreter: enough for
    accidents and simple malice, not for code that is set on getting out.

    ValueError unless allow_code_execution is True, for an isolation that does not work here, for a test that is
    broken by itself; OSError where the confined processes do not start.

    >>> execute("", "", "f")
    Traceback (most recent call last):
    ValueError: allow_code_execution is False: generated programs run only where it is True
    """
    if allow_code_execution is not True:
        raise ValueError(
            f"allow_code_execution is {allow_code_execution!r}: generated programs run only where it is True"
        )
    limits = Limits() if limits is None else limits
    offered = available_isolations()
    isolation = offered[0] if isolation is None else isolation
    if isolation not in offered:
        known = "works here" if isolation in ISOLATIONS else "is known"
        raise ValueError(f"isolation is {isolation!r}: of {', '.join(ISOLATIONS)}, {', '.join(offered)} {known}")
    job = {"entry_point": entry_point, "limits": asdict(limits), "process_limit": process_limit(isolation, limits)}
    with contextlib.ExitStack() as stack:
        ends = [stack.enter_context(_Pipe()) for _ in range(5)]
        calls, replies, verdict, output, complaints = ends
        start = _starter(stack, isolation, limits)
        tested = start(
            job | {"role": "candidate", "program": program, "requests": calls.reader, "replies": replies.writer},
            (calls.reader, replies.writer),
            output.writer,
        )
        checking = start(
            job
            | {"role": "checker", "setup": setup, "test": test}
            | {"requests": calls.writer, "replies": replies.reader, "verdict": verdict.writer},
            (calls.writer, replies.reader, verdict.writer),
            complaints.writer,
        )
        # Each end lives in one process only, so that the end of that process is the end of the file.
        for pipe, mine in zip(ends, ("", "", "reader", "reader", "reader"), strict=True):
            pipe.keep(mine)
        return _supervise(verdict.reader, output.reader, complaints.reader, tested, checking, limits, isolation)


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
    scratch: Path | None  # on disk, where it must be watched

    def kill(self) -> None:
        self.process.kill()  # also where it has left its group
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ending(self) -> str:
        """Return how the process ended, giving it a moment to; empty where it lives."""
        try:
            code = self.process.wait(0.5)
        except subprocess.TimeoutExpired:
            return ""
        if code < 0 or code > 128:  # the shell and bubblewrap report signal n as status 128 + n
            number = -code if code < 0 else code - 128
            return f"killed by {signal.Signals(number).name}" if number in set(signal.Signals) else f"status {code}"
        return f"exit status {code}"


def _starter(
    stack: contextlib.ExitStack, isolation: Isolation, limits: Limits
) -> Callable[[dict[str, Any], tuple[int, ...], int], _Worker]:
    source = Path(worker.__file__).read_text(encoding="utf-8")

    def start(job: dict[str, Any], descriptors: tuple[int, ...], output: int) -> _Worker:
        folder = stack.enter_context(_scratch())
        bare = isolation == "limits"
        home = str(folder) if bare else SCRATCH
        guarded = bare and job["role"] == "candidate"
        job = job | {"scratch": home, "readable": visible_paths() if guarded else []}
        # -P -s -S: neither the working directory nor any installed package can be imported. -u: what a program writes
        # is there before it answers.
        words = [interpreter(), "-P", "-s", "-S", "-B", "-u", "-X", "utf8", "-c", source]
        with os.fdopen(os.memfd_create("job"), "wb+") as paper:
            paper.write(json.dumps(job).encode())
            paper.seek(0)
            process = subprocess.Popen(
                command(isolation, words, folder, limits),
                stdin=paper,
                stdout=output,
                stderr=output,
                pass_fds=descriptors,
                env=environment(home),
                cwd="/",
                start_new_session=True,
            )
        started = _Worker(process, folder if bare else None)
        stack.callback(started.kill)
        return started

    return start


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rws-run-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def _supervise(
    verdict: int, output: int, complaints: int, tested: _Worker, checking: _Worker, limits: Limits, isolation: Isolation
) -> Execution:
    begun: float | None = None
    deadline = time.monotonic() + _START_SECONDS
    held = {verdict: b"", output: b"", complaints: b""}
    written = 0
    outcome: tuple[Status, str] | None = None
    with selectors.DefaultSelector() as selector:
        for descriptor in held:
            selector.register(descriptor, selectors.EVENT_READ)
        while outcome is None:
            left = deadline - time.monotonic()
            if left <= 0:
                if begun is None:
                    raise OSError(f"the {isolation} sandbox did not start: {_last(held)}")
                outcome = ("time", f"more than {limits.seconds:g} s")
                break
            # The verdict last, so that what was written before it has been read.
            for key, _ in sorted(selector.select(min(left, 0.05)), key=lambda event: event[0].fd == verdict):
                chunk = os.read(key.fd, 2**16)
                if not chunk:
                    selector.unregister(key.fd)
                if key.fd == output:
                    written += len(chunk)
                    chunk = chunk[: max(0, _KEPT - len(held[output]))]
                if len(held[key.fd]) < 2**16:
                    held[key.fd] += chunk
            if begun is None and held[verdict].startswith(b'{"status": "begun"}\n'):
                begun = time.monotonic()
                deadline = begun + limits.seconds
            if written > limits.output_bytes:
                outcome = ("output", f"more than {limits.output_bytes} bytes")
            elif tested.scratch is not None and _size(tested.scratch) > limits.disk_bytes:
                outcome = ("disk", f"more than {limits.disk_bytes} bytes")
            elif verdict not in selector.get_map():
                outcome = _judge(held, begun is not None, tested, checking, isolation)
    seconds = 0.0 if begun is None else time.monotonic() - begun
    return Execution(*outcome, isolation, seconds, held[output].decode("utf-8", "replace"))


def _judge(
    held: dict[int, bytes], begun: bool, tested: _Worker, checking: _Worker, isolation: Isolation
) -> tuple[Status, str]:
    verdict = next(iter(held.values()))
    lines = [json.loads(line) for line in verdict.splitlines()]
    if not begun:
        raise OSError(f"the {isolation} sandbox did not start: {_last(held)}")
    if len(lines) < 2:
        return "ended", f"the checks were cut short: {checking.ending()}"
    status, detail = lines[1]["status"], lines[1]["detail"]
    if status == "broken test":
        raise ValueError(f"test cannot be used: {detail}")
    if status == "ended" and (ending := tested.ending()):
        detail += f" ({ending})"
    return status, detail


def _last(held: dict[int, bytes]) -> str:
    lines = b"\n".join(held.values()).decode("utf-8", "replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "nothing was said")


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder, onerror=lambda error: None):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
    return total
