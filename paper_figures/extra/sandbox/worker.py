"""The program inside: one process runs the candidate, another runs the checks. Standard library only.

The bare interpreter gets its source with -c, so nothing of this package is visible inside. The candidate process never
sees the checks, and the checking process never runs the candidate. Calls and values pass between them as JSON lines of
plain data only: the worst that a candidate can hand back is a wrong value.
"""

from __future__ import annotations

import builtins
import json
import os
import resource
import sys
import types
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any, BinaryIO, NoReturn

_PLAIN = (bool, int, float, str, type(None))
_HOLDERS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
# name -> type, how its values are written, and read.
_WRITTEN: dict[str, tuple[type, Any, Any]] = {
    "bytes": (bytes, lambda value: [bytes.hex(value)], bytes.fromhex),
    "complex": (complex, lambda value: [value.real, value.imag], complex),
    "Fraction": (Fraction, lambda value: [str(value)], Fraction),
    "Decimal": (Decimal, lambda value: [str(value)], Decimal),
}
_BASES: tuple[tuple[type, Any], ...] = (
    (str, str.__str__),
    (float, float.__float__),
    (int, int.__int__),
    (Integral, int),
)


def encode(value: Any) -> Any:
    """Return plain data for JSON; instances of subclasses count as what they derive from. TypeError for anything else.

    >>> decode(encode({(1, "a"): [None, {2.5}]}))
    {(1, 'a'): [None, {2.5}]}
    """
    if type(value) in _PLAIN:
        return value
    for name, kind in _HOLDERS.items():
        if isinstance(value, kind):
            return [name, *(encode(item) for item in kind.__iter__(value))]
    if isinstance(value, dict):
        return ["dict", *([encode(key), encode(item)] for key, item in dict.items(value))]
    for name, (kind, write, _) in _WRITTEN.items():
        if isinstance(value, kind):
            return [name, *write(value)]
    for kind, plain in _BASES:
        if isinstance(value, kind):
            return plain(value)
    raise TypeError(f"a value of type {type(value).__name__} is no plain data")


def decode(data: Any) -> Any:
    """Return the value that `encode` wrote; ValueError or TypeError for anything that it does not write."""
    if not isinstance(data, list):
        return data
    name, *items = data
    if name in _HOLDERS:
        return _HOLDERS[name](map(decode, items))
    if name == "dict":
        return {decode(key): decode(item) for key, item in items}
    if name in _WRITTEN:
        return _WRITTEN[name][2](*items)
    raise ValueError("a reply is no encoded value")


def _send(stream: BinaryIO, message: dict[str, Any]) -> None:
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def _confine(job: dict[str, Any]) -> None:
    limits = job["limits"]
    for name, most in (
        ("CORE", 0),
        ("CPU", limits["cpu_seconds"]),
        ("AS", limits["memory"]),
        ("FSIZE", limits["file_bytes"]),
        ("NOFILE", 64),
        ("NPROC", limits["processes"]),
    ):
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # Bubblewrap's init too. Before bubblewrap starts, NPROC would count all of the user's processes, so that no
        # namespace could be made.
        for process in (1, os.getpid()):
            resource.prlimit(process, kind, (most, most))
    sys.set_int_max_str_digits(0)
    os.chdir(job["scratch"])


def candidate(job: dict[str, Any], requests: BinaryIO, replies: BinaryIO) -> None:
    """Run the program, then answer calls of its entry point until the requests end."""
    _send(replies, {"event": "up"})
    module = types.ModuleType("program")
    sys.modules["program"] = module
    try:
        exec(compile(job["program"], "<program>", "exec"), module.__dict__)
        function = module.__dict__[job["entry_point"]]
    except BaseException as error:
        _send(replies, {"raised": [type(error).__name__, _text(error)]})
        return
    _send(replies, {"event": "ready"})
    for line in requests:
        args, named = decode(json.loads(line))
        try:
            value = function(*args, **named)
        except BaseException as error:
            reply: dict[str, Any] = {"raised": [type(error).__name__, _text(error)]}
        else:
            try:
                reply = {"value": encode(value)}
            except BaseException as error:
                reply = {"refused": _text(error)}
        _send(replies, reply)


def _text(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except BaseException:
        return ""


class _Gone(BaseException):
    """No further answer will come; of BaseException, so that a check which expects errors does not take it for one."""


class _Candidate:
    """The entry point as the checks see it: a call goes to the candidate process, and a plain value comes back."""

    def __init__(self, requests: BinaryIO, replies: BinaryIO, most: int) -> None:
        self.requests, self.replies, self.most = requests, replies, most
        self.calls = 0
        self.last = ""
        self.fault: tuple[str, str] | None = None

    def read(self) -> dict[str, Any]:
        try:
            line = self.replies.readline(self.most)
        except OSError:
            line = b""
        if not line:
            self.fail("ended", "its process ended before it had answered")
        if not line.endswith(b"\n"):
            self.fail("refused", f"a reply is longer than {self.most} bytes, or cut short")
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            self.fail("refused", "a reply is no message")
        return reply

    def fail(self, status: str, detail: str) -> NoReturn:
        self.fault = (status, detail)
        raise _Gone

    def __call__(self, *args: Any, **named: Any) -> Any:
        self.calls += 1
        message = json.dumps(encode((args, named))).encode() + b"\n"
        try:
            self.requests.write(message)
            self.requests.flush()
        except OSError:
            self.fail("ended", "its process ended between two calls")
        reply = self.read()
        if "raised" in reply:
            name, text = (str(part) for part in reply["raised"])
            self.last = f"{name}: {text}"
            standard = getattr(builtins, name, None)
            # Of the standard exceptions, as a check may expect one; SystemExit and its like must not pass for ours. An
            # iteration in the check would take these two for its own end: they become RuntimeError, as in PEP 479.
            kind = standard if isinstance(standard, type) and issubclass(standard, Exception) else RuntimeError
            kind = RuntimeError if kind in (StopIteration, StopAsyncIteration) else kind
            try:
                raised = kind(text)
            except TypeError:  # UnicodeDecodeError and a few more want other arguments
                raised = RuntimeError(self.last)
            raised.from_candidate = True  # pyright: ignore[reportAttributeAccessIssue]
            raise raised
        if "refused" in reply:
            self.fail("refused", str(reply["refused"]))
        try:
            return decode(reply["value"])
        except (KeyError, ValueError, TypeError, RecursionError, MemoryError):
            self.fail("refused", "a reply is no encoded value")


def checker(job: dict[str, Any], requests: BinaryIO, replies: BinaryIO, verdict: BinaryIO) -> None:
    """Run the checks on the candidate's answers, and write one verdict: {"status": ..., "detail": ...}."""

    def end(status: str, detail: str = "") -> None:
        _send(verdict, {"status": status, "detail": detail[:500]})

    proxy = _Candidate(requests, replies, job["limits"]["reply_bytes"])
    try:
        if proxy.read() != {"event": "up"}:
            return end("not started")
    except _Gone:
        return end("not started")
    _send(verdict, {"status": "begun"})
    try:
        first = proxy.read()
        if first != {"event": "ready"}:
            if "raised" not in first:
                return end("refused", "a reply is no message")
            name, text = (str(part) for part in first["raised"])
            return end("error", f"{name}: {text}")
        scope: dict[str, Any] = {"__name__": "checks"}
        try:
            exec(compile(job["setup"], "<setup>", "exec"), scope)
            scope[job["entry_point"]] = proxy
            exec(compile(job["test"], "<test>", "exec"), scope)
            check = scope["check"]
        except Exception as error:
            if proxy.calls:
                raise
            return end("broken test", f"{type(error).__name__}: {error}")
        check(proxy)
    except _Gone:
        pass
    except AssertionError as error:
        if not hasattr(error, "from_candidate"):
            return end("wrong", str(error))
        return end("error", f"AssertionError: {error}")
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return end("error", proxy.last) if hasattr(error, "from_candidate") else end("wrong", detail)
    if proxy.fault is not None:  # also where a check swallowed it
        return end(*proxy.fault)
    if not proxy.calls:
        return end("broken test", "check returned without calling the candidate")
    end("passed")


def main() -> None:
    """Read the job from standard input, close it, and play the role that the job names."""
    job = json.load(sys.stdin)
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _confine(job)
    requests, replies = job["requests"], job["replies"]
    if job["role"] == "candidate":
        candidate(job, os.fdopen(requests, "rb"), os.fdopen(replies, "wb"))
    else:
        checker(job, os.fdopen(requests, "wb"), os.fdopen(replies, "rb"), os.fdopen(job["verdict"], "wb"))


if __name__ == "__main__":
    main()
