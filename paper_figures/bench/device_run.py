"""Run the bench on a device: the self-check first, then what was asked for, written after each part."""

from __future__ import annotations

import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from paper_figures.bench.check import self_check
from paper_figures.bench.kernels import kernel_table
from paper_figures.bench.roofline import measure_ceilings
from paper_figures.bench.shapes import SHAPES
from paper_figures.bench.whole import NOTES, BenchSettings, measure
from paper_figures.studies.work.timing import machine_name
from rws_decode.common.files import write_json

SCHEMA = 2


def device_run(
    device: torch.device,
    *,
    settings: BenchSettings | None = None,
    kernels: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    commit: str | None = None,
    check_shape: str = "small",
    anyway: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Check the device, then measure its ceilings, the kernels and whole decodes, as asked; `whole` has the schema.

    kernels: options of `kernels.kernel_table`, None for no table. If a check fails, nothing is measured and no file is
    written, unless `anyway` is true; see `passed`. out: a file, written after each part; its `complete` is false until
    the last part.
    """
    began = time.perf_counter()
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "complete": False,
        "provenance": provenance(device, _command(), commit),
        "settings": {"device": str(device)} | ({} if settings is None else asdict(settings)),
        "notes": [] if settings is None else list(NOTES),
        "checks": [asdict(check) for check in self_check(device, shapes=SHAPES[check_shape], tell=tell)],
    }

    def save(part: Mapping[str, Any]) -> None:
        result.update(part)
        if out is not None:
            write_json(out, result)

    if not (passed(result) or anyway):
        return result
    ceilings = None
    if settings is not None:
        ceilings = measure_ceilings(device, getattr(torch, settings.dtype), seed=settings.seed)
        save({"ceilings": asdict(ceilings)})
        tell(f"ceilings: {ceilings.bandwidth / 1e9:.4g} GB/s, {ceilings.rate / 1e12:.4g} TFLOP/s")
    bandwidth = None if ceilings is None else ceilings.bandwidth
    save({"kernels": None if kernels is None else kernel_table(device, bandwidth=bandwidth, tell=tell, **kernels)})
    if settings is not None and ceilings is not None:
        save(measure(settings, device, ceilings, began=began, tell=tell, save=save))
    result["seconds"] = time.perf_counter() - began
    save({"complete": True})
    return result


def passed(result: Mapping[str, Any]) -> bool:
    """Return whether every check passed.

    >>> passed({"checks": [{"passed": True}, {"passed": False}]})
    False
    """
    return all(check["passed"] for check in result["checks"])


def _command() -> str | None:
    """Return the command line of this process, None where Python called the bench directly."""
    words = sys.argv
    called = Path(words[0]).name in ("__main__.py", "rws") and words[1:2] == ["bench"]
    return shlex.join(["python", "-m", "rws_decode", *words[1:]]) if called else None


def provenance(device: torch.device, command: str | None, commit: str | None = None) -> dict[str, Any]:
    """Return what a measurement was made with: command, code, device, libraries and date, as JSON has it.

    command: repeats the measurement, None if unknown; commit: of the code, for a caller outside a git checkout.
    """
    cuda = device.type == "cuda"
    return {
        "command": command,
        **_code_version(commit),
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


def _code_version(commit: str | None) -> dict[str, Any]:
    """Return the commit, whether tracked files differ from it (None: unknown), and the version of the package."""
    version = _installed("rws-toolkit")
    if commit is not None:
        return {"commit": commit, "changed": None, "version": version}
    commit = _git("rev-parse", "HEAD")
    changed = None if commit is None else bool(_git("status", "--porcelain", "--untracked-files=no"))
    return {"commit": commit, "changed": changed, "version": version}


def _git(*words: str) -> str | None:
    """Return what git says of the checkout that holds this file, None where it is in none."""
    path = Path(__file__).resolve()
    return _output(["git", *words], path.parent) if (path.parents[2] / ".git").exists() else None


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _driver() -> str | None:
    """Return the version of NVIDIA's driver, None where its tool does not tell."""
    versions = _output(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    return versions.split("\n")[0].strip() or None if versions else None


def _output(words: list[str], folder: Path | None = None) -> str | None:
    """Return what a program prints, None where it fails or is not there."""
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
