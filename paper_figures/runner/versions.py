"""Which code, libraries and processor numbers come from; never host names or paths."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import rws_theory

_PACKAGES = ("numpy", "scipy", "torch", "transformers", "tokenizers", "safetensors", "pyarrow", "matplotlib")


def provenance() -> dict[str, str]:
    """Return the facts about this checkout and machine that may change numbers, by name.

    >>> provenance()["rws"] == rws_theory.__version__
    True
    """
    facts = {"rws": rws_theory.__version__}
    if stamp := commit(Path(__file__).parents[2]):
        facts["git commit"] = stamp
    facts["Python"] = platform.python_version()
    for name in _PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    return facts | {"processor architecture": platform.machine(), "system": platform.system()}


def commit(root: Path) -> str | None:
    """Return the commit of the checkout whose top is `root`, marked if files differ from it; None if it is none."""
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


def machine_name(device: str = "cpu") -> str:
    """Describe this machine for the results: system, processor, cores, and the GPU if `device` is one of CUDA."""
    names = [f"{platform.system()} {platform.machine()}", _processor(), f"{os.cpu_count()} cores"]
    if device.startswith("cuda"):
        import torch

        names += [torch.cuda.get_device_name(device)] if torch.cuda.is_available() else []
    return ", ".join(names)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    model_names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(model_names), platform.processor() or platform.machine())
