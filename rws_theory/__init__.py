"""Mathematics of logit scaling in masked diffusion decoding.

A position's confidence is the largest softmax probability of its logits; scaling all logits by a factor r > 0 keeps
every position's best token and changes which positions are most confident. This package computes those confidences at
any scale (:mod:`~rws_theory.confidence`), where two of them cross (:mod:`~rws_theory.crossings`), the factor that a
reward produces (:mod:`~rws_theory.gain`) and how far a generation order is from left to right
(:mod:`~rws_theory.orders.deviation`, :mod:`~rws_theory.orders.null`, :mod:`~rws_theory.orders.arness`). What the paper's Theorem 1 says
about a pair of positions, and what is true of it, is in :mod:`~rws_theory.theorem1`; :mod:`~rws_theory.claims` is the
ledger of all its statements. :mod:`~rws_theory.selection` follows the top k positions over a range of scales,
:mod:`~rws_theory.tilting` sets tilting by a reward beside scaling, and :mod:`~rws_theory.worlds.joint_table`,
:mod:`~rws_theory.worlds.markov`, :mod:`~rws_theory.worlds.decoding` and :mod:`~rws_theory.worlds.ensembles` decode masked models
whose conditionals are exact.
"""

from __future__ import annotations

from rws_theory.confidence import GapStatistics, gap_statistics, gaps, log_odds, max_probability
from rws_theory.crossings import Crossing, Crossings, crossings
from rws_theory.gain import factor_range, inverse_reward, normalise, reward_factor
from rws_theory.orders.arness import global_arness, kendall_tau, local_arness
from rws_theory.orders.deviation import footrule_max, footrule_mean, footrule_variance, generation_order_deviation
from rws_theory.orders.null import FootruleDistribution, OrderTest, footrule_distribution, order_test
from rws_theory.pairs import PairClasses, classify_pairs
from rws_theory.selection import SelectionPath, selection_path

__version__ = "0.1.0"

__all__ = [
    "Crossing",
    "Crossings",
    "FootruleDistribution",
    "GapStatistics",
    "OrderTest",
    "PairClasses",
    "SelectionPath",
    "__version__",
    "classify_pairs",
    "crossings",
    "factor_range",
    "footrule_distribution",
    "footrule_max",
    "footrule_mean",
    "footrule_variance",
    "gap_statistics",
    "gaps",
    "generation_order_deviation",
    "global_arness",
    "inverse_reward",
    "kendall_tau",
    "local_arness",
    "log_odds",
    "max_probability",
    "normalise",
    "order_test",
    "reward_factor",
    "selection_path",
]
