"""Generation orders: their distance from left to right, and their effect on the output distribution.

:mod:`~rws_theory.orders.deviation` measures an order, :mod:`~rws_theory.orders.invariance` enumerates its effect.
"""

from __future__ import annotations

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
