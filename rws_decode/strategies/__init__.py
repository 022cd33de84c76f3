"""Strategies, and the table by which text names them. Their classes are names of `rws_decode`."""

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
