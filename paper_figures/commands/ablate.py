"""`rws ablate`: is it the reward, or only the temperature?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from paper_figures.studies.prompts import prompts_of
from rws_decode import settings
from rws_decode.cli.options import group, json_option, option
from rws_decode.cli.progress import loading, tell
from rws_decode.commands.options import PredictorOptions, RewardOptions, ShapeOptions, shape_help, threads_option

GROUP = "Study"
RESUMES = True


@dataclass(frozen=True)
class AblateOptions:
    """The strategy, its reward, the prompts, and what decides."""

    predictor: PredictorOptions = group(
        PredictorOptions, "the mask predictor", default=PredictorOptions(model="english")
    )
    reward: RewardOptions = group(RewardOptions, "the reward model")
    reward_mean: float | None = option(None, "of a reward that is a function of yours", metavar="X")
    reward_sd: float | None = option(None, "of a reward that is a function of yours", metavar="Y")
    strategy: str = option("rws:8", "strategy or steering method that reads the reward", metavar="NAME[:NUMBER]")
    judge: str | None = option(None, "a second reward, which no decode reads", metavar="NAME")
    data: str | None = option(
        None, "prompts: a file, or a source as of experiment (default: the model's own)", metavar="FILE"
    )
    prompts: int | None = option(None, "prompts at most, with those for validation (default: all)", least=2)
    validation: int | None = option(None, "of them, to measure SD and factors on (default: a fifth, 8 to 32)", least=2)
    until: str = option("decided", "stop once the verdict is decided, or after N prompts", metavar="decided|N")
    margin: float = option(0.1, "the difference that matters, in SD of the reward over confidence texts")
    level: float = option(0.95, "of all intervals together, at all times")
    seed: int = option(0, "of the order of prompts, shuffles and samples", least=0)
    batch: int = option(8, "prompts decoded together", least=1)
    shape: ShapeOptions = group(ShapeOptions, "the answer", help=shape_help(settings.Shape()))
    out: Path | None = option(
        None,
        "write result.json, tables, picture.png and page.html there, and go on from where a run stopped",
        flags=("-o", "--out"),
        metavar="DIR",
        writes="directory",
    )
    threads: int | None = threads_option()
    json: bool = json_option()

    def __post_init__(self) -> None:
        if self.until != "decided" and not self.until.isdecimal():
            raise ValueError(f"--until is {self.until}: decided, or how many prompts to compare")
        if (self.reward_mean is None) != (self.reward_sd is None):
            raise ValueError("--reward-mean and --reward-sd: give both, or neither")


def ablate(options: AblateOptions) -> None:
    """Say whether guided decoding uses what the reward says, or a fixed temperature would have done the same."""
    from rws_decode.ablation import ablate
    from rws_decode.common.threads import torch_threads
