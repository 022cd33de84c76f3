"""Generated programs: hostile ones are stopped and counted as failed, with their reason, and the harness unharmed."""

import errno
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command_lines import figures as main
from hypothesis import given
from hypothesis import strategies as st
from sandboxed import needs_bubblewrap

from paper_figures.extra.sandbox import Execution, Limits, check_bubblewrap, execute, run
from paper_figures.extra.sandbox.worker import decode, encode
from paper_figures.statistics import pass_at_k

# Each has one limit that a busy machine does not reach first.
AMPLE = Limits(seconds=600.0, cpu_seconds=4)
QUICK = Limits(seconds=1.0, cpu_seconds=600)  # for what ends by the clock
ADDS_ONE = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(41) == 42\n"


def ran(program: str, test: str = ADDS_ONE, *, limits: Limits = AMPLE) -> Execution:
    return execute(program, test, "f", allow_code_execution=True, limits=limits)


def in_f(*lines: str) -> str:
    return "def f(x):\n" + "".join(f"    {line}\n" for line in lines)


# What each does -> the program, and the statuses that it may end with. Pipes have the numbers that they have outside,
# where a busy process has more than 64 files open.
PROGRAMS = Path(__file__).with_name("hostile_programs.txt").read_text(encoding="utf-8")
HOSTILE = {
    name: (program, set(endings.split()))
    for endings, name, program in re.findall(r"^\[([\w ]+): (.*)\]\n((?:[^\[\n].*\n)+)", PROGRAMS, re.MULTILINE)
}

# Calls that the kernel grants without a filter, or refuses for another reason: numbers on x86_64, aarch64; arguments.
REFUSED = {
    "ptrace(ATTACH, init)": (101, 117, 16, 1, 0, 0),
    "process_vm_readv": (310, 270, 1, 0, 0, 0, 0, 0),
    "process_vm_writev": (311, 271, 1, 0, 0, 0, 0, 0),
    "keyctl": (250, 219, 0, -3, 1),
    "add_key": (248, 217, 0, 0, 0, 0, 0),
    "request_key": (249, 218, 0, 0, 0, 0),
    "userfaultfd": (323, 282, 1),
    "bpf": (321, 280, 0, 0, 0),
    "perf_event_open": (298, 241, 0, 0, 0, 0, 0),
    "io_uring_setup": (425, 425, 1, 0),
    "unshare(NEWUSER)": (272, 97, 0x10000000),
    "shmget": (29, 194, 0, 4096, 0o1600),
    "msgget": (68, 186, 0, 0o1600),
    "memfd_create": (319, 279, 0, 0),
    "socket(VSOCK)": (41, 198, 40, 1, 0),
    "socket(NETLINK)": (41, 198, 16, 3, 0),
    "socket(INET), with bits that the kernel ignores": (41, 198, 2**32 + 2, 1, 0),
    "x32": (0x40000027, 0x40000027),
}


@pytest.fixture(scope="module")
def port() -> int:
    listener = socket.create_server(("127.0.0.1", 0))
    yield listener.getsockname()[1]  # pyright: ignore[reportReturnType]
    listener.close()


@needs_bubblewrap
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_is_stopped_and_counted_as_failed(name: str, port: int) -> None:
    program, endings = HOSTILE[name]
    execution = ran(program.replace("PORT", str(port)), limits=QUICK if "time" in endings else AMPLE)
    assert execution.status in endings, execution
    assert not execution.passed
    assert len(execution.output) <= 4096


@needs_bubblewrap
def test_no_process_and_no_scratch_directory_outlives_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tmp_path.chmod(0o755)
    mark = f"stays-{os.getpid()}"
    before = _children()
    program = f"# {mark}\nopen('left', 'w').write('x')\n" + HOSTILE["flees to another session"][0]
    assert ran(program, limits=QUICK).status == "time"
    assert list(tmp_path.iterdir()) == []
    assert _children() <= before


def _children() -> set[Path]:
    return {task for task in Path("/proc").glob("[0-9]*/stat") if _parent(task) == os.getpid()}


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


@needs_bubblewrap
def test_files_of_the_user_cannot_be_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("42")
    test = "def check(candidate):\n    assert candidate(0) == '42'\n"
    assert not ran(in_f(f"return open({str(secret)!r}).read()"), test).passed
    # Of the home directory at most the way to the interpreter is there, in case it lives there.
    home = os.path.expanduser("~")
    way = os.path.relpath(os.path.realpath(sys.base_prefix), home).split("/")[0]
    private = sorted(set(os.listdir(home)) - {way})
    listed = f"def check(f):\n    assert set(f(0)) & set({private!r})\n"
    assert not ran(in_f("import os", f"return os.listdir({home!r})"), listed).passed
    for name in [name for name in private if os.path.isfile(f"{home}/{name}")][:3]:
        reads = in_f(f"return len(open({f'{home}/{name}'!r}, 'rb').read())")
        assert ran(reads, "def check(f):\n    assert f(0) >= 0\n").status == "error"


@needs_bubblewrap
def test_the_environment_and_installed_packages_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    test = "def check(f):\n    assert f(0) == ['HOME', 'LC_ALL', 'PATH', 'PYTHONHASHSEED', 'TMPDIR'], f(0)\n"
    # The shell that makes the namespaces adds its own.
    names = in_f("import os", "return sorted(set(os.environ) - {'PWD', 'OLDPWD', 'SHLVL', '_'})")
    execution = ran(names, test)
    assert execution.passed, execution
    assert ran("import numpy\n" + in_f("return x + 1")).detail.startswith("ModuleNotFoundError")


@needs_bubblewrap
def test_the_verdict_is_that_of_the_checks() -> None:
    outcome = ran(in_f("return x"))
    assert (outcome.status, outcome.detail) == ("wrong", "")
    assert ran("def f(x: return").detail.startswith("SyntaxError")
    assert ran("g = 1").detail == "KeyError: 'f'"
    assert ran(in_f("return 1 / 0")).detail == "ZeroDivisionError: division by zero"
    printing = ran("print('hello')\n" + in_f("open('note', 'w').write('x')", "return x + 1"))
    assert (printing.status, printing.detail, printing.output) == ("passed", "", "hello\n")
    # A check may expect an error; that of a program which is gone is never the one that it expects.
    expects = "def check(f):\n    try: f(0)\n    except ValueError: return\n    assert False, 'no error'\n"
    assert ran(in_f("raise ValueError('x')"), expects).passed
    assert ran(in_f("return 0"), expects).detail == "no error"
    # Iterations in a check swallow these, which a try may not expect by their own name either.
    for name in ("StopIteration", "StopAsyncIteration", "GeneratorExit"):
        raises = in_f(f"raise {name}('x')")
        iterates = "def check(f):\n    assert all(a == b for a, b in zip(map(f, [1, 2]), [2, 3]))\n"
        assert ran(raises, iterates).detail == f"{name}: x"
        assert ran(raises, expects.replace("ValueError", "RuntimeError")).passed
    lenient = "def check(f):\n    try: f(0)\n    except BaseException: pass\n"
    assert ran(in_f("import os", "os._exit(0)"), lenient).status == "ended"


@needs_bubblewrap
def test_limits_are_those_that_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_ENDING_SECONDS", 600)
    busy = ran(in_f("while True: pass"), limits=replace(AMPLE, cpu_seconds=1))
    assert busy.status == "ended"
    assert "SIGKILL" in busy.detail
    keeps = in_f("return len([0] * (x * 2**17))")  # x MiB
    holds = "def check(f):\n    assert f(MIB) == MIB * 2**17\n"
    for mebibytes, status in ((32, "passed"), (256, "error")):
        test = holds.replace("MIB", str(mebibytes))
        assert ran(keeps, test, limits=replace(AMPLE, memory=128 * 2**20)).status == status
    text = in_f("return 'x' * x")
    long = "def check(f):\n    assert len(f(LENGTH)) == LENGTH\n"
    for length, status in ((900, "passed"), (1100, "refused")):
        test = long.replace("LENGTH", str(length))
        assert ran(text, test, limits=replace(AMPLE, reply_bytes=1000)).status == status


@needs_bubblewrap
def test_calls_that_lead_around_the_sandbox_are_refused() -> None:
    call = in_f(
        "import ctypes",
        "libc = ctypes.CDLL(None, use_errno=True)",
        "return libc.syscall(*map(ctypes.c_long, x)), ctypes.get_errno()",
    )
    machine = ("x86_64", "aarch64").index(os.uname().machine)
    words = {name: [numbers[machine], *numbers[2:]] for name, numbers in REFUSED.items()}
    each = f"    for name, words in {words}.items(): assert f(words) == (-1, {errno.EPERM}), (name, f(words))\n"
    execution = ran(call, f"def check(f):\n{each}")
    assert execution.passed, execution


@needs_bubblewrap
def test_the_first_process_inside_has_the_limits_too() -> None:
    program = in_f("import resource", "return [resource.prlimit(1, getattr(resource, 'RLIMIT_' + name)) for name in x]")
    names = {"AS": 2**28, "CPU": 4, "FSIZE": 2**20, "NPROC": 8, "NOFILE": 64, "CORE": 0}
    check = f"def check(f): assert f({list(names)}) == {[(most, most) for most in names.values()]}, f({list(names)})"
    execution = ran(program, check, limits=replace(AMPLE, memory=2**28, file_bytes=2**20, processes=8))
    assert execution.passed, execution


@needs_bubblewrap
def test_processes_are_counted_and_alone() -> None:
    forks = in_f(
        "import os, time",
        "for n in range(99):",
        "    try: child = os.fork()",
        "    except OSError: return n",
        "    if not child: time.sleep(60)",
    )
    # The program and the namespace's first process are among the eight.
    few = "def check(f):\n    assert 4 <= f(0) < 8, f(0)\n"
    execution = ran(forks, few, limits=replace(AMPLE, processes=8))
    assert execution.passed, execution
    alone = "import os\ndef f(x):\n    for pid in range(2, 70000):\n        if pid != os.getpid():\n"
    alone += (
        "            try: os.kill(pid, 0)\n            except ProcessLookupError: continue\n            return pid\n"
    )
    assert ran(alone, "def check(f):\n    assert f(0) is None\n").passed
    assert not os.path.exists("/scratch")


@needs_bubblewrap
def test_a_test_that_is_broken_by_itself_is_no_ones_failure() -> None:
    broken = {"def check(:": "cannot be used: SyntaxError", "": "cannot be used: KeyError"}
    for test, message in (broken | {"def check(f): pass": "without calling the candidate"}).items():
        with pytest.raises(ValueError, match=message):
            ran(in_f("return 0"), test)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (None, r"bwrap is not installed: .* \(apt install bubblewrap, or dnf install bubblewrap\)"),
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", r"\(bwrap: No permissions .*namespaces"),
        ("exit 0", r"bwrap does not work here \(it said nothing\)"),
    ],
    ids=["absent", "no namespaces", "mute"],
)
def test_without_bubblewrap_nothing_runs_and_one_line_says_what_to_do(
    script: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    if script is not None:
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    check_bubblewrap.cache_clear()
    monkeypatch.setattr(run, "_starter", lambda *_: pytest.fail("a program was started"))
    with pytest.raises(ValueError, match=message):
        ran(in_f("return x + 1"))
    words = ["experiment", "humaneval", "--data", "humaneval", "--out", str(tmp_path / "out")]
    assert main([*words, "--allow-code-execution"]) == 2
    assert re.search(message, capsys.readouterr().err.splitlines()[-1])
    assert not (tmp_path / "out").exists()


NUMBERS = st.integers() | st.floats(allow_nan=False) | st.fractions()
LEAVES = st.none() | st.booleans() | NUMBERS | st.text() | st.binary()
PLAIN = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.sets(st.integers() | st.text(), max_size=3)
        | st.frozensets(st.integers(), max_size=3)
        | st.dictionaries(st.text() | st.tuples(st.integers()), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN)
def test_plain_values_cross_unchanged(value: object) -> None:
    back = decode(json.loads(json.dumps(encode(value))))
    assert back == value
    assert repr(back) == repr(value) or isinstance(value, (set, frozenset, dict, list, tuple))


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_pass(samples: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, samples)), data.draw(st.integers(1, samples))
    draws = list(itertools.combinations([True] * passed + [False] * (samples - passed), k))
    assert pass_at_k(samples, passed, k) == float(Fraction(sum(map(any, draws)), len(draws)))


@needs_bubblewrap
def test_a_killed_harness_leaves_no_program_behind() -> None:
    source = (
        "from paper_figures.extra.sandbox import Limits, execute\n"
        "execute('def f(x):\\n while True: pass', 'def check(f): f(1)', 'f', allow_code_execution=True,\n"
        "    limits=Limits(seconds=600, cpu_seconds=600))\n"
    )
    with subprocess.Popen([sys.executable, "-c", source]) as harness:
        processes: list[int] = []
        while not any(_lives(pid, 1.0) for pid in processes):  # only the loop takes a second
            assert harness.poll() is None
            time.sleep(0.05)
            tasks = {int(stat.parent.name): _parent(stat) for stat in Path("/proc").glob("[0-9]*/stat")}
            processes = [harness.pid]
            for pid in processes:
                processes += [child for child, above in tasks.items() if above == pid]
            processes = processes[1:]
        harness.kill()
    end = time.monotonic() + 300  # half of what the limits grant
    while time.monotonic() < end and any(map(_lives, processes)):
        time.sleep(0.05)
    assert not [pid for pid in processes if _lives(pid)]


def _lives(pid: int, seconds: float = 0.0) -> bool:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return fields[0] != "Z" and int(fields[11]) >= seconds * os.sysconf("SC_CLK_TCK")
