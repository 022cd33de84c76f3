from .ablate import ablate as ablate
from .leverage import measure_leverage as measure_leverage
from .result import Ablation as Ablation, TwinComparison as TwinComparison, load_ablation as load_ablation
from .sequence import confidence_sequence as confidence_sequence, least_prompts as least_prompts
from .twins import SENTENCES as SENTENCES
from .verdict import VERDICTS as VERDICTS
