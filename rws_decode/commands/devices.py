"""`python -m rws_decode devices`: how far the same decodes part on other devices, dtypes, batches and threads."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from rws_decode.canvas.schedule import block_plan
from rws_decode.commands._options import add_answer

if TYPE_CHECKING:
    from rws_decode.devices import Apart

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `devices` to a parser."""
    from rws_decode.devices import USUAL

    parser.add_argument(
        "settings",
        nargs="*",
        metavar="SETTING",
        help="name=value,..., of device, dtype, threads, batch, attention (math) and cpu (default, avx2: instructions "
        "of an older one); each is compared with the first; "
        f"without any: {' '.join(name or 'threads=1' for name in USUAL)}",
    )
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name, directory or hub id (mini)")
    parser.add_argument("--reward", default="mini", metavar="NAME", help="reward model (mini); none: the default alone")
    parser.add_argument("--reward-scale", type=float, default=8.0, metavar="S", help="reward scale s_R (8)")
    parser.add_argument("--prompts", type=int, default=16, metavar="N", help="the model's first N examples (16)")
    add_answer(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Decode in every setting and print how far each is from the first; ValueError for input that cannot be used."""
    from rws_decode.devices import USUAL, Work, apart, recordings, setting_named

    names = args.settings or list(USUAL)
    settings = [setting_named(name) for name in names]
    if len(settings) < 2:
        raise ValueError(f"SETTING is {names[0]} alone: one more to compare it with is needed")
    if args.prompts < 1:
        raise ValueError(f"--prompts is {args.prompts}: at least 1 is needed")
    block_plan(args.length, args.steps, args.block)

    from rws_decode.predictors import load_predictor

    examples = load_predictor(args.model, progress=False).examples
    if len(examples) < args.prompts:
        raise ValueError(f"--prompts is {args.prompts}: {args.model} ships {len(examples)} examples")
    reward = None if args.reward == "none" else args.reward
    prompts = [example["prompt"] for example in examples[: args.prompts]]
    work = Work(args.model, prompts, reward, args.reward_scale, args.length, args.steps, args.block)
    found: list[Apart] = []
    made = recordings(work, settings)
    first = next(made)
    for name, other in zip(names[1:], made, strict=True):
        found += apart(name, first, other)
        print(f"{name}: done", file=sys.stderr, flush=True)
    if args.json:
        print(json.dumps({"first": asdict(settings[0]), "rows": [asdict(one) for one in found]}, allow_nan=False))
    else:
        print(_table(found, names[0]))
    return 0


def _table(found: list[Apart], first: str) -> str:
    from paper_figures.studies.summaries.files import to_markdown

    rows = [
        {
            "setting": one.setting,
            "strategy": one.strategy,
            "same bits": f"{one.identical} of {one.answers}",
            "same tokens": f"{one.equal} of {one.answers}",
            "part at a near-tie": one.explained,
            "without one": one.unexplained,
            "from step": one.first_step,
            "logits, largest difference": f"{one.logits:.2g}",
            "rewards": None if one.reward is None else f"{one.reward:.2g}",
        }
        for one in found
    ]
    near = {one.strategy: f"{one.near_steps:.2%} ({one.strategy})" for one in found}
    return (
        f"{to_markdown(rows)}\nCompared with {first or 'the usual setting'}. "
        f"Steps with a tie or near-tie there: {', '.join(near.values())}."
    )
