"""One run of the bench on a device: the self-check first, then what was asked for, written as it comes."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from paper_figures.bench.ceilings import measure_ceilings
from paper_figures.bench.check import self_check
from paper_figures.bench.kernels import kernel_table
from paper_figures.bench.provenance import provenance
from paper_figures.bench.shapes import SHAPES
from paper_figures.bench.whole import NOTES, Plan, measure
from rws_decode.common.files import write_json

__all__ = ["SCHEMA", "device_run", "passed"]

SCHEMA = 1


def device_run(
    device: torch.device,
    *,
    plan: Plan | None = None,
    kernels: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    commit: str | None = None,
    check_shape: str = "small",
    anyway: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Check, then measure the ceilings, the kernels and whole decodes, as far as asked for; `whole` has the schema.

    kernels: options of `kernels.kernel_table`, None for no table. Where a check fails nothing is measured and no file
    written, unless `anyway`; `passed` says so. out: written whole after each part, `complete` false until the last.
    """
    began = time.perf_counter()
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "complete": False,
        "provenance": provenance(device, _command(), commit),
        "settings": {"device": str(device)} | ({} if plan is None else asdict(plan)),
        "notes": [] if plan is None else list(NOTES),
        "checks": [asdict(check) for check in self_check(device, shapes=SHAPES[check_shape], tell=tell)],
    }

    def save(part: Mapping[str, Any]) -> None:
        result.update(part)
        if out is not None:
            write_json(out, result)

    if not (passed(result) or anyway):
        return result
    ceilings = None
    if plan is not None:
        ceilings = measure_ceilings(device, getattr(torch, plan.dtype), seed=plan.seed)
        save({"ceilings": asdict(ceilings)})
        tell(f"ceilings: {ceilings.bandwidth / 1e9:.4g} GB/s, {ceilings.rate / 1e12:.4g} TFLOP/s")
    bandwidth = None if ceilings is None else ceilings.bandwidth
    save({"kernels": None if kernels is None else kernel_table(device, bandwidth=bandwidth, tell=tell, **kernels)})
    if plan is not None and ceilings is not None:
        save(measure(plan, device, ceilings, began=began, tell=tell, save=save))
    result["seconds"] = time.perf_counter() - began
    save({"complete": True})
    return result


def passed(result: Mapping[str, Any]) -> bool:
    """Say whether every check passed.

    >>> passed({"checks": [{"passed": True}, {"passed": False}]})
    False
    """
    return all(check["passed"] for check in result["checks"])


def _command() -> str | None:
    """Return the command line that runs, None where Python called this otherwise."""
    words = sys.argv
    called = Path(words[0]).name == "__main__.py" and words[1:2] == ["bench"]
    return shlex.join(["python", "-m", "rws_decode", *words[1:]]) if called else None
