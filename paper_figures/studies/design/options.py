"""Declare the options that studies share, and build the base of their units.

They say what is decoded and how, and which models guide and judge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from paper_figures.runner.executors import RunOptions
from paper_figures.studies.design.asked import PromptOptions
from paper_figures.studies.design.methods import COMPARED
from rws_theory.commands.options import check_writable, option

if TYPE_CHECKING:
    from paper_figures.runner.units import Unit

__all__ = [
    "GRID",
    "ComparisonOptions",
    "DecodingOptions",
    "PredictorOptions",
    "PromptOptions",
    "base_unit",
    "check_options",
    "methods_option",
    "settings_from",
]

GRID = (0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # reward scales that the paper chose from


def methods_option(names: tuple[str, ...]) -> Any:
    """Declare the option --methods: some of the names, by default all."""
    return option(names, f"of {' '.join(names)}; rws and default always run", metavar="NAME", choices=names)


@dataclass(frozen=True)
class PredictorOptions:
    """Options for the mask predictor."""

    model: str = option("mini", "mask predictor: shipped name, directory, hub id", metavar="NAME")


@dataclass(frozen=True)
class JudgeOptions:
    """Options for the reward models that guide and judge, and for the causal model."""

    rewards: tuple[str, ...] = option(
        ("mini", "mini-judge", "exact"),
        "reward models that guide, and judge each other: shipped names, exact, those of the paper (skywork, "
        "skywork-v0.2, llamaob, intern, eurus, grm, qrm), directories, hub ids",
        metavar="NAME",
        flags=("--rewards", "--reward"),
    )
    judges: tuple[str, ...] = option(
        (), "reward models that only judge", metavar="NAME", flags=("--judges", "--judge"), may_be_empty=True
    )
    causal: str | None = option(None, "causal model for perplexity, or none", metavar="NAME")


@dataclass(frozen=True)
class ScaleOptions:
    """Options for choosing the reward scale of each guide on validation prompts."""

    validation: int = option(16, "further prompts that reward scales are chosen on")
    validation_data: str | None = option(
        None, "where those are from (default: --data); the paper takes RewardBench's", metavar="FILE|SOURCE"
    )
    reward_scale: tuple[float, ...] | None = option(
        None,
        "s_R of every guide, or several, in place of choosing it on validation; without a number it is chosen",
        metavar="S",
        may_be_empty=True,
    )
    grid: tuple[float, ...] | None = option(
        None, "reward scales to choose from (default: the paper's, 0.01 ... 32)", metavar="S"
    )
    select: Literal["grid", "path"] = option("grid", "choose on the grid, or on the whole axis")
    path_prompts: int = option(4, "validation prompts whose complete scale paths are followed, and recorded")
    path_budget: int | None = option(None, "forwards that each path may take (default: no limit)")


@dataclass(frozen=True)
class MethodOptions:
    """Options for the methods that are compared."""

    methods: tuple[str, ...] = methods_option(COMPARED)
    sampling_temperature: float = option(1.0, "of the samples of best-of-n", metavar="T")
    reward_cost: float = option(1.0, "a reward call in forwards", metavar="F")


@dataclass(frozen=True)
class DecodingOptions:
    """Options for decoding answers, and for the devices of the models."""

    length: int = option(64, "answer tokens")
    steps: int = option(32, "forwards per answer")
    block: int = option(32, "tokens per block")
    ranking: Literal["log-odds", "probability", "topk"] = option("log-odds", "what positions are ranked by")
    precision: Literal["model", "bfloat16", "float32", "float64"] = option("float64", "that they are ranked in")
    cfg: float | None = option(None, "classifier-free guidance scale (default: none)", metavar="S")
    end_of_text: Literal["none", "suppress", "defer"] | None = option(None, "as `generate` has it (default: none)")
    compact: Literal[True] | None = option(
        None, "decode greedy answers of scaled logits with the compact decoder: the same tokens, meant for a GPU"
    )
    mask_id: int | None = option(None, "mask token, for a model that does not name its own")
    chat: bool | None = option(None, "prompts are messages (default: as the model says)")
    device: str = option("cpu", "cpu, cuda, ...")
    dtype: str | None = option(None, "of the predictor's weights (default: float32; bfloat16 on CUDA)", metavar="NAME")
    device_map: str | None = option(None, "transformers' placement, in place of --device", metavar="MAP")
    reward_device: str | None = option(None, "of the reward and causal models (default: --device)", metavar="NAME")
    reward_dtype: str | None = option(None, "of their weights (default: float32)", metavar="NAME")


@dataclass(frozen=True)
class SeedOptions:
    """Options for what is drawn, and for what is kept."""

    seed: int = option(0, "of prompts, shuffles, noise, samples and bootstrap")
    traces: bool = option(False, "keep the trace of every answer")


# A dataclass takes the fields of its bases in the order from the last base to the first.
@dataclass(frozen=True)
class ComparisonOptions(
    RunOptions, SeedOptions, DecodingOptions, MethodOptions, ScaleOptions, JudgeOptions, PredictorOptions, PromptOptions
):
    """The options of a study that compares methods. A study's own class gives them other defaults and adds its own."""

    batch: int = 24


def check_options(options: ComparisonOptions) -> None:
    """Raise ValueError for numbers that no experiment can use, before anything is loaded."""
    from rws_decode.canvas.schedule import block_plan

    for name in ("validation", "path_prompts"):
        if getattr(options, name) < 0:
            raise ValueError(f"--{name.replace('_', '-')} is {getattr(options, name)}: at least 0 is needed")
    if not 0 <= options.seed < 2**31:
        raise ValueError(f"--seed is {options.seed}: at least 0 and below 2**31 is needed")
    if options.path_budget is not None and options.path_budget < options.steps:
        raise ValueError(f"--path-budget is {options.path_budget}: at least the {options.steps} forwards of one answer")
    for name in ("grid", "reward_scale", "rewards", "judges", "methods"):
        value = list(getattr(options, name) or ())
        if len(set(value)) < len(value):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: different ones are needed")
        if not all(math.isfinite(number) and number > 0 for number in value if isinstance(number, float)):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: positive finite numbers are needed")
    if options.reward_scale and (options.grid or options.select == "path"):
        raise ValueError(
            f"--reward-scale is {list(options.reward_scale)}: with it nothing is chosen by --grid or --select; "
            "name it without numbers to choose"
        )
    for name in ("sampling_temperature", "reward_cost"):
        value = getattr(options, name)
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: a positive finite number is needed")
    check_writable("--out", Path(options.out), "directory")
    block_plan(options.length, options.steps, options.block)


def settings_from(options: DecodingOptions) -> dict[str, Any]:
    """Return the settings of a unit that the options name.

    ValueError is raised for numbers and dtypes that no unit could use.
    """
    from rws_decode.checkpoints.files import dtype_named
    from rws_decode.settings import check_cfg

    for name in ("dtype", "reward_dtype"):
        if getattr(options, name) is not None:
            dtype_named(getattr(options, name))
    if options.cfg is not None:
        check_cfg(options.cfg)
    if options.mask_id is not None and options.mask_id < 0:
        raise ValueError(f"--mask-id is {options.mask_id}: a token's id, at least 0, is needed")
    setting_names = (
        *("dtype", "device_map", "mask_id", "chat", "reward_device", "reward_dtype"),
        *("cfg", "end_of_text", "compact"),
    )
    return {name: getattr(options, name) for name in setting_names if getattr(options, name) is not None}


def base_unit(options: ComparisonOptions, experiment: str) -> Unit:
    """Return a unit without a prompt, which holds what all answers of an experiment share."""
    from paper_figures.runner.units import Unit

    settings = settings_from(options)
    if options.traces:
        settings["traces"] = True
    settings |= {"reward_cost": options.reward_cost, "study_seed": options.seed}
    shape = {name: getattr(options, name) for name in ("length", "steps", "block", "ranking", "precision", "device")}
    return Unit(
        experiment=experiment,
        prompt="",
        strategy={"name": "default"},
        predictor=options.model,
        seed=options.seed,
        settings=settings,
        **shape,
    )
