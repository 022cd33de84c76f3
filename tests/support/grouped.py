"""Settings that a test keeps in one flat dict, grouped as the decoders take them."""

from dataclasses import fields
from typing import Any

from rws_decode import Options, Shape


def grouped(**flat: Any) -> dict[str, Any]:
    """Return keyword arguments of `decode`: those of Shape and of Options put together, the others as they are."""
    kinds = {"shape": Shape, "options": Options}
    named = {field.name: name for name, kind in kinds.items() for field in fields(kind)}
    parts: dict[str, dict[str, Any]] = {name: {} for name in kinds}
    for name in [name for name in flat if name in named]:
        parts[named[name]][name] = flat.pop(name)
    return flat | {name: kind(**parts[name]) for name, kind in kinds.items() if parts[name]}
