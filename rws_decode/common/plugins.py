"""What extras and other installed packages offer: entry points, found by name and loaded only when they are named.

A group of entry points is a table: name -> what an object reference such as "my_package.module:Class" loads. The guide
docs/guides/plug-ins.md lists the groups. What the core has itself cannot be replaced.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from rws_theory.extras import EXTRAS
from rws_theory.show import Note

NAMES, HOOKS = "rws.names", "rws.hooks"  # public names of `rws_decode`, and what the core asks for by name


def names(group: str) -> tuple[str, ...]:
    """Return the names that a group offers, in the order of the packages' metadata; nothing is loaded."""
    return tuple(_table(group, tuple(sys.path)))


def find(group: str, name: str) -> Any:
    """Return what the group offers under a name, None where nothing is offered.

    ValueError in one line that names package and entry point, where it does not load or where two packages offer it.
    """
    points = _table(group, tuple(sys.path)).get(name, ())
    if not points:
        return None
    if len(points) > 1:
        packages = " and ".join(sorted(_package(point) for point in points))
        raise ValueError(f"{name} is offered by the packages {packages} ({group}): uninstall one of them")
    try:
        return points[0].load()
    except Exception as error:  # whatever a foreign module raises
        if isinstance(error, ModuleNotFoundError) and EXTRAS.get((error.name or "").partition(".")[0]) == "decode":
            raise  # nothing decodes without it: the command says what to install
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise refused(group, name, f"cannot be loaded ({why})") from error


def hook(name: str, what: str = "") -> Any:
    """Return what an extra does for the core; where none offers it ValueError, beginning with `what`, None without."""
    for group in (HOOKS, NAMES):
        if (found := find(group, name)) is not None:
            return found
    if not what:
        return None
    raise ValueError(f"{what}: no installed package offers {name} ({HOOKS})")


def loaded(group: str) -> Iterator[tuple[str, Any]]:
    """Yield all that a group offers, by name; what cannot be had is told in a note and left out."""
    for name in names(group):
        try:
            yield name, find(group, name)
        except ValueError as error:
            warnings.warn(Note(str(error)), stacklevel=2)


def modules(group: str, name: str | None = None) -> set[str]:
    """Return the modules that a group's entry points name, or those of one of them."""
    table = _table(group, tuple(sys.path))
    return {point.module for each, points in table.items() if name in (None, each) for point in points}


def public_name(module: str, name: str) -> Any:
    """Return a public name of a module that an extra offers, "plots.order_map" of `rws_decode.view.plots`.

    AttributeError for any other name, and for one that cannot be loaded.
    """
    if name.startswith("_"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    try:
        found = find(NAMES, name)
    except ValueError as error:
        raise AttributeError(str(error)) from error
    if found is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return found


def refused(group: str, name: str, why: str) -> ValueError:
    """Return the error of an entry point that cannot be used: package, entry point, and why."""
    (point, *_) = _table(group, tuple(sys.path))[name]
    return ValueError(f"package {package_of(group, name)} offers {name} = {point.value} ({group}), which {why}")


def package_of(group: str, name: str) -> str:
    """Return the package that offers a name of a group; nothing is loaded."""
    return _package(_table(group, tuple(sys.path))[name][0])


@cache
def _table(group: str, path: tuple[str, ...]) -> dict[str, list[EntryPoint]]:
    """Return the entry points of a group by name, for a search path of modules."""
    table: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=group):
        table.setdefault(point.name, []).append(point)
    return table


def _package(point: EntryPoint) -> str:
    return "?" if point.dist is None else point.dist.name
