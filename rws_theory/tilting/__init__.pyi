from .comonotone import (
    Fall as Fall,
    Level as Level,
    ScalingReward as ScalingReward,
    scaling_raises_reward as scaling_raises_reward,
)
from .reward import (
    MAX_ORDER as MAX_ORDER,
    VarianceIdentity as VarianceIdentity,
    scaled_reward_mean as scaled_reward_mean,
    scaled_reward_slope as scaled_reward_slope,
    tilt as tilt,
    tilted_cumulants as tilted_cumulants,
    tilted_gain as tilted_gain,
    variance_identity as variance_identity,
)
