"""Tests use public names, so that a file moves without a sweep through them."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

from documented_commands import ROOT

from paper_figures.exhibits import NAMES
from paper_figures.studies import STUDIES

PACKAGES = ("rws_theory", "rws_decode", "paper_figures")
REFERENCE = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
# What the reference documents, and what commands name: a study and an exhibit are the modules of their names.
PUBLIC = {
    *PACKAGES,
    *re.findall(r"^::: ([\w.]+)$", REFERENCE, flags=re.MULTILINE),
    *("rws_theory.testing", "rws_theory.worlds"),
    *(f"paper_figures.studies.{name.replace('-', '_')}" for name in STUDIES),
    *(f"paper_figures.exhibits.{name}" for name in NAMES),
}


def is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def internal(path: Path) -> list[str]:
    """Return the imports of a file whose module is neither public nor a package that offers the names."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            modules = {node.module}
            if (ROOT / node.module.replace(".", "/") / "__init__.py").is_file():
                offered = getattr(import_module(node.module), "__all__", ())
                modules = {f"{node.module}.{alias.name}" for alias in node.names if alias.name not in offered}
                modules = {name for name in modules if is_module(name)}
        else:
            continue
        if any(name.split(".")[0] in PACKAGES and name not in PUBLIC for name in modules):
            found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    return found


def test_few_imports_of_the_tests_are_internal() -> None:
    found = [each for path in sorted((ROOT / "tests").rglob("*.py")) for each in internal(path)]
    assert len(found) <= 220, "import what a package offers, or what the reference documents: " + " ".join(found)
