import typing

from .ablation import Ablation as Ablation, ablate as ablate, load_ablation as load_ablation
from .common.page import Page as Page
from .compare import Comparison as Comparison, compare as compare
from .decode import decode as decode
from .measured_reward import measured_reward as measured_reward
from .predictors import (
    CallablePredictor as CallablePredictor,
    HFMaskPredictor as HFMaskPredictor,
    MaskPredictor as MaskPredictor,
    WorldPredictor as WorldPredictor,
    load_predictor as load_predictor,
)
from .replay.replay import Replay as Replay, replay as replay, replay_with as replay_with
from .replay.step_logits import StepLogits as StepLogits, step_logits as step_logits
from .rewards import (
    CallableReward as CallableReward,
    CausalReward as CausalReward,
    RewardModel as RewardModel,
    SequenceClassifierReward as SequenceClassifierReward,
    load_reward as load_reward,
)
from .settings import Options as Options, Savings as Savings, Shape as Shape
from .final_text import final_reward as final_reward
from .strategies.counted import Threshold as Threshold
from .strategies.factors import RWS as RWS, Confidence as Confidence, Temperature as Temperature
from .strategies.given import RecordedOrder as RecordedOrder, RewardReplay as RewardReplay, Schedule as Schedule
from .strategies.orders import (
    Entropy as Entropy,
    LeftToRight as LeftToRight,
    Margin as Margin,
    RandomOrder as RandomOrder,
)
from .strategies.protocol import (
    Abilities as Abilities,
    CommittedPositions as CommittedPositions,
    FactorStrategy as FactorStrategy,
    MaskedPositions as MaskedPositions,
    OrderStrategy as OrderStrategy,
    Strategy as Strategy,
)
from .strategies.recorded import constant_of as constant_of, recorded as recorded, shuffled as shuffled
from .text.dialogue import Dialogue as Dialogue
from .trace.decoding import Decoding as Decoding
from .trace.trace import Trace as Trace, load_trace as load_trace
from .view import plots as plots

def __getattr__(name: str) -> typing.Any: ...  # what extras offer, by the entry points rws.names
