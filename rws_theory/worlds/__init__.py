"""Masked models whose conditionals are exact, and the decoders and studies that run on them."""

from __future__ import annotations

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
