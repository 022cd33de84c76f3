"""Where a page's numbers come from: package versions, commit, processor; never host names or paths."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import rws_theory

__all__ = ["commit", "provenance"]

_PACKAGES = ("numpy", "scipy", "torch", "transformers", "tokenizers", "safetensors", "pyarrow", "matplotlib")


def provenance() -> dict[str, str]:
    """Return facts about this checkout and machine that may change numbers, by name.

    >>> provenance()["rws"] == rws_theory.__version__
    True
    """
    found = {"rws": rws_theory.__version__}
    if stamp := commit(Path(__file__).parent.parent):
        found["git commit"] = stamp
    found["Python"] = platform.python_version()
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"processor architecture": platform.machine(), "system": platform.system()}


def commit(root: Path) -> str | None:
    """Return the commit of the checkout whose top is `root`, marked if files differ from it; None where it is none."""
    try:
        lines = [
            subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout.strip()
            for words in (["rev-parse", "--show-toplevel"], ["rev-parse", "HEAD"], ["status", "--porcelain", "-uno"])
        ]
    except (OSError, subprocess.CalledProcessError):
        return None
    top, head, changes = lines
    # An installed package may lie inside some other project's checkout.
    if Path(top).resolve() != root.resolve():
        return None
    return head + (" with local changes" if changes else "")
