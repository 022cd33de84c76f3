"""Bubblewrap confines generated programs: the command line that starts one, and the refusal where it does not work.

A program under bubblewrap has no network and sees no other process. It can read the interpreter and the system's
libraries, and nothing else (no home directory). It can write to a scratch file system in memory, of bounded size. A
seccomp filter refuses the system calls that lead around this. Nothing here guards against a hole in the kernel that the
remaining calls can reach, or keeps a program from measuring how busy the machine is. Memory and processor time are
bounded per process, not for all of them together.
"""

from __future__ import annotations

import errno
import functools
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rws_theory.checks import finite

SCRATCH = "/scratch"
# All the environment that a program sees. The hash seed is fixed, so that its sets iterate alike.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": SCRATCH,
    "TMPDIR": SCRATCH,
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
}
_SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache")
_DEVICES = ("/dev/null", "/dev/urandom")
_NOBODY = 65534
_ONLY = "generated programs run only under bubblewrap"


@dataclass(frozen=True)
class Limits:
    """What one program may use.

    seconds: of wall time, from the moment its first line runs; cpu_seconds: of processor time, per process;
    memory: bytes of address space, per process; processes: processes and threads; file_bytes: of one file;
    disk_bytes: of the scratch directory; output_bytes: written to standard output and error together; reply_bytes: of
    one value handed back, as JSON. ValueError for a limit that is not positive.

    >>> Limits(seconds=0)
    Traceback (most recent call last):
    ValueError: seconds is 0: a finite number above 0 is needed
    """

    seconds: float = 10.0
    cpu_seconds: int = 10
    memory: int = 512 * 2**20
    processes: int = 16
    file_bytes: int = 4 * 2**20
    disk_bytes: int = 16 * 2**20
    output_bytes: int = 256 * 2**10
    reply_bytes: int = 4 * 2**20

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            finite(name, value, above=0)


def interpreter() -> str:
    """Return the interpreter under any virtual environment: programs see the standard library only."""
    return os.path.realpath(sys.executable)


def in_memory(content: bytes) -> BinaryIO:
    """Return an unnamed file that holds `content`, open at its start."""
    file = os.fdopen(os.memfd_create("sandbox"), "wb+")
    file.write(content)
    file.seek(0)
    return file


def rules() -> BinaryIO:
    """Return the seccomp filter of this machine as a file, for one call of bubblewrap, which reads it to its end."""
    return in_memory(seccomp_filter(os.uname().machine))


def confined(words: Sequence[str], limits: Limits, seccomp: int) -> list[str]:
    """Return the command line that runs `words` under bubblewrap, with `limits.disk_bytes` of scratch memory.

    seccomp: a descriptor of the filter, which the process must inherit.
    """
    bwrap = shutil.which("bwrap") or "bwrap"
    view = _view()
    namespaces = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--cap-drop", "ALL"]
    namespaces += ["--seccomp", str(seccomp)]
    scratch = ["--size", str(limits.disk_bytes), "--tmpfs", SCRATCH, "--symlink", SCRATCH, "/tmp"]
    command = [bwrap, *namespaces, *view, *scratch, "--remount-ro", "/", "--chdir", SCRATCH, "--", *words]
    if os.geteuid() != 0:
        return command
    # The kernel does not limit a superuser's processes: step down first, where nobody can read the interpreter.
    powerless = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--"]
    # The second bubblewrap needs /proc and /tmp. It may not be killed by the first, but a namespace ends with its init.
    outer = ["--unshare-pid", "--die-with-parent", *view, "--proc", "/proc", "--perms", "0755", "--dir", "/tmp"]
    return [bwrap, *outer, "--", *powerless, *command]


def _view() -> list[str]:
    """Return bubblewrap's options for what a program may read: the interpreter and the system's libraries."""
    paths = [path for path in _SYSTEM if os.path.lexists(path)]
    for prefix in (os.path.realpath(sys.base_prefix), os.path.realpath(sys.base_exec_prefix)):
        if not any(prefix == path or prefix.startswith(f"{path}/") for path in paths):
            paths.append(prefix)
    options: list[str] = []
    # Folders above a path would get the permissions that they have outside, perhaps none for other users.
    above = {folder for path in (*paths, *_DEVICES) for folder in Path(path).parents if folder != Path("/")}
    for folder in sorted(above):
        options += ["--perms", "0755", "--dir", str(folder)]
    for path in paths:
        options += ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
    for device in _DEVICES:
        options += ["--dev-bind", device, device]
    return options


@functools.cache
def check_bubblewrap() -> None:
    """Run an empty program under bubblewrap.

    ValueError, in one line that says what to do, where bubblewrap is not installed or cannot make namespaces.
    """
    if not sys.platform.startswith("linux"):
        raise ValueError(f"the system is {sys.platform}: {_ONLY}, which needs Linux")
    if os.uname().machine not in MACHINES:
        raise ValueError(
            f"the machine is {os.uname().machine}: {_ONLY} with a filter of system calls, which is there for "
            f"{' and '.join(MACHINES)}"
        )
    if shutil.which("bwrap") is None:
        raise ValueError(f"bwrap is not installed: {_ONLY} (apt install bubblewrap, or dnf install bubblewrap)")
    try:
        with rules() as file:
            done = subprocess.run(
                confined([interpreter(), "-I", "-S", "-c", "print('up')"], Limits(), file.fileno()),
                capture_output=True,
                timeout=20,
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                pass_fds=(file.fileno(),),
                check=False,
            )
        reason = "up" if done.stdout == b"up\n" else " ".join(done.stderr.decode(errors="replace").split())
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = " ".join(str(error).split())
    if reason != "up":
        raise ValueError(
            f"bwrap does not work here ({reason or 'it said nothing'}): {_ONLY}, which needs user namespaces; use a "
            "system or a container that allows them"
        )


# AUDIT_ARCH of what `os.uname().machine` says, in the order of the numbers below.
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Both machines are little-endian, and have one number for all calls from 424 on.
REFUSED: tuple[dict[str, tuple[int, int]], ...] = (
    # other processes
    {"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272)},
    {"pidfd_getfd": (438, 438), "process_madvise": (440, 440), "process_mrelease": (448, 448)},
    # memory outside any address space or scratch directory
    {"shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180)},
    {"memfd_create": (319, 279), "memfd_secret": (447, 447)},
    # keys
    {"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)},
    # engines of the kernel
    {"userfaultfd": (323, 282), "bpf": (321, 280), "perf_event_open": (298, 241)},
    {"io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427)},
    # namespaces and mounts
    {"unshare": (272, 97), "setns": (308, 268), "chroot": (161, 51), "pivot_root": (155, 41)},
    {"mount": (165, 40), "umount2": (166, 39), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265)},
    {"open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431)},
    {"fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442)},
)
_SOCKETS = ((41, 198), (53, 199))  # socket, socketpair
_X32 = 0x40000000  # the bit in the number of an x32 call, which has x86_64's architecture
_LOAD, _EQUALS, _HAS_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06


def seccomp_filter(machine: str) -> bytes:
    """Return the filter for a machine of MACHINES.

    >>> len(seccomp_filter("aarch64")) % 8
    0
    """
    column = list(MACHINES).index(machine)

    def line(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("<HBBI", code, yes, no, value)  # yes, no: lines to skip

    refuse, allow = line(_RETURN, 0x00050000 | errno.EPERM), line(_RETURN, 0x7FFF0000)
    lines = [line(_LOAD, 4), line(_EQUALS, MACHINES[machine], yes=1), refuse]
    lines += [line(_LOAD, 0), line(_HAS_BIT, _X32, no=1), refuse]
    for numbers in (numbers for calls in REFUSED for numbers in calls.values()):
        lines += [line(_EQUALS, numbers[column], no=1), refuse]
    for numbers in _SOCKETS:
        lines += [line(_EQUALS, numbers[column], no=4), line(_LOAD, 16)]
        lines += [line(_EQUALS, socket.AF_UNIX, no=1), allow, refuse]
    return b"".join([*lines, allow])
