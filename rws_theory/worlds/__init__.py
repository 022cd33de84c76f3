"""Masked models whose conditionals are exact, and the decoders and studies that run on them.

:mod:`~rws_theory.worlds.joint_table` holds any distribution over short sequences, :mod:`~rws_theory.worlds.markov`
Markov chains of any length. :mod:`~rws_theory.worlds.reference_decoder` is the paper's algorithm in a few lines.
:mod:`~rws_theory.worlds.ensembles` compares RWS with its controls on random models, and
:mod:`~rws_theory.worlds.less_reward` is one model on which RWS provably earns less reward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rws_theory.on_demand import on_demand

if TYPE_CHECKING:
    from rws_theory.worlds.automaton import Automaton, keywords
    from rws_theory.worlds.ensembles import (
        CorollaryCell,
        CorollaryStudy,
        Ensemble,
        Reward,
        TableDecodes,
        corollary_study,
        decode_tables,
        random_rewards,
        random_tables,
    )
    from rws_theory.worlds.frontier import Frontier, FrontierPoint, frontier, frontiers
    from rws_theory.worlds.joint_table import MASK, JointTable, MaskedModel, check_canvas, reward_statistics
    from rws_theory.worlds.less_reward import LessReward, check_less_reward, rws_less_reward_example
    from rws_theory.worlds.locality import Scattered, scattered, scattered_order
    from rws_theory.worlds.markov import MarkovChain
    from rws_theory.worlds.ngram import NGram
    from rws_theory.worlds.reference_decoder import (
        FactorRule,
        MaskedDecode,
        constant_rule,
        decode_masked,
        flipped_rule,
        replay_rule,
        rws_rule,
        table_reward,
    )
    from rws_theory.worlds.slopes import RewardSlopes, reward_slopes
    from rws_theory.worlds.tally import RewardTally

# Names are imported when first used, so that an n-gram world does not wait for what the other models need.
_HOME = {
    "automaton": ("Automaton", "keywords"),
    "ensembles": (
        "CorollaryCell",
        "CorollaryStudy",
        "Ensemble",
        "Reward",
        "TableDecodes",
        "corollary_study",
        "decode_tables",
        "random_rewards",
        "random_tables",
    ),
    "frontier": ("Frontier", "FrontierPoint", "frontier", "frontiers"),
    "joint_table": ("MASK", "JointTable", "MaskedModel", "check_canvas", "reward_statistics"),
    "less_reward": ("LessReward", "check_less_reward", "rws_less_reward_example"),
    "locality": ("Scattered", "scattered", "scattered_order"),
    "markov": ("MarkovChain",),
    "ngram": ("NGram",),
    "reference_decoder": (
        "FactorRule",
        "MaskedDecode",
        "constant_rule",
        "decode_masked",
        "flipped_rule",
        "replay_rule",
        "rws_rule",
        "table_reward",
    ),
    "slopes": ("RewardSlopes", "reward_slopes"),
    "tally": ("RewardTally",),
}

__all__ = [
    "MASK",
    "Automaton",
    "CorollaryCell",
    "CorollaryStudy",
    "Ensemble",
    "FactorRule",
    "Frontier",
    "FrontierPoint",
    "JointTable",
    "LessReward",
    "MarkovChain",
    "MaskedDecode",
    "MaskedModel",
    "NGram",
    "Reward",
    "RewardSlopes",
    "RewardTally",
    "Scattered",
    "TableDecodes",
    "check_canvas",
    "check_less_reward",
    "constant_rule",
    "corollary_study",
    "decode_masked",
    "decode_tables",
    "flipped_rule",
    "frontier",
    "frontiers",
    "keywords",
    "random_rewards",
    "random_tables",
    "replay_rule",
    "reward_slopes",
    "reward_statistics",
    "rws_less_reward_example",
    "rws_rule",
    "scattered",
    "scattered_order",
    "table_reward",
]

on_demand(__name__, _HOME)
