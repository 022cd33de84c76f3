from .arness import (
    global_arness as global_arness,
    global_arness_mean as global_arness_mean,
    kendall_tau as kendall_tau,
    local_arness as local_arness,
    local_arness_mean as local_arness_mean,
)
from .deviation import (
    footrule_max as footrule_max,
    footrule_mean as footrule_mean,
    footrule_variance as footrule_variance,
    generation_order_deviation as generation_order_deviation,
)
from .invariance import (
    by_confidence as by_confidence,
    drawn_first_law as drawn_first_law,
    exchange_distance as exchange_distance,
    output_law as output_law,
    parallel_distances as parallel_distances,
    table_conditionals as table_conditionals,
    table_law as table_law,
    total_variation as total_variation,
)
from .null import (
    FootruleDistribution as FootruleDistribution,
    footrule_distribution as footrule_distribution,
)
from .significance import (
    OrderTest as OrderTest,
    order_test as order_test,
)
