"""What a result is stored under: the digest of its JSON, and the digest of the code that it follows from.

That code is the modules that a piece of work imports, and those that these import (`units.Origin`). Were it the whole
package, a comma in a table's caption would throw away days of decoding. Imports are read from the source, those inside
functions too. There is no PyTorch here, so that workers start at once.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

from rws_decode.common.plugins import HOOKS, NAMES
from rws_decode.common.plugins import modules as modules_offered

# Stands for the code of work whose own file cannot be found.
DECODER = "rws_decode.decode"
_PACKAGES = ("paper_figures", "rws_decode", "rws_theory")
_DRAWN = ["rws_decode", "view"]


def digest(value: Any) -> str:
    """Return the SHA-256, in hexadecimal, of a value's JSON with sorted keys.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()


def module_of(work: object) -> str:
    """Return the module whose code a piece of work is.

    `__main__` cannot be found from other processes: DECODER stands for it.

    >>> module_of(digest)
    'paper_figures.runner.digests'
    """
    name = getattr(work, "__module__", None) or type(work).__module__
    return DECODER if name in ("__main__", "__mp_main__") else name


@lru_cache
def code_digest(root: str = DECODER) -> str:
    """Return the digest of the source files behind a module, once per process: what changes later does not run."""
    files = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in modules_behind(root).items()}
    return digest(files)


def modules_behind(root: str) -> dict[str, Path]:
    """Return every module of this project that a module reaches by imports, with its file.

    The module itself is among them, wherever it is from. Pages and plots are not (`rws_decode.view`): results have
    methods that draw them, and no result follows from a drawing. Modules that are named by strings at run time are not
    found, but for those of its own package that a source names as "MODULE.NAME", as the tables of strategies do, and
    what extras offer in a group of entry points that a source names (`rws_decode.common.plugins`). ValueError for a
    module that has no source file.

    >>> modules = modules_behind("rws_decode.decode")
    >>> "rws_decode.settings" in modules, "rws_decode.view" in modules
    (True, False)
    """
    files: dict[str, Path] = {}
    waiting, asked = [root], set()
    while waiting:
        name = waiting.pop()
        if name in asked:
            continue
        asked.add(name)
        path = _file(name)
        if path is None:
            if name == root:
                raise ValueError(f"root is {name!r}: a module with a source file is needed")
            continue
        files[name] = path
        imported = (module for module in _imported(name, path) if module.split(".")[0] in _PACKAGES)
        waiting += [module for module in imported if module.split(".")[:2] != _DRAWN]
    return dict(sorted(files.items()))


def _file(name: str) -> Path | None:
    """Return a module's source file; None if it has none. Importing a module to find it would load PyTorch."""
    top, *parts = name.split(".")
    if top in _PACKAGES:
        stem = Path(str(import_module(top).__file__)).parent.joinpath(*parts)
        return next((path for path in (stem / "__init__.py", stem.with_suffix(".py")) if path.is_file()), None)
    module = sys.modules.get(name)
    if module is not None and getattr(module, "__file__", None):
        return Path(str(module.__file__))
    spec = find_spec(name)
    return Path(spec.origin) if spec is not None and spec.origin and spec.has_location else None


def _imported(name: str, path: Path) -> Iterator[str]:
    """Yield the modules that a source file may import: those named, there or in its stub, their packages, and names."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    named = _named(package, path.read_bytes())
    stub = path.with_suffix(".pyi")
    if stub.is_file():
        named |= _named(package, stub.read_bytes())
    for module in sorted(named):
        parts = module.split(".")
        yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))


@cache
def _named(package: str, source: bytes) -> frozenset[str]:
    """Return the modules that a source in `package` names: by imports, as "MODULE.NAME" of it, or by entry points.

    Sources are kept, for they are parsed once for all roots that reach them.
    """
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            modules |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            own, _, attribute = node.value.partition(".")
            if own.isidentifier() and attribute.isidentifier():
                modules.add(f"{package}.{own}")
            if node.value not in (NAMES, HOOKS):
                modules |= modules_offered(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "hook":
            names = [each.value for each in node.args[:1] if isinstance(each, ast.Constant)]
            modules |= {module for name in names for module in modules_offered(HOOKS, str(name))}
    return frozenset(modules)
