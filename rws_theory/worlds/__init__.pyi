from .ensembles import (
    CorollaryCell as CorollaryCell,
    CorollaryStudy as CorollaryStudy,
    Ensemble as Ensemble,
    Reward as Reward,
    RewardTally as RewardTally,
    TableDecodes as TableDecodes,
    corollary_study as corollary_study,
    decode_tables as decode_tables,
    random_rewards as random_rewards,
    random_tables as random_tables,
)
from .frontier import Frontier as Frontier, FrontierPoint as FrontierPoint, frontier as frontier, frontiers as frontiers
from .information_curve import (
    InformationCurve as InformationCurve,
    StepSchedule as StepSchedule,
    best_schedule as best_schedule,
    information_curve as information_curve,
)
from .joint_table import (
    MASK as MASK,
    JointTable as JointTable,
    MaskedModel as MaskedModel,
    check_canvas as check_canvas,
    reward_statistics as reward_statistics,
)
from .less_reward import LessReward as LessReward, rws_less_reward_example as rws_less_reward_example
from .markov import MarkovChain as MarkovChain, contraction as contraction
from .ngram import NGram as NGram
from .reference_decoder import (
    FactorRule as FactorRule,
    MaskedDecode as MaskedDecode,
    constant_rule as constant_rule,
    decode_masked as decode_masked,
    flipped_rule as flipped_rule,
    replay_rule as replay_rule,
    rws_rule as rws_rule,
    table_reward as table_reward,
)
from .slopes import RewardSlopes as RewardSlopes, reward_slopes as reward_slopes
from .tilts import Automaton as Automaton, keywords as keywords
from .backoff import (
    Backoff as Backoff,
    fit_backoff as fit_backoff,
)
from .part_memory import (
    PartMemory as PartMemory,
)
from .stored import (
    pack as pack,
    unpack as unpack,
)
