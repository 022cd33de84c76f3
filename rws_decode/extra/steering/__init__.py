"""Ways to use a reward that are not a factor of the logits: copies of a decode, weighed, chosen from or looked ahead.

`steer` runs one of them (`table.METHODS`), and counts what it costs: forwards, reward calls, gradients, seconds.
"""

import lazy_loader

_TABLE = "METHODS as_method check_method fitted forwards_of is_method method_text reward_calls_of".split()
_NAMES = {
    "best_of": ["SVDD", "BestOf", "BestOrder", "SoftBestOf"],
    "particles": ["ParticleGibbs", "Particles"],
    "entrgi": ["GradientGuidance", "GuidedParticles"],
    "reward_lookahead": ["RewardLookahead", "TreeSearch"],
    "protocol": ["SteeringMethod"],
    "steer": ["Steering", "drawing", "steer"],
    "table": _TABLE,
}
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs=_NAMES)
