"""How far the order in which tokens were committed is from left to right.

:mod:`~rws_theory.orders.deviation` is the paper's Generation Order Deviation (GOD), :mod:`~rws_theory.orders.null` its
distribution under random orders, :mod:`~rws_theory.orders.significance` a test of an observed order, and
:mod:`~rws_theory.orders.arness` Kendall's tau and AR-ness. What an order can change in the law of the output is
enumerated by :mod:`~rws_theory.orders.invariance`.
"""

from __future__ import annotations

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
