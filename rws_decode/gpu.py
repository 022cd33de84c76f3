"""Decoding on the masked positions alone, made for a GPU: what the extra `compact` offers."""

from typing import Any

from rws_decode.common.plugins import hook

_OFFERED = ("CompactSavings", "decode_compact")


def __getattr__(name: str) -> Any:
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(hook("compact", f"{__name__}.{name}"), name)
