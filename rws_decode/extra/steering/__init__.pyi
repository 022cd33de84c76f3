from .best_of import SVDD as SVDD, BestOf as BestOf, BestOrder as BestOrder, SoftBestOf as SoftBestOf
from .entrgi import GradientGuidance as GradientGuidance, GuidedParticles as GuidedParticles
from .particles import ParticleGibbs as ParticleGibbs, Particles as Particles
from .protocol import SteeringMethod as SteeringMethod
from .reward_lookahead import RewardLookahead as RewardLookahead, TreeSearch as TreeSearch
from .soft_rewards import SoftReward as SoftReward, soft_reward as soft_reward
from .steer import Steering as Steering, drawing as drawing, steer as steer
from .table import (
    METHODS as METHODS,
    as_method as as_method,
    check_method as check_method,
    fitted as fitted,
    forwards_of as forwards_of,
    method_text as method_text,
    reward_calls_of as reward_calls_of,
    within_budget as within_budget,
)
