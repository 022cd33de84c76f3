"""What the times of all ways come to, the paper's Table 11 among it, and all of `bench --shape` as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

_GIB = 2**30
# Slow way, fast way, and by what factor it ought to be faster. What asks at every step owes nothing to the text.
_SPEEDS = (("plain", "default", None), ("naive rws", "rws", "at least 2"), ("naive rws", "rws every 1", None))
_OVERHEADS = (("ours", "default", "rws"), ("every step", "default", "rws every 1"), ("naive", "plain", "naive rws"))

Rows = Sequence[Mapping[str, Any]]


def ratios(ways: Rows, least: Rows) -> list[dict[str, Any]]:
    """Return ratios by batch, each with its goal for llada-8b on a GPU, if any; nothing for what was not measured.

    >>> ways = [{"batch": 1, "way": name, "median_seconds": seconds, "memory_bytes": None}
    ...         for name, seconds in [("naive rws", 6.0), ("rws", 2.0)]]
    >>> ratios(ways, [])
    [{'name': 'naive rws over rws', 'batch': 1, 'value': 3.0, 'goal': 'at least 2'}]
    """
    rows: list[tuple[str, int, float, str | None]] = []
    for batch in dict.fromkeys(row["batch"] for row in ways):
        times = _seconds(ways, batch)
        at_best = {row["method"]: row["seconds"] for row in least if row["batch"] == batch}
        for name, goal in (("default", "at most 1.25"), ("rws", None), ("plain", None)):
            against = at_best.get("rws" if name == "rws" else "default")
            if name in times and against:
                rows.append((f"{name} over the least time", batch, times[name] / against, goal))
        for slow, fast, goal in _SPEEDS:
            if slow in times and fast in times:
                rows.append((f"{slow} over {fast}", batch, times[slow] / times[fast], goal))
        for row in ways:
            if row["batch"] == batch and row["memory_bytes"] is not None:
                goal = "below 2" if row["way"] in ("default", "rws") and batch == 1 else None
                rows.append((f"{row['way']}: GiB above the weights", batch, row["memory_bytes"] / _GIB, goal))
    return [dict(zip(("name", "batch", "value", "goal"), row, strict=True)) for row in rows]


def overhead(ways: Rows, reward_bytes: int) -> list[dict[str, Any]]:
    """Return what RWS costs over confidence (Table 11), by batch: ours, ours asking at every step, the loops in use.

    added_bytes: the reward model's weights, and the peak of rws over that of confidence; None on a CPU.
    """
    rows = []
    for batch in dict.fromkeys(row["batch"] for row in ways):
        times = _seconds(ways, batch)
        memory = {row["way"]: row["memory_bytes"] for row in ways if row["batch"] == batch}
        for name, default, rws in _OVERHEADS:
            if default not in times or rws not in times:
                continue
            known = None not in (memory[default], memory[rws])
            row = {"batch": batch, "of": name, "default_seconds": times[default], "rws_seconds": times[rws]}
            row["increase"] = 100 * (times[rws] / times[default] - 1)
            rows.append(row | {"added_bytes": reward_bytes + memory[rws] - memory[default] if known else None})
    return rows


def _seconds(ways: Rows, batch: int) -> dict[str, float]:
    rows = [row for row in ways if row["batch"] == batch]
    return {row["way"]: row["median_seconds"] for row in rows if row["median_seconds"] is not None}


def as_text(result: Mapping[str, Any]) -> str:
    """Return a result of `device.bench_device` as lines; absent parts are left out.

    >>> print(as_text({"checks": [{"name": "kernel", "passed": True, "detail": "27 shapes"}]}))
    self-check: 1 of 1 passed
      passed  kernel: 27 shapes
    """
    checks = result["checks"]
    lines = [f"self-check: {sum(check['passed'] for check in checks)} of {len(checks)} passed"]
    lines += [f"  {'passed' if check['passed'] else 'FAILED'}  {check['name']}: {check['detail']}" for check in checks]
    if "settings" not in result:
        return "\n".join(lines)
    for part in ("provenance", "settings", "ceilings", "parameters"):
        lines += ["", f"{part}: " + ", ".join(f"{name} {value}" for name, value in result[part].items())]
    kernels = result["kernels"]
    logits = f"{kernels['rows']} x {kernels['vocabulary']} logits read; share: of the bandwidth; error: of log F"
    keys = ("batch", "method", "ms_per_step")
    least = [{key: row[key] for key in keys} | part for row in result["roofline"] for part in row["parts"]]
    ways = [{**row, "same tokens": _agreement(row)} for row in result["ways"]]
    for title, rows, without in (
        (logits, kernels["ways"], ()),
        ("the least time of a step: what is computed and moved, means", least, ()),
        ("every way to decode", ways, ("seconds", "agreement", "compared", "peak_bytes")),
        ("ratios, with the goals for llada-8b on a GPU", result["ratios"], ()),
        ("RWS over the default (Table 11), increase in %", result["overhead"], ()),
    ):
        frame = pd.DataFrame(rows).drop(columns=list(without), errors="ignore").dropna(axis="columns", how="all")
        shown = frame.astype(object).where(frame.notna(), "")
        lines += ["", title, shown.to_string(index=False, float_format="{:.4g}".format)]
    return "\n".join([*lines, "", *result["notes"]])


def _agreement(row: Mapping[str, Any]) -> str:
    again = "OTHER TOKENS when run again" if row["repeatable"] is False else ""
    found = row["agreement"]
    if found is None:
        return again
    line = f"{found['equal']} of {found['answers']} as {row['compared']}"
    if found["differences"]:
        line += f", {found['explained']} part at a near-tie ({found['near_steps']:.0%} of steps have one)"
    first = [difference["step"] for difference in found["differences"] if difference["why"] is None]
    line += f", {len(first)} UNEXPLAINED, the first at step {first[0]}" if first else ""
    return ", ".join(filter(None, (line, again)))
