"""Make and read RUNS/claims/results.json, the checked claims: checking takes half a minute, reading no time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from paper_figures.runner.digests import code_digest, digest
from paper_figures.runner.executors import Backend
from rws_decode.common.files import read_json, write_json
from rws_theory.claims import CHECKS, claims
from rws_theory.printed import NAMES as PRINTED
from rws_theory.printed import printed_in

NAME = "claims"
SCHEMA = ("rws_theory.claims", 1)
_WORK = "rws_theory.claims"


def claims_sources() -> dict[str, str]:
    """Return what the verdicts follow from: digests of the checks' code and of the printed numbers."""
    printed = {name: printed_in(name) for name in PRINTED}
    return {"work": _WORK, "code": code_digest(_WORK), "printed": digest(printed)}


def up_to_date(path: Path) -> bool:
    """Return whether a file holds claims checked by this code against these printed numbers."""
    try:
        results = read_json(path)
    except (OSError, ValueError):
        return False
    return isinstance(results, dict) and results.get("sources") == claims_sources()


def make_claims(runs: Path, backend: Backend) -> Path:
    """Check every claim over the backend's processes, write RUNS/claims/results.json and return its path.

    Parts: schema, version; sources, the digests of `claims_sources`; seconds of all checks, added up; claims, the
    records of `rws_theory.claims` in their order there.
    """
    sources = claims_sources()
    with backend.open() as pool:
        checked = list(pool.map(_checked, CHECKS))
    results = {"schema": SCHEMA[0], "version": SCHEMA[1], "sources": sources}
    results |= {"seconds": round(sum(seconds for seconds, _ in checked), 3), "claims": [claim for _, claim in checked]}
    return write_json(runs / NAME / "results.json", results)


def _checked(claim: str) -> tuple[float, dict[str, Any]]:
    start = time.perf_counter()
    (claim_row,) = claims([claim])
    return time.perf_counter() - start, claim_row.as_dict()
