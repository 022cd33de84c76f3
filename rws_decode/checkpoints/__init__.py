"""Checkpoints: shipped, installed, in a directory or of the hub; found, checked and read without running their code."""

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
