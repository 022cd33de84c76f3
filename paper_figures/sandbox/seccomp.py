"""System calls that a confined program may not make, as a seccomp filter (classic BPF) for `bwrap --seccomp`.

Refused with EPERM are calls that reach into other processes, memory that no limit counts, namespaces and mounts, the
kernel's keys and engines, sockets other than AF_UNIX, and any call of another architecture. All others are allowed.
"""

from __future__ import annotations

import errno
import socket
import struct

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
