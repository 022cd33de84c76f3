"""Packages whose names are imported when they are first used: nothing waits for a library that it does not need."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["on_demand"]


def on_demand(package: str, home: Mapping[str, Sequence[str]]) -> None:
    """Let a package, from its `__init__`, offer names of its modules without importing these.

    home: module, below the package -> names. A name that is a module's too stands for what the module defines under
    it: `rws_theory.crossings` is the function. Type checkers need the same imports under TYPE_CHECKING.

    >>> import rws_theory.worlds
    >>> rws_theory.crossings.__module__, rws_theory.worlds.frontier.__module__
    ('rws_theory.crossings', 'rws_theory.worlds.frontier')
    """
    module_of = {name: module for module, names in home.items() for name in names}

    class Package(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name not in module_of:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            value = getattr(import_module(f"{package}.{module_of[name]}"), name)
            setattr(self, name, value)
            return value

        def __setattr__(self, name: str, value: Any) -> None:
            # Importing a module sets it in its package, over the function of the same name.
            if name in module_of and isinstance(value, ModuleType):
                value = getattr(value, name)
            super().__setattr__(name, value)

        def __dir__(self) -> list[str]:
            return sorted({*super().__dir__(), *module_of})

    sys.modules[package].__class__ = Package
