"""Pictures of traces and paths, still and interactive."""

import lazy_loader

# `rws_decode.plots` is this package's module; it waits for Matplotlib when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["plots"])
