"""How far the order in which tokens were committed is from left to right.

:mod:`~rws_theory.orders.deviation` is the paper's Generation Order Deviation (GOD), :mod:`~rws_theory.orders.null` its
distribution under random orders, :mod:`~rws_theory.orders.significance` a test of an observed order, and
:mod:`~rws_theory.orders.arness` Kendall's tau and AR-ness. What an order can change in the law of the output is
enumerated by :mod:`~rws_theory.orders.invariance`.
"""

from __future__ import annotations

from rws_theory.orders.arness import (
    global_arness,
    global_arness_mean,
    kendall_tau,
    local_arness,
    local_arness_mean,
)
from rws_theory.orders.deviation import footrule_max, footrule_mean, footrule_variance, generation_order_deviation
from rws_theory.orders.invariance import (
    by_confidence,
    drawn_first_law,
    exchange_distance,
    output_law,
    parallel_distances,
    table_conditionals,
    table_law,
    total_variation,
)
from rws_theory.orders.null import FootruleDistribution, footrule_distribution
from rws_theory.orders.significance import OrderTest, order_test

__all__ = [
    "FootruleDistribution",
    "OrderTest",
    "by_confidence",
    "drawn_first_law",
    "exchange_distance",
    "footrule_distribution",
    "footrule_max",
    "footrule_mean",
    "footrule_variance",
    "generation_order_deviation",
    "global_arness",
    "global_arness_mean",
    "kendall_tau",
    "local_arness",
    "local_arness_mean",
    "order_test",
    "output_law",
    "parallel_distances",
    "table_conditionals",
    "table_law",
    "total_variation",
]
