"""Find what packages add by entry points: the core names no extra, and an extra may be absent."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

_PROGRAMS = "rws.programs"


@cache
def registered(group: str) -> dict[str, str]:
    """Return name -> module of the entry points of a group, which nobody has imported yet."""
    return {point.name: point.value for point in entry_points(group=group)}


def sandbox() -> Any:
    """Return the package that runs generated programs; ValueError where none is installed.

    It has the names of `paper_figures.extra.sandbox`, and is the entry point `sandbox` of the group `rws.programs`.
    """
    found = entry_points(group=_PROGRAMS, name="sandbox")
    if not found:
        raise ValueError(f"no sandbox is installed: programs run where the group {_PROGRAMS} of entry points has one")
    return next(iter(found)).load()
