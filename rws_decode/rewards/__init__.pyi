from .base import RewardModel as RewardModel, RewardSession as RewardSession, SessionReward as SessionReward
from .callable import CallableReward as CallableReward
from .causal import CausalReward as CausalReward
from .loading import load_reward as load_reward
from .network import SequenceClassifierReward as SequenceClassifierReward
from .registry import PUBLISHED as PUBLISHED, KnownReward as KnownReward, known_reward as known_reward
from .base import (
    bounds_of as bounds_of,
    check_scores as check_scores,
)
from .registry import (
    check_reward_name as check_reward_name,
    layout_of as layout_of,
)
from .world import (
    WorldReward as WorldReward,
    era_reward as era_reward,
)
