from .base import RewardModel as RewardModel, RewardSession as RewardSession, SessionReward as SessionReward
from .callable import CallableReward as CallableReward
from .causal import CausalReward as CausalReward
from .loading import load_reward as load_reward
from .network import SequenceClassifierReward as SequenceClassifierReward
from .registry import PUBLISHED as PUBLISHED, KnownReward as KnownReward, known_reward as known_reward
