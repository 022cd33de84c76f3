"""The code that results follow from: the modules that a piece of work imports, and those that these import.

A result is stored under the digest of its code (`units.Origin`). Were that the whole package, a comma in a table's
caption would throw away days of decoding; so it is what can be reached from the module of the work, read from the
source by its import statements, those inside functions too.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

__all__ = ["WORK", "code_digest", "digest", "module_of", "modules_behind"]

WORK = "paper_figures.studies.work.measuring"
_PACKAGES = ("paper_figures", "rws_decode", "rws_theory")


def digest(value: Any) -> str:
    """Return the SHA-256, in hexadecimal, of a value's JSON with sorted keys.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()


def module_of(work: object) -> str:
    """Return the module whose code a piece of work is: its own, or the function's that it was made of.

    That of `__main__` cannot be found from other processes: WORK stands for it.

    >>> module_of(digest)
    'paper_figures.runner.digests'
    """
    name = getattr(getattr(work, "function", work), "__module__", None) or type(work).__module__
    return WORK if name in ("__main__", "__mp_main__") else name


@lru_cache
def code_digest(root: str = WORK) -> str:
    """Return the digest of the source files behind a module, once per process: what changes later does not run."""
    files = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in modules_behind(root).items()}
    return digest(files)


def modules_behind(root: str) -> dict[str, Path]:
    """Return every module of this package and of rws_theory that a module reaches by imports, with its file.

    The module itself is among them, wherever it is from. A module that picks its neighbours by name, as the table of
    strategies does, reaches all of them; other modules that are named by strings at run time are not found.
    ValueError for a module that has no source file.

    >>> found = modules_behind("paper_figures.studies.work.measuring")
    >>> "rws_decode.strategies.orders" in found, "paper_figures.studies.summaries.means" in found
    (True, False)
    """
    found: dict[str, Path] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name in found or (path is None and name != root):
            continue
        if path is None:
            raise ValueError(f"root is {name!r}: a module with a source file is needed")
        found[name] = path
        waiting += [one for one in _imported(name, path) if one.split(".")[0] in _PACKAGES]
    return dict(sorted(found.items()))


def _file(name: str) -> Path | None:
    """Return a module's source file; None where it has none. Importing a module to find it would load PyTorch."""
    top, *parts = name.split(".")
    if top in _PACKAGES:
        place = Path(str(import_module(top).__file__)).parent.joinpath(*parts)
        return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None)
    module = sys.modules.get(name)
    if module is not None and getattr(module, "__file__", None):
        return Path(str(module.__file__))
    spec = find_spec(name)
    return Path(spec.origin) if spec is not None and spec.origin and spec.has_location else None


def _imported(name: str, path: Path) -> Iterator[str]:
    """Yield the modules that a source file may import: those named, their packages, and names taken from them."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    named: set[str] = set()
    text = path.read_text(encoding="utf-8")
    if 'import_module(f"{__package__}.' in text:
        named |= {f"{package}.{neighbour.stem}" for neighbour in path.parent.glob("*.py")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            named |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    for one in sorted(named):
        parts = one.split(".")
        yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))
