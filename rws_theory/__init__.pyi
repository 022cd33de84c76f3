from .confidence import (
    GapStatistics as GapStatistics,
    gap_statistics as gap_statistics,
    gaps as gaps,
    log_odds as log_odds,
    max_probability as max_probability,
)
from .crossings import Crossing as Crossing, Crossings as Crossings, crossings as crossings
from .gain import (
    factor_range as factor_range,
    normalise as normalise,
    reward_factor as reward_factor,
)
from .majorisation import Majorisation as Majorisation, majorises as majorises
from .orders.deviation import (
    footrule_max as footrule_max,
    footrule_mean as footrule_mean,
    generation_order_deviation as generation_order_deviation,
    local_arness as local_arness,
)
from .orders.invariance import output_law as output_law, parallel_distances as parallel_distances
from .pairs import PairClasses as PairClasses, classify_pairs as classify_pairs
from .reversal_law import (
    ReversalLimit as ReversalLimit,
    ReversalShare as ReversalShare,
    end_reversals as end_reversals,
    freezing_scale as freezing_scale,
    reversal_limit as reversal_limit,
    scale_reversals as scale_reversals,
)
from .selection import SelectionPath as SelectionPath, selection_path as selection_path
from .stability import StabilityRadius as StabilityRadius, stability_radius as stability_radius
from .threshold import ThresholdPath as ThresholdPath, threshold_path as threshold_path
from .tilting.comonotone import ScalingReward as ScalingReward, scaling_raises_reward as scaling_raises_reward

__version__: str
