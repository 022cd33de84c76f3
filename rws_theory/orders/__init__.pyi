from .deviation import (
    footrule_max as footrule_max,
    footrule_mean as footrule_mean,
    generation_order_deviation as generation_order_deviation,
    local_arness as local_arness,
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
