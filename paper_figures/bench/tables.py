"""Compute ratios with their goals, and the paper's Tables 11 and 12, from the times of all ways."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

_GIB = 2**30
_MET = {"at most": operator.le, "at least": operator.ge, "below": operator.lt}
_MEMORY_GOAL = "below 2"
# Slow way, fast way, and by what factor it ought to be faster. What asks at every step owes nothing to the text.
_SPEEDS = (("plain", "default", None), ("naive rws", "rws", "at least 2"), ("naive rws", "rws every 1", None))

_OVERHEADS = (("ours", "default", "rws"), ("every step", "default", "rws every 1"), ("naive", "plain", "naive rws"))

Rows = Sequence[Mapping[str, Any]]


def ratios(ways: Rows, least: Rows, *, goals: bool = True) -> list[dict[str, Any]]:
    """Return ratios by batch, each with its goal, if any, and whether it is met; nothing for what was not measured.

    goals: False where the goals are not set for this device or these models.

    >>> ways = [{"batch": 1, "way": name, "median_seconds": seconds, "memory_bytes": None}
    ...         for name, seconds in [("naive rws", 6.0), ("rws", 2.0)]]
    >>> ratios(ways, [])
    [{'name': 'naive rws over rws', 'batch': 1, 'value': 3.0, 'goal': 'at least 2', 'met': True}]
    """
    table: list[dict[str, Any]] = []

    def add(name: str, batch: int, value: float, goal: str | None = None) -> None:
        met, goal = None, goal if goals else None
        if goal is not None:
            kind, _, bound = goal.rpartition(" ")
            met = _MET[kind](value, float(bound))
        table.append({"name": name, "batch": batch, "value": value, "goal": goal, "met": met})

    for batch in dict.fromkeys(row["batch"] for row in ways):
        times = _seconds(ways, batch)
        at_best = {row["method"]: row["seconds"] for row in least if row["batch"] == batch}
        over = [("default", "at most 1.25"), ("rws", None), ("plain", None)]
        for name, goal in over:
            against = at_best.get("rws" if name == "rws" else "default")
            if name in times and against:
                add(f"{name} over the least time", batch, times[name] / against, goal)
        for slow, fast, goal in _SPEEDS:
            if slow in times and fast in times:
                add(f"{slow} over {fast}", batch, times[slow] / times[fast], goal)
        for row in ways:
            if row["batch"] == batch and row["memory_bytes"] is not None:
                ours = row["way"] in ("default", "rws") and batch == 1
                name = f"{row['way']}: GiB above the weights"
                add(name, batch, row["memory_bytes"] / _GIB, _MEMORY_GOAL if ours else None)
    return table


def overhead(ways: Rows, reward_bytes: int) -> list[dict[str, Any]]:
    """Return what RWS costs over the default (Table 11), by batch: ours, ours asking at every step, the loops in use.

    added_bytes: the reward model's weights, and the peak of rws over that of the default; None on a CPU.
    """
    table = []
    for batch in dict.fromkeys(row["batch"] for row in ways):
        times = _seconds(ways, batch)
        memory = {row["way"]: row["memory_bytes"] for row in ways if row["batch"] == batch}
        for of, default, rws in _OVERHEADS:
            if default not in times or rws not in times:
                continue
            bytes_held = memory[default], memory[rws]
            measured = None not in bytes_held
            row = {"batch": batch, "of": of, "default_seconds": times[default], "rws_seconds": times[rws]}
            row["increase"] = 100 * (times[rws] / times[default] - 1)
            table.append(row | {"added_bytes": reward_bytes + bytes_held[1] - bytes_held[0] if measured else None})
    return table


def frequency(ways: Rows, batch: int) -> list[dict[str, Any]]:
    """Return the seconds of RWS that asks the reward at every k-th step, of ours, at one batch (Table 12).

    None of these ways leaves a call out because it cannot matter or was made before.
    """
    times = _seconds(ways, batch)
    calls = {row["way"]: row["reward_calls"] for row in ways if row["batch"] == batch}
    asked = {name: int(name.removeprefix("rws every ")) for name in times if name.startswith("rws every ")}
    if not asked:
        return []
    base, every_step = times.get("default"), times.get("rws every 1")
    table = []
    for name, every in ({"default": None} | asked).items():
        if name in times:
            row: dict[str, Any] = {"every": every, "seconds": times[name]}
            row["over_every_step"] = times[name] / every_step if every_step else None
            row["increase"] = 100 * (times[name] / base - 1) if base else None
            table.append(row | {"reward_calls": calls[name]})
    return table


def _seconds(ways: Rows, batch: int) -> dict[str, float]:
    rows = [row for row in ways if row["batch"] == batch]
    return {row["way"]: row["median_seconds"] for row in rows if row["median_seconds"] is not None}
