"""The room of pictures, `rws_decode.view`, as objects ask for it: the only import of the decoder that goes up."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def pictures() -> ModuleType:
    """Return `rws_decode.view.faces`, where what shows an object is registered by its type.

    An object's own methods call it when a user asks for a page, a picture or a table. `view` stands above all results,
    which it reads; so it is imported here, then, and by no result.
    """
    return import_module("rws_decode.view.faces")
