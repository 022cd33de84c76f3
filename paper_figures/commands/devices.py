"""`python -m rws_decode devices`: how far the same decodes part on other devices, dtypes, batches and threads."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from paper_figures.bench.devices import USUAL, Comparison, Work, compare, recordings, setting_named
from paper_figures.data.examples import refuse_few, shipped_examples
from rws_decode.commands.options import SHAPE
from rws_decode.settings import Shape
from rws_theory.commands.options import add_options, group, json_option, option, read_options
from rws_theory.commands.progress import each

__all__ = ["DevicesOptions", "add_arguments", "run"]

_SETTINGS = (
    "name=value,... with the names device, dtype, threads, batch, attention (math) and cpu (default or avx2: only the "
    "instructions of an older one); each is compared with the first "
    f"(default: {' '.join(name or 'threads=1' for name in USUAL)})"
)


@dataclass(frozen=True)
class DevicesOptions:
    """The settings that are compared, and what is decoded in each."""

    settings: tuple[str, ...] = option((), _SETTINGS, metavar="SETTING", positional=True)
    model: str = option("mini", "mask predictor: shipped name, directory or hub id", metavar="NAME")
    reward: str = option("mini", "reward model; none: only the default strategy", metavar="NAME")
    reward_scale: float = option(8.0, "reward scale s_R", metavar="S")
    prompts: int = option(16, "the first N examples of the model", least=1)
    shape: Shape = group(Shape, "the answer", help=SHAPE)
    json: bool = json_option()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `devices` to a parser."""
    add_options(parser, DevicesOptions)


def run(args: argparse.Namespace) -> int:
    """Decode in every setting and print how far each is from the first; ValueError for input that cannot be used."""
    options = read_options(DevicesOptions, args)
    names = options.settings or USUAL
    settings = [setting_named(name) for name in names]
    if len(settings) < 2:
        raise ValueError(f"SETTING is {names[0]} alone: name another one to compare it with")
    work = _work(options)
    results: list[Comparison] = []
    recorded = each(recordings(work, settings), "devices", len(settings), "setting")
    first = next(recorded)
    for name, other in zip(names[1:], recorded, strict=True):
        results += compare(name, first, other)
    if options.json:
        rows = [asdict(result) for result in results]
        print(json.dumps({"first": asdict(settings[0]), "rows": rows}, allow_nan=False))
    else:
        print(_table(results, names[0]))
    return 0


def _work(options: DevicesOptions) -> Work:
    examples = shipped_examples(options.model)
    refuse_few("--prompts", options.prompts, examples, options.model)
    prompts = [example["prompt"] for example in examples[: options.prompts]]
    reward = None if options.reward == "none" else options.reward
    shape = options.shape
    return Work(options.model, prompts, reward, options.reward_scale, shape.length, shape.steps, shape.block)


def _table(results: Sequence[Comparison], first: str) -> str:
    rows = [
        {
            "setting": result.setting,
            "strategy": result.strategy,
            "same bits": f"{result.identical} of {result.answers}",
            "same tokens": f"{result.equal} of {result.answers}",
            "part at a near-tie": str(result.explained),
            "without one": str(result.unexplained),
            "from step": "" if result.first_step is None else str(result.first_step),
            "logits, largest difference": f"{result.logits:.2g}",
            "rewards": "" if result.reward is None else f"{result.reward:.2g}",
        }
        for result in results
    ]
    near = {result.strategy: f"{result.near_steps:.2%} ({result.strategy})" for result in results}
    return (
        f"{_aligned(rows)}\n\nCompared with {first or 'the usual setting'}. "
        f"Steps with a tie or near-tie there: {', '.join(near.values())}."
    )


def _aligned(rows: Sequence[Mapping[str, str]]) -> str:
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
