"""What a measurement was made with: command, code, device, libraries and date."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from paper_figures.studies.work.timing import machine_name

__all__ = ["code_version", "provenance"]


def provenance(device: torch.device, command: str | None, commit: str | None = None) -> dict[str, Any]:
    """Return what JSON holds of how numbers came about.

    command: that repeats them, None if unknown; commit: of the code, where the caller knows it better than its
    directory does.
    """
    cuda = device.type == "cuda"
    return {
        "command": command,
        **code_version(commit),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": torch.cuda.get_device_name(device) if cuda else "cpu",
        "device_bytes": torch.cuda.get_device_properties(device).total_memory if cuda else None,
        "machine": machine_name(str(device)),
        "threads": torch.get_num_threads(),
        "driver": _driver() if cuda else None,
        "cuda": torch.version.cuda if cuda else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": _installed("transformers"),
        "triton": _installed("triton"),
    }


def code_version(commit: str | None = None) -> dict[str, Any]:
    """Return the commit, whether tracked files differ from it (None: unknown), and the version of the package.

    >>> code_version("abc")["commit"], code_version("abc")["changed"]
    ('abc', None)
    """
    version = _installed("rws-toolkit")
    if commit is not None:
        return {"commit": commit, "changed": None, "version": version}
    found = _git("rev-parse", "HEAD")
    changed = None if found is None else bool(_git("status", "--porcelain", "--untracked-files=no"))
    return {"commit": found, "changed": changed, "version": version}


def _git(*words: str) -> str | None:
    """Return what git says of the checkout that holds this file, None where it is in none."""
    here = Path(__file__).resolve()
    if not (here.parents[2] / ".git").exists():
        return None
    try:
        found = subprocess.run(["git", *words], cwd=here.parent, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _driver() -> str | None:
    """Return the version of NVIDIA's driver, None where its tool does not tell."""
    words = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return next(iter(found.stdout.split("\n")), "").strip() or None
