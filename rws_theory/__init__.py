"""Mathematics of logit scaling in masked diffusion decoding.

A position's confidence is the largest softmax probability of its logits. Scaling all logits by a factor r > 0 keeps
every position's best token and changes which positions are most confident.

- :mod:`~rws_theory.confidence` computes confidences at any scale. :mod:`~rws_theory.crossings` finds where two of them
  cross, :mod:`~rws_theory.pairs` counts the crossings of many pairs, :mod:`~rws_theory.selection` follows the top k
  positions over a range of scales, and :mod:`~rws_theory.threshold` those that reach a threshold.
- :mod:`~rws_theory.majorisation` says whether a position is ahead at every scale, :mod:`~rws_theory.stability` how far
  the scale may move before the chosen set changes.
- :mod:`~rws_theory.reversal_law` says how often the order of random positions reverses.
- :mod:`~rws_theory.gain` is the factor that a reward produces. :mod:`~rws_theory.tilting` compares tilting by a reward
  with scaling.
- :mod:`~rws_theory.theorem1` and :mod:`~rws_theory.parity` state what is true of the paper's Theorem 1.
  :mod:`~rws_theory.claims` is the ledger of all its statements, :mod:`~rws_theory.printed` its printed numbers.
- :mod:`~rws_theory.orders` measures how far a generation order is from left to right, and what an order can change.
  :mod:`~rws_theory.worlds` has masked models with exact conditionals, and decodes them.

All proofs are in docs/theory.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rws_theory.on_demand import on_demand

if TYPE_CHECKING:
    from rws_theory.confidence import GapStatistics, gap_statistics, gaps, log_odds, max_probability
    from rws_theory.crossings import Crossing, Crossings, crossings
    from rws_theory.gain import factor_range, inverse_reward, normalise, reward_factor
    from rws_theory.majorisation import Majorisation, majorises
    from rws_theory.orders.arness import global_arness, kendall_tau, local_arness
    from rws_theory.orders.deviation import footrule_max, footrule_mean, footrule_variance, generation_order_deviation
    from rws_theory.orders.invariance import output_law, parallel_distances
    from rws_theory.orders.null import FootruleDistribution, footrule_distribution
    from rws_theory.orders.significance import OrderTest, order_test
    from rws_theory.pairs import PairClasses, classify_pairs
    from rws_theory.reversal_law import (
        ReversalLimit,
        ReversalShare,
        end_reversals,
        freezing_scale,
        reversal_limit,
        scale_reversals,
    )
    from rws_theory.selection import SelectionPath, selection_path
    from rws_theory.stability import StabilityRadius, stability_radius
    from rws_theory.threshold import ThresholdPath, threshold_path
    from rws_theory.tilting.comonotone import ScalingReward, scaling_raises_reward

__version__ = "0.1.0"

# Names are imported when first used, so that --help does not wait for SciPy.
_HOME = {
    "confidence": ("GapStatistics", "gap_statistics", "gaps", "log_odds", "max_probability"),
    "crossings": ("Crossing", "Crossings", "crossings"),
    "gain": ("factor_range", "inverse_reward", "normalise", "reward_factor"),
    "majorisation": ("Majorisation", "majorises"),
    "orders.arness": ("global_arness", "kendall_tau", "local_arness"),
    "orders.deviation": ("footrule_max", "footrule_mean", "footrule_variance", "generation_order_deviation"),
    "orders.invariance": ("output_law", "parallel_distances"),
    "orders.null": ("FootruleDistribution", "footrule_distribution"),
    "orders.significance": ("OrderTest", "order_test"),
    "pairs": ("PairClasses", "classify_pairs"),
    "reversal_law": (
        "ReversalLimit",
        "ReversalShare",
        "end_reversals",
        "freezing_scale",
        "reversal_limit",
        "scale_reversals",
    ),
    "selection": ("SelectionPath", "selection_path"),
    "stability": ("StabilityRadius", "stability_radius"),
    "threshold": ("ThresholdPath", "threshold_path"),
    "tilting.comonotone": ("ScalingReward", "scaling_raises_reward"),
}

__all__ = [
    "Crossing",
    "Crossings",
    "FootruleDistribution",
    "GapStatistics",
    "Majorisation",
    "OrderTest",
    "PairClasses",
    "ReversalLimit",
    "ReversalShare",
    "ScalingReward",
    "SelectionPath",
    "StabilityRadius",
    "ThresholdPath",
    "__version__",
    "classify_pairs",
    "crossings",
    "end_reversals",
    "factor_range",
    "footrule_distribution",
    "footrule_max",
    "footrule_mean",
    "footrule_variance",
    "freezing_scale",
    "gap_statistics",
    "gaps",
    "generation_order_deviation",
    "global_arness",
    "inverse_reward",
    "kendall_tau",
    "local_arness",
    "log_odds",
    "majorises",
    "max_probability",
    "normalise",
    "order_test",
    "output_law",
    "parallel_distances",
    "reversal_limit",
    "reward_factor",
    "scale_reversals",
    "scaling_raises_reward",
    "selection_path",
    "stability_radius",
    "threshold_path",
]

on_demand(__name__, _HOME)
