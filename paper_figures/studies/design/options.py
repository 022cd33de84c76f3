"""Options that the studies share: what is decoded and how, which models guide and judge; the base of their units."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_figures.runner.executors import add_run_arguments
from paper_figures.studies.design.prompts import SOURCES

if TYPE_CHECKING:
    from paper_figures.runner.units import Unit

__all__ = [
    "GRID",
    "METHODS",
    "Defaults",
    "add_comparison_arguments",
    "add_decoding_arguments",
    "add_prompt_arguments",
    "base_unit",
    "check_arguments",
    "settings_from",
]

GRID = (0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # reward scales that the paper chose from
# The arms of a comparison; `arms` says what each is.
METHODS = ("rws", "constant", "shuffled", "flipped", "random", "default", "margin", "best-of-n")
_GUIDES = ("mini", "mini-judge", "exact")


@dataclass(frozen=True)
class Defaults:
    """What a study's options are if they are not given.

    scales: reward scales that are given by `--scales`; None where they are chosen on validation prompts.
    """

    data: str = "stories"
    prompts: int = 32
    validation: int = 16
    paths: int = 4
    guides: tuple[str, ...] = _GUIDES
    reward_scale: tuple[float, ...] | None = None
    judges: tuple[str, ...] = ()
    causal: str | None = None
    batch: int = 24
    scales: tuple[float, ...] | None = None
    methods: tuple[str, ...] = METHODS


def add_comparison_arguments(parser: argparse.ArgumentParser, name: str, defaults: Defaults) -> None:
    """Add the options of a study that compares arms; name: of the study."""
    add_prompt_arguments(parser, name, data=defaults.data, prompts=defaults.prompts)
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name, directory, hub id (mini)")
    parser.add_argument(
        "--rewards",
        "--reward",
        nargs="+",
        default=list(defaults.guides),
        metavar="NAME",
        help="reward models that guide, and judge each other: shipped names, exact, those of the paper (skywork, "
        "skywork-v0.2, llamaob, intern, eurus, grm, qrm), directories, hub ids "
        f"({' '.join(defaults.guides)})",
    )
    parser.add_argument(
        "--judges",
        "--judge",
        nargs="*",
        default=list(defaults.judges),
        metavar="NAME",
        help=f"reward models that only judge ({' '.join(defaults.judges) or 'none'})",
    )
    causal = f"causal model for perplexity ({defaults.causal or 'none'})"
    parser.add_argument("--causal", default=defaults.causal, metavar="NAME", help=causal)
    if defaults.scales is None:
        _add_selection_arguments(parser, defaults)
    else:
        parser.add_argument(
            "--scales",
            dest="reward_scale",
            type=float,
            nargs="+",
            default=list(defaults.scales),
            metavar="C",
            help="factors c and reward scales s_R (the paper's grid, 0.01 ... 32)",
        )
        # Scales are given: nothing is chosen on validation prompts.
        parser.set_defaults(validation=0, validation_data=None, path_prompts=0, path_budget=None)
        parser.set_defaults(grid=None, select="grid", ranking="log-odds", precision="float64")
    methods = defaults.methods
    told = f"of {' '.join(methods)} (all); rws and default always run"
    parser.add_argument("--methods", nargs="+", choices=methods, default=list(methods), metavar="NAME", help=told)
    parser.add_argument(
        "--sampling-temperature", type=float, default=1.0, metavar="T", help="of the samples of best-of-n (1)"
    )
    parser.add_argument("--reward-cost", type=float, default=1.0, metavar="F", help="a reward call in forwards (1)")
    add_decoding_arguments(parser, ranked=defaults.scales is None)
    parser.add_argument("--seed", type=int, default=0, help="of prompts, shuffles, noise, samples and bootstrap (0)")
    parser.add_argument("--traces", action="store_true", help="keep the trace of every answer")
    add_run_arguments(parser, batch=defaults.batch)


def add_prompt_arguments(parser: argparse.ArgumentParser, name: str, *, data: str, prompts: int) -> None:
    """Add where results go and which prompts are asked."""
    parser.add_argument("--out", required=True, metavar="DIR", help=f"results go to DIR/{name}")
    sources = "; ".join(SOURCES.values())
    parser.add_argument("--data", default=data, metavar="SOURCE", help=f"prompts ({data}): {sources}")
    told = f"test prompts ({prompts}); 0: all, or 32 where they are drawn"
    parser.add_argument("--prompts", type=int, default=prompts, metavar="N", help=told)


def _add_selection_arguments(parser: argparse.ArgumentParser, defaults: Defaults) -> None:
    """Add how the reward scale of each guide is chosen on validation prompts."""
    told = f"further prompts that reward scales are chosen on ({defaults.validation})"
    parser.add_argument("--validation", type=int, default=defaults.validation, metavar="N", help=told)
    parser.add_argument(
        "--validation-data", metavar="SOURCE", help="where those are from (--data); the paper takes RewardBench's"
    )
    given = "none" if defaults.reward_scale is None else " ".join(f"{scale:g}" for scale in defaults.reward_scale)
    parser.add_argument(
        "--reward-scale",
        type=float,
        nargs="*",
        default=defaults.reward_scale,
        metavar="S",
        help="s_R of every guide, or several, in place of choosing it on validation; without a number it is chosen "
        f"({given})",
    )
    parser.add_argument(
        "--grid", type=float, nargs="+", metavar="S", help="reward scales to choose from (the paper's: 0.01 ... 32)"
    )
    parser.add_argument(
        "--select", choices=["grid", "path"], default="grid", help="choose on the grid, or on the whole axis (grid)"
    )
    told = f"validation prompts whose complete scale paths are followed, and recorded ({defaults.paths})"
    parser.add_argument("--path-prompts", type=int, default=defaults.paths, metavar="N", help=told)
    parser.add_argument("--path-budget", type=int, metavar="N", help="forwards that each path may take (no limit)")


def add_decoding_arguments(
    parser: argparse.ArgumentParser, *, length: int = 64, steps: int = 32, ranked: bool = True
) -> None:
    """Add how answers are decoded and where models are; ranked: whether the ranking can be chosen."""
    parser.add_argument("--length", type=int, default=length, help=f"answer tokens ({length})")
    parser.add_argument("--steps", type=int, default=steps, help=f"forwards per answer ({steps})")
    parser.add_argument("--block", type=int, default=32, help="tokens per block (32)")
    if ranked:
        parser.add_argument("--ranking", choices=["log-odds", "probability", "topk"], default="log-odds")
        parser.add_argument("--precision", choices=["model", "bfloat16", "float32", "float64"], default="float64")
    parser.add_argument("--cfg", type=float, metavar="S", help="classifier-free guidance scale (none)")
    parser.add_argument("--end-of-text", choices=["none", "suppress", "defer"], help="as `generate` has it (none)")
    parser.add_argument(
        "--compact",
        action="store_true",
        default=None,
        help="decode greedy answers of scaled logits with the compact decoder: the same tokens, meant for a GPU",
    )
    parser.add_argument("--mask-id", type=int, help="mask token, for a model that does not name its own")
    parser.add_argument(
        "--chat", action=argparse.BooleanOptionalAction, help="prompts are messages (as the model says)"
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda, ... (cpu)")
    parser.add_argument("--dtype", metavar="NAME", help="of the predictor's weights (float32; bfloat16 on CUDA)")
    parser.add_argument("--device-map", metavar="MAP", help="transformers' placement, in place of --device")
    parser.add_argument("--reward-device", metavar="NAME", help="of the reward and causal models (--device)")
    parser.add_argument("--reward-dtype", metavar="NAME", help="of their weights (float32)")


def check_arguments(args: argparse.Namespace) -> None:
    """Raise ValueError for numbers that no experiment can use, before anything is loaded."""
    from rws_decode.canvas.schedule import block_plan

    for name in ("prompts", "validation", "path_prompts"):
        if getattr(args, name) < 0:
            raise ValueError(f"--{name.replace('_', '-')} is {getattr(args, name)}: at least 0 is needed")
    if not 0 <= args.seed < 2**31:
        raise ValueError(f"--seed is {args.seed}: at least 0 and below 2**31 is needed")
    if args.path_budget is not None and args.path_budget < args.steps:
        raise ValueError(f"--path-budget is {args.path_budget}: at least the {args.steps} forwards of one answer")
    for name in ("grid", "reward_scale", "rewards", "judges", "methods"):
        value = getattr(args, name) or ()
        if len(set(value)) < len(value):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: different ones are needed")
        if not all(math.isfinite(number) and number > 0 for number in value if isinstance(number, float)):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: positive finite numbers are needed")
    if args.reward_scale and (args.grid or args.select == "path"):
        raise ValueError(
            f"--reward-scale is {args.reward_scale}: with it nothing is chosen by --grid or --select; name it without "
            "numbers to choose"
        )
    for name in ("sampling_temperature", "reward_cost"):
        value = getattr(args, name)
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: a positive finite number is needed")
    if Path(args.out).exists() and not Path(args.out).is_dir():
        raise ValueError(f"--out is {args.out}: a file; a directory is needed")
    block_plan(args.length, args.steps, args.block)


def settings_from(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that `add_decoding_arguments` gives a unit, those that were named.

    ValueError for numbers and dtypes that no unit could use.
    """
    from rws_decode.checkpoints.files import dtype_named
    from rws_decode.settings import check_cfg

    for name in ("dtype", "reward_dtype"):
        if getattr(args, name) is not None:
            dtype_named(getattr(args, name))
    if args.cfg is not None:
        check_cfg(args.cfg)
    if args.mask_id is not None and args.mask_id < 0:
        raise ValueError(f"--mask-id is {args.mask_id}: a token's id, at least 0, is needed")
    named = (
        *("dtype", "device_map", "mask_id", "chat", "reward_device", "reward_dtype"),
        *("cfg", "end_of_text", "compact"),
    )
    return {name: getattr(args, name) for name in named if getattr(args, name) is not None}


def base_unit(args: argparse.Namespace, experiment: str) -> Unit:
    """Return what all answers of an experiment share, as a unit without prompt."""
    from paper_figures.runner.units import Unit

    settings = settings_from(args)
    if args.traces:
        settings["traces"] = True
    settings |= {"reward_cost": args.reward_cost, "study_seed": args.seed}
    shape = {name: getattr(args, name) for name in ("length", "steps", "block", "ranking", "precision", "device")}
    return Unit(
        experiment=experiment,
        prompt="",
        strategy={"name": "default"},
        predictor=args.model,
        seed=args.seed,
        settings=settings,
        **shape,
    )
