from .extra.adapters.config import RWSGenerationConfig as RWSGenerationConfig
from .extra.check.compare import DigestDiff as DigestDiff, compare_digests as compare_digests
from .extra.check.digest import Digest as Digest, load_digest as load_digest
from .extra.check.fragility import Fragility as Fragility, fragility as fragility
from .extra.check.make import check_digest as check_digest
from .common.page import Animation as Animation, Page as Page
from .compare import Comparison as Comparison, compare as compare
from .decode import decode as decode
from .law import TextLaw as TextLaw, strategy_log_prob as strategy_log_prob
from .measured_reward import measured_reward as measured_reward
from .predictors import (
    CallablePredictor as CallablePredictor,
    HFMaskPredictor as HFMaskPredictor,
    MaskPredictor as MaskPredictor,
    WorldPredictor as WorldPredictor,
    load_predictor as load_predictor,
)
from .extra.uniform.diffusion_gemma import DiffusionGemma as DiffusionGemma, load_uniform as load_uniform
from .predictors.watch import watch as watch
from .replay.diff import TraceDiff as TraceDiff, diff as diff
from .extra.path_diagnostics.diagnostics import (
    PathDiagnostics as PathDiagnostics,
    circulation as circulation,
    exchange_distance as exchange_distance,
    order_log_likelihood as order_log_likelihood,
    path_diagnostics as path_diagnostics,
    path_frame as path_frame,
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
from .scales.path import (
    Breakpoint as Breakpoint,
    ScalePath as ScalePath,
    ScalePiece as ScalePiece,
    Unexplored as Unexplored,
    scale_path as scale_path,
)
from .scales.reach import Output as Output, Reach as Reach, compare_reach as compare_reach
from .settings import Options as Options, Savings as Savings, Shape as Shape
from .extra.steering.best_of import SVDD as SVDD, BestOf as BestOf, BestOrder as BestOrder, SoftBestOf as SoftBestOf
from .extra.steering.particles import ParticleGibbs as ParticleGibbs, Particles as Particles
from .extra.steering.reward_lookahead import RewardLookahead as RewardLookahead
from .extra.steering.steer import Steering as Steering, steer as steer
from .final_text import final_reward as final_reward
from .strategies.apart import Apart as Apart, ApartChoice as ApartChoice
from .strategies.factors import RWS as RWS, Confidence as Confidence, Temperature as Temperature
from .strategies.given import RecordedOrder as RecordedOrder, RewardReplay as RewardReplay, Schedule as Schedule
from .strategies.orders import (
    Calibrated as Calibrated,
    CertaintyPrior as CertaintyPrior,
    Entropy as Entropy,
    LeftToRight as LeftToRight,
    Margin as Margin,
    OracleOrder as OracleOrder,
    RandomOrder as RandomOrder,
    token_frequencies as token_frequencies,
)
from .strategies.parallel import (
    EntropyBound as EntropyBound,
    Klass as Klass,
    ParallelFactor as ParallelFactor,
    Threshold as Threshold,
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
from .extra.revising.strategies import Edit as Edit, P2 as P2, ReMDM as ReMDM, Wino as Wino
from .strategies.reward_controls import (
    FlippedReward as FlippedReward,
    RandomReward as RandomReward,
    RWSEvery as RWSEvery,
)
from .text.dialogue import Dialogue as Dialogue
from .trace.decoding import Decoding as Decoding
from .trace.trace import Trace as Trace, load_trace as load_trace
from .view import plots as plots
from .extra.curves_page import curves_page as curves_page
from .view.decode_page import decode_page as decode_page
from .view.scale_path_page import scale_path_page as scale_path_page
from .extra.uniform.decode import (
    UniformDecode as UniformDecode,
    UniformOptions as UniformOptions,
    decode_uniform as decode_uniform,
)
