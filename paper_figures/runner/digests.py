"""What a result is stored under: the digest of its JSON, and the digest of the code that it follows from.

That code is what a piece of work reaches in its own file, and the modules that this imports, and those that these
import (`units.Origin`). Were it the whole package, a comma in a table's caption would throw away days of decoding.
Imports are read from the source, those inside functions too. There is no PyTorch here, so that workers start at once.
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


def root_of(work: object) -> str:
    """Return what the code of a piece of work is reached from: MODULE:NAME of a function, else its module.

    `__main__` cannot be found from other processes: DECODER stands for it.

    >>> root_of(digest)
    'paper_figures.runner.digests:digest'
    """
    module, name = getattr(work, "__module__", None) or type(work).__module__, getattr(work, "__qualname__", "")
    if module in ("__main__", "__mp_main__"):
        return DECODER
    return f"{module}:{name}" if name.isidentifier() else module


@lru_cache
def code_digest(root: str = DECODER) -> str:
    """Return the digest of the source behind MODULE or MODULE:NAME, once per process: later changes do not run."""
    return digest({name: hashlib.sha256(source).hexdigest() for name, source in sources_behind(root).items()})


def sources_behind(root: str) -> dict[str, bytes]:
    """Return the source of every module of this project that a root reaches by imports; of its own what NAME reaches.

    The root's module is among them, wherever it is from. Pages and plots are not (`rws_decode.view`): results have
    methods that draw them, and no result follows from a drawing. Modules that are named by strings at run time are not
    found, but for those of its own package that a source names as "MODULE.NAME", as the tables of strategies do, and
    what extras offer in a group of entry points that a source names (`rws_decode.common.plugins`). ValueError for a
    module that has no source file.

    >>> sources = sources_behind("rws_decode.decode")
    >>> "rws_decode.settings" in sources, "rws_decode.view" in sources
    (True, False)
    """
    module, _, function = root.partition(":")
    found: dict[str, bytes] = {}
    waiting, known = [module], set()
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        known.add(name)
        path = _file(name)
        if path is None:
            if name == module:
                raise ValueError(f"root is {root!r}: a module with a source file is needed")
            continue
        source = path.read_bytes()
        found[name] = _reached(source, function) if name == module and function else source
        imported = (each for each in _imported(name, path, found[name]) if each.split(".")[0] in _PACKAGES)
        waiting += [each for each in imported if each.split(".")[:2] != _DRAWN]
    return dict(sorted(found.items()))


def _reached(source: bytes, name: str) -> bytes:
    """Return the top-level statements that define what a name of a source reaches; the whole where it is not there."""
    body, by_name = ast.parse(source).body, dict[str, list[ast.stmt]]()
    for statement in body:
        for defined in _defined(statement):
            by_name.setdefault(defined, []).append(statement)
    waiting, kept = [name], set[int]()
    while waiting:
        for statement in by_name.pop(waiting.pop(), ()):
            if statement.lineno not in kept:
                kept.add(statement.lineno)
                waiting += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    lines = source.splitlines(keepends=True)
    cut = [
        b"".join(lines[min([statement.lineno, *(each.lineno for each in decorators)]) - 1 : statement.end_lineno])
        for statement in body
        if statement.lineno in kept
        for decorators in [getattr(statement, "decorator_list", [])]
    ]
    return b"".join(cut) or source


def _defined(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module gives a meaning, in its branches too."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


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


def _imported(name: str, path: Path, source: bytes) -> Iterator[str]:
    """Yield the modules that a source may import: those named, there or in its stub, their packages, and names."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    stub = path.with_suffix(".pyi")
    named = _named(package, source)
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
            # Only names of groups, as each look reads the metadata of all packages.
            if node.value.startswith("rws.") and node.value not in (NAMES, HOOKS):
                modules |= modules_offered(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "hook":
            names = [each.value for each in node.args[:1] if isinstance(each, ast.Constant)]
            modules |= {module for name in names for module in modules_offered(HOOKS, str(name))}
    return frozenset(modules)
