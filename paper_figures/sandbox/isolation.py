"""What a generated program runs in: bubblewrap or Linux namespaces where the system offers them, else limits only."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["ISOLATIONS", "Isolation", "Limits", "available_isolations", "command", "process_limit"]

Isolation = Literal["bubblewrap", "namespaces", "limits"]
# Strongest first. The first two give: no network, no other process in sight, a read-only view of the interpreter and
# the system's libraries and of nothing else (no home directory), and a scratch file system in memory of bounded size.
ISOLATIONS: tuple[Isolation, ...] = ("bubblewrap", "namespaces", "limits")
SCRATCH = "/scratch"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NOBODY = 65534

# Run by the shell as root of fresh namespaces: $1 new root, $2 bytes of scratch, paths to show, --, what to run there.
# The shell stays, as the process whose end ends all others there: a program cannot reach it, nor leave it behind.
_SETUP = """
set -eu
root=$1 size=$2; shift 2
mount -t tmpfs -o size=1m,mode=755,nosuid none "$root"
while [ "$1" != -- ]; do
  path=$1; shift
  if [ -L "$path" ]; then ln -s "$(readlink "$path")" "$root$path"; continue; fi
  if [ -d "$path" ]; then mkdir -p "$root$path"; else mkdir -p "$(dirname "$root$path")"; : >"$root$path"; fi
  mount --bind "$path" "$root$path"
  mount -o remount,bind,ro,nosuid "$root$path"
done
shift
mkdir "$root/scratch"
ln -s scratch "$root/tmp"
mount -t tmpfs -o "size=$size,nr_inodes=4096,mode=1777,nosuid,nodev" none "$root/scratch"
mount -o remount,bind,ro "$root"
chroot "$root" "$@" || exit $?
"""


@dataclass(frozen=True)
class Limits:
    """What one program may use.

    seconds: of wall time, from the moment its first line runs; cpu_seconds: of processor time, per process;
    memory: bytes of address space, per process; processes: processes and threads; file_bytes: of one file;
    disk_bytes: of the scratch directory; output_bytes: written to standard output and error together; reply_bytes: of
    one value handed back, as JSON. ValueError for a limit that is not positive.

    >>> Limits(seconds=0)
    Traceback (most recent call last):
    ValueError: seconds is 0: more than 0 is needed
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
            if not value > 0:
                raise ValueError(f"{name} is {value}: more than 0 is needed")


def interpreter() -> str:
    """Return the interpreter under any virtual environment: programs see the standard library only."""
    return os.path.realpath(sys.executable)


def visible_paths() -> list[str]:
    """Return what a program may read besides its scratch directory: the interpreter and the system's libraries."""
    system = ["/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache"]
    paths = [path for path in system if os.path.lexists(path)]
    for own in (os.path.realpath(sys.base_prefix), os.path.realpath(sys.base_exec_prefix)):
        if not any(own == path or own.startswith(f"{path}/") for path in paths):
            paths.append(own)
    return paths


def command(isolation: Isolation, words: Sequence[str], folder: Path, limits: Limits) -> list[str]:
    """Return the command line that runs `words` under `isolation`.

    folder: an empty directory, the mount point of the namespaces' root, and the scratch directory under limits.
    """
    superuser = os.geteuid() == 0
    # Killed with the thread that started it, should that be killed.
    held = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv", path=_PATH) else []
    # A superuser would be exempt from the limit on processes: it steps down once the mounts are made.
    user = [f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"] if superuser else []
    powerless = ["setpriv", *user, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--"]
    if isolation == "bubblewrap":
        shown: list[str] = []
        for path in visible_paths():
            shown += ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
        for device in ("/dev/null", "/dev/urandom"):
            shown += ["--dev-bind", device, device]
        scratch = ["--size", str(limits.disk_bytes), "--tmpfs", SCRATCH, "--symlink", SCRATCH, "/tmp"]
        alone = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--cap-drop", "ALL"]
        return [*held, "bwrap", *alone, *shown, *scratch, "--remount-ro", "/", "--chdir", SCRATCH, "--", *words]
    if isolation == "namespaces":
        own = [] if superuser else ["--user", "--map-root-user"]
        kinds = ["--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "--kill-child"]
        paths = [*visible_paths(), "/dev/null", "/dev/urandom"]
        setup = ["/bin/sh", "-c", _SETUP, "sh", str(folder), str(limits.disk_bytes), *paths, "--"]
        return [*held, "unshare", *own, *kinds, *setup, *powerless, *words]
    if superuser and held and _others_can_read(interpreter()):
        os.chown(folder, _NOBODY, _NOBODY)
        return ["setpriv", "--pdeathsig", "KILL", *powerless[1:], *words]
    return [*held, *words]


def environment(home: str) -> dict[str, str]:
    """Return all the environment that a program sees; the hash seed is fixed, so that its sets iterate alike."""
    return {"PATH": _PATH, "HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}


def process_limit(isolation: Isolation, limits: Limits) -> int:
    """Return the limit to set on processes and threads: the kernel counts those of the user in its namespace.

    Without a namespace those that the user runs already are counted too, so they are added.
    """
    if isolation != "limits":
        return limits.processes
    user = _NOBODY if os.geteuid() == 0 else os.getuid()
    tasks = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == user:
                    tasks += len(os.listdir(f"{entry.path}/task"))
            except OSError:
                continue  # ended meanwhile
    return tasks + limits.processes


@functools.cache
def available_isolations() -> tuple[Isolation, ...]:
    """Return the isolations that work here, strongest first, each found by running an empty program in it.

    ValueError on a system other than Linux, where the limits are not those that this module counts on.

    >>> available_isolations()[-1]
    'limits'
    """
    if not sys.platform.startswith("linux"):
        raise ValueError(f"the system is {sys.platform}: programs are run on Linux only")
    return tuple(isolation for isolation in ISOLATIONS if isolation == "limits" or _works(isolation))


def _works(isolation: Isolation) -> bool:
    # Bubblewrap gives a superuser nothing that the namespaces do not, and leaves it exempt from the process limit.
    if isolation == "bubblewrap" and os.geteuid() == 0:
        return False
    with tempfile.TemporaryDirectory(prefix="rws-probe-") as folder:
        os.chmod(folder, 0o755)
        words = command(isolation, [interpreter(), "-I", "-S", "-c", "print('up')"], Path(folder), Limits())
        try:
            done = subprocess.run(
                words, capture_output=True, timeout=20, env=environment(SCRATCH), stdin=subprocess.DEVNULL, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.stdout == b"up\n"


def _others_can_read(path: str) -> bool:
    place = Path(path)
    return all(folder.stat().st_mode & 0o001 for folder in place.parents) and bool(place.stat().st_mode & 0o004)
